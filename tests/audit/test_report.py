"""The audit report: every call once, every risk with its evidence, nothing secret, and what is not known said."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard as command
from hansard.errors import UsageError
from hansard.export.audit import check_signature, draw, revision_in, sign, write
from hansard.model.audit import AUDIT_FORMATS
from hansard.model.serialize import plain
from tests.audit.conftest import ASKING, FORK, FREE, PLAIN, TOKEN
from tests.sync.making import CWD

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.engine import Hansard
    from hansard.model.audit import AuditReport

FOUND = {
    ("bypass-mode", FREE, "mode"),
    ("bypass-mode", FORK, "mode"),
    ("force-push-default", FREE, "done"),
    ("insecure-transport", FREE, "done"),
    ("read-secrets", FREE, "done"),
    ("read-private", ASKING, "done"),
    ("superuser", ASKING, "done"),
    ("unsandboxed", ASKING, "done"),
    ("remote-host", ASKING, "done"),
}


def found(report: AuditReport) -> set[tuple[str, str, str]]:
    return {(one.rule, one.session_id, one.outcome) for one in report.operations}


def test_risky_operations_with_their_outcome_and_evidence(risky: Hansard) -> None:
    report = risky.audit()
    assert found(report) == FOUND | {("delete-outside", ASKING, "denied"), ("delete-outside", ASKING, "failed")}
    assert [one.severity for one in report.operations] == sorted(
        (one.severity for one in report.operations), key=["high", "medium", "low"].index
    )
    assert len(report.operations) == sum(report.totals.operations.values()) == sum(r.operations for r in report.by_rule)
    assert not [one for one in report.operations if one.session_id == PLAIN]
    private = next(one for one in report.operations if one.rule == "read-private")
    assert (private.agent_id, private.evidence) == ("e1", "sudo cat /etc/shadow")


def test_evidence_stands_where_the_report_says(risky: Hansard) -> None:
    for one in risky.audit().operations:
        transcript, _ = risky.find_transcript(one.transcript)
        line = b"".join(risky.transcript_bytes(transcript, one.offset)).partition(b"\n")[0]
        said = json.loads(line)
        if one.rule == "bypass-mode":
            assert said["permissionMode"] == "bypassPermissions"
        else:
            assert said["message"]["content"][one.block]["name"] == one.tool


def test_each_call_counts_once(risky: Hansard) -> None:
    report = risky.audit()
    assert {one.tool: one.calls for one in report.tools} == {one.tool: one.calls for one in risky.tools().tools}
    assert report.totals.calls == 13
    assert sum(one.calls for one in report.modes) == report.totals.calls
    assert {one.mode: (one.sessions, one.calls) for one in report.modes} == {
        "ask": (1, 6),
        "bypass": (2, 6),
        "": (1, 1),
    }
    assert [(one.decision, one.decided_by, one.calls) for one in report.decisions] == [("denied", "user", 1)]
    assert [(one.agent_type, one.agents) for one in report.agents] == [("Explore", 1)]
    assert (report.totals.servers, report.totals.subagents, report.totals.sessions) == (1, 1, 4)


def test_files_and_addresses(risky: Hansard) -> None:
    report = risky.audit()
    files = {one.path: (one.reads, one.writes, one.deletions) for one in report.files}
    assert files == {
        f"{CWD}/notes.txt": (0, 1, 0),
        f"{CWD}/out.txt": (0, 1, 0),
        f"{CWD}/.env": (1, 0, 0),
        f"{CWD}/README.md": (1, 0, 0),
        "/etc/shadow": (1, 0, 0),
    }
    assert {one.host for one in report.addresses} == {"api.example.com", "build7.example.com", "docs.example.org"}


def test_what_is_chosen_is_listed_and_all_is_counted(risky: Hansard) -> None:
    every = risky.audit()
    assert risky.audit(min_severity="high").totals == every.totals
    assert {one.rule for one in risky.audit(min_severity="high").operations} == {
        "bypass-mode",
        "force-push-default",
        "read-private",
    }
    assert [one.rule for one in risky.audit(rules=("superuser",)).operations] == ["superuser"]
    assert len(risky.audit(limit=1).files) == 1
    assert risky.audit(limit=1).totals == every.totals
    for wrong in ({"rules": ("no-such-rule",)}, {"min_severity": "severe"}):
        with pytest.raises(UsageError):
            risky.audit(**wrong)


def test_a_session_and_a_period(risky: Hansard) -> None:
    one = risky.audit(session=FREE)
    assert {found.session_id for found in one.operations} == {FREE}
    assert (one.totals.sessions, one.totals.calls) == (1, 5)
    late = risky.audit(since=risky.session(ASKING).started_at)
    assert {found.session_id for found in late.operations} == {ASKING}
    assert late.totals.calls == 7
    assert risky.audit(session=FREE, since=late.since).totals.calls == 0


def test_nothing_secret_leaves_in_any_format(risky: Hansard) -> None:
    report = risky.audit()
    for form in AUDIT_FORMATS:
        text = b"".join(draw(report, form)).decode()
        assert TOKEN not in text
        assert "insecure-transport" in text
        assert report.revision in text
    assert TOKEN not in json.dumps(plain(report))


def test_markup_in_commands_is_text(risky: Hansard) -> None:
    from msgspec.structs import replace

    report = risky.audit()
    hostile = "echo '<script>alert(1)</script> | `x` \x1b[31m'"
    report = replace(report, operations=(replace(report.operations[0], evidence=hostile),))
    page = b"".join(draw(report, "html")).decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    lines = b"".join(draw(report, "markdown")).decode()
    assert "<script>" not in lines
    assert "\x1b" not in page + lines + b"".join(draw(report, "csv")).decode()


def test_what_is_not_known_is_said(risky: Hansard) -> None:
    gaps = {gap.what: gap.count for gap in risky.audit().completeness.gaps}
    assert gaps == {"calls in a mode that is not recorded": 1, "calls of MCP servers and unknown tools": 1}
    risky.forget((PLAIN,))
    gaps = {gap.what: gap.count for gap in risky.audit().completeness.gaps}
    assert gaps["erasures"] == 1
    assert "calls in a mode that is not recorded" not in gaps


@pytest.mark.parametrize("form", AUDIT_FORMATS)
def test_a_report_is_proven_later(risky: Hansard, tmp_path: Path, form: str) -> None:
    report = risky.audit()
    path = str(tmp_path / f"report.{form}")
    write(report, path, form)
    assert (tmp_path / f"report.{form}").stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="exists"):
        write(report, path, form)
    risky.note(FREE, "written after the report")
    assert revision_in(path) == report.revision
    assert not risky.verify(since=revision_in(path)).mismatches


def test_the_command(risky: Hansard, tmp_path: Path) -> None:
    where = ["--home", risky.home, "--no-sync"]

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(command, ["audit", *words, *where])
        return done.exit_code, done.stdout if "--csv" in words else " ".join(done.stdout.split())

    code, said = run("--min-severity", "high")
    assert code == 0
    assert "force-push-default" in said
    assert "denied" in said
    assert json.loads(run("--json")[1])["totals"] == plain(risky.audit().totals)
    assert run("--csv", FREE)[1].count("\n") == 1 + len(risky.audit(session=FREE).operations)
    path = str(tmp_path / "report.md")
    assert run("--to", path)[0] == 0
    assert run("--to", str(tmp_path / "report.txt"))[0] == 2
    code, said = run("--verify", path)
    assert (code, "byte for byte" in said, "not signed" in said) == (0, True, True)
    text = (tmp_path / "report.md").read_text()
    revision = revision_in(path)
    (tmp_path / "other.md").write_text(
        text.replace(revision, f"{revision[:-4]}{'0000' if revision[-4:] != '0000' else '1111'}")
    )
    code, said = run("--verify", str(tmp_path / "other.md"))
    assert code == 1
    assert "NOT PROVEN" in said
    (tmp_path / "none.md").write_text("nothing")
    assert run("--verify", str(tmp_path / "none.md"))[0] == 2


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_signed_report(risky: Hansard, tmp_path: Path) -> None:
    key, path = tmp_path / "key", tmp_path / "report.html"
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "auditor", "-f", str(key)]
    subprocess.run(words, check=True)
    write(risky.audit(), str(path), "html")
    assert check_signature(str(path)) is None
    sign(str(path), str(key))
    assert "SHA256:" in (check_signature(str(path)) or "")
    path.write_bytes(path.read_bytes().replace(b"denied", b"done"))
    with pytest.raises(UsageError, match="not a signature"):
        check_signature(str(path))
