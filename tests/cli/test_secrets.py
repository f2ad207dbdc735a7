"""`hansard secrets`: for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import OTHER, SESSION, Run, said, write_log

TOKEN = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAabcd"


def test_secrets_are_found_shown_and_decided(run: Run) -> None:
    none = run("secrets", code=1)
    assert none.stdout == ""
    assert "no open secret" in none.stderr
    run("note", SESSION, f"the token is {TOKEN}")
    scanned = json.loads(run("secrets", "scan", "--json").stdout)
    assert (scanned["secrets"], scanned["new"], scanned["unscanned_bytes"]) == (1, 1, 0)
    listed = run("secrets")
    assert listed.exit_code == 0
    assert "GitHub" in listed.stdout
    assert TOKEN not in listed.stdout
    (one,) = json.loads(run("secrets", "--json").stdout)["secrets"]
    shown = run("secrets", "show", one["secret_id"][:6])
    assert "https://github.com/settings/tokens" in shown.stdout
    assert "1 place in 1 session" in shown.stdout
    assert TOKEN not in shown.stdout
    report = json.loads(run("secrets", "show", one["secret_id"], "--json").stdout)
    assert [place["kind"] for place in report["places"]] == ["note"]
    done = run("secrets", "resolve", one["secret_id"], "false-alarm", "--note", "an example")
    assert done.stdout == f"{one['secret_id'][:8]} {one['title']}: false-alarm\n"
    run("secrets", code=1)
    assert json.loads(run("secrets", "--state", "all", "--json").stdout)["secrets"][0]["note"] == "an example"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show",), "missing argument 'SECRET'"),
        (("show", "abcd", "--reveal"), "to a terminal only"),
        (("resolve", "abcd"), "missing argument '{open|rotated|false-alarm|accepted}'"),
        (("list", "abcd"), "takes options only"),
        (("show", "nothing"), "not the id of a secret"),
        (("scrub",), "missing argument 'SESSION...'"),
        (("scrub", SESSION), "no secret is written in it"),
    ],
)
def test_mistakes_say_what_to_do(run: Run, words: tuple[str, ...], message: str) -> None:
    run("secrets", "scan")
    done = run("secrets", *words, code=None)
    assert done.exit_code != 0
    assert message in done.stderr


def test_each_command_has_a_help_page_with_an_example(run: Run) -> None:
    whole = run("secrets", "--help").stdout
    for name in ("list", "scan", "show", "resolve", "scrub"):
        page = run("secrets", name, "--help").stdout
        assert f"Usage: hansard secrets {name} " in page
        assert f"      hansard secrets {name}".strip() in page.partition("Examples:")[2]
        assert run("help", "secrets", name).stdout == page
        assert f"  {name} " in whole
        assert "..." not in whole.partition("Commands:")[2]
    assert "has no commands of its own" in run("help", "sync", "now", code=2).stderr


def test_options_may_come_before_the_command(run: Run) -> None:
    assert "secrets" in json.loads(run("secrets", "--state", "all", "--json", "list", code=1).stdout)
    assert "secrets" in json.loads(run("secrets", "--session", SESSION, "--json", code=1).stdout)
    assert "bytes_read" in json.loads(run("secrets", "--json", "scan").stdout)


def test_a_list_says_what_was_not_searched(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("hansard.cli.commands.secrets._AT_ONCE", 0)
    assert "were not searched yet: run `hansard secrets scan`" in run("secrets", code=1).stderr


def write_token(root: Path) -> list[Path]:
    """Two sessions that have the token."""
    return [
        write_log(root, session, [said(1, f"Use {TOKEN}.", session=session), said(2, "Done.", role="assistant")])
        for session in (SESSION, OTHER)
    ]


@pytest.mark.parametrize("words", [(), ("--no-backup",)])
def test_scrubbed_in_the_clients_own_files(run: Run, root: Path, words: tuple[str, ...]) -> None:
    transcript, other = write_token(root)
    before = transcript.read_bytes()
    shown = run("secrets", "scrub", SESSION, *words)
    assert "the client's own files" in shown.stdout
    assert "Nothing was changed" in shown.stderr
    assert TOKEN not in shown.stdout
    assert transcript.read_bytes() == before
    done = run("secrets", "scrub", SESSION, *words, "--yes")
    assert done.stdout.startswith("1 secret replaced by placeholders in 1 file of the client\n")
    assert ("Receipt 1 of" in done.stdout) == bool(words)
    assert TOKEN.encode() not in transcript.read_bytes()
    assert len(transcript.read_bytes()) == len(before)
    assert TOKEN.encode() in other.read_bytes()
    assert (TOKEN in run("cat", SESSION, "--generation", "1").stdout) == (not words)
    report = json.loads(run("secrets", "scrub", OTHER, *words, "--yes", "--json").stdout)
    assert (report["applied"], report["scrubbed"]["files"], report["scrubbed"]["left"]) == (True, 1, [])


def test_forgotten_everywhere(run: Run, root: Path) -> None:
    transcripts = write_token(root)
    run("secrets", "scan")
    (one,) = json.loads(run("secrets", "--json").stdout)["secrets"]
    assert "--source overwrites them" in run("forget", "--secret", one["secret_id"]).stdout
    done = run("forget", "--secret", one["secret_id"], "--source", "--yes")
    assert "2 occurrences erased" in done.stdout
    assert all(TOKEN.encode() not in transcript.read_bytes() for transcript in transcripts)
    assert "[github-" in run("show", SESSION).stdout
    assert "no secret has an id" in run("forget", "--secret", one["secret_id"], code=1).stderr


def test_damaged_findings_are_made_again_by_a_scan(run: Run, tmp_path: Path) -> None:
    run("secrets", "scan")
    path = tmp_path / "store" / "secrets.db"
    path.write_bytes(b"no database" * 1000)
    assert "tide" in run("sessions").stdout
    assert "run `hansard secrets scan`" in run("status").stdout
    assert "secrets.db is damaged: run `hansard secrets scan`" in " ".join(run("doctor", code=None).stdout.split())
    assert "run `hansard secrets scan`" in run("secrets", code=5).stderr
    run("secrets", "scan")
    assert "damaged" not in run("doctor", code=None).stdout
    run("secrets", code=None)
