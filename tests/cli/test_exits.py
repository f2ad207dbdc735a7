"""Exit codes, error messages, pipes: the command line as other programs meet it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from hansard import __version__
from hansard.cli import context as fronts
from hansard.cli import version
from hansard.cli.app import hansard
from hansard.engine import Hansard
from hansard.errors import HansardError, SourceUnreadable, StoreBusy, StoreCorrupt, StoreNewer, StoreUnusable
from hansard.index.tokens import is_native
from hansard.sync.report import SyncReport

from .conftest import OTHER, SESSION, Run, said, write_log


def start(*args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "hansard", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(*args: str) -> tuple[int, bytes, bytes]:
    with start(*args) as process:
        out, err = process.communicate()
        return process.returncode, out, err


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version(flag: str) -> None:
    code, out, err = finish(flag)
    assert (code, err) == (0, b"")
    found = re.fullmatch(r"hansard (\S+) \(([0-9a-f]{12}\+?|unknown revision), (no )?native module\)\s+", out.decode())
    assert found is not None
    assert found[1] == __version__
    assert (found[3] is None) is is_native()


def test_the_version_names_the_revision_that_was_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "revision.txt").write_text("0123456789ab+\n")
    monkeypatch.setattr(version, "REVISION", str(tmp_path / "revision.txt"))
    assert version.version_line().startswith(f"hansard {__version__} (0123456789ab+, ")


@pytest.mark.parametrize("state", ["branch", "packed", "detached", "worktree"])
def test_the_version_names_the_commit_of_a_checkout(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*args: str) -> str:
        me = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        command = ["git", *me, *args]
        return subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True).stdout

    checkout = tmp_path / "checkout"
    checkout.mkdir()
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    if state == "packed":
        git("pack-refs", "--all")
    elif state == "detached":
        git("checkout", "-q", "--detach")
    elif state == "worktree":
        git("worktree", "add", "-q", "../other")
        checkout = tmp_path / "other"
        git("commit", "-q", "--allow-empty", "-m", "second")
    monkeypatch.setattr(version, "REVISION", str(tmp_path / "revision.txt"))
    monkeypatch.setattr(version, "_PACKAGE", str(checkout / "src" / "hansard"))
    assert version.find_revision() == git("rev-parse", "HEAD")[:12]


def test_the_version_costs_no_click() -> None:
    code = (
        "import sys; sys.argv = ['hansard', '--version']; import hansard.cli; hansard.cli.main(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"click", "rich", "apsw", "msgspec"} & set(done.stdout.split())


def test_json_costs_no_rich(root: Path, tmp_path: Path) -> None:
    args = ["sessions", "--json", "--home", str(tmp_path / "s"), "--root", str(root)]
    code = f"import sys; sys.argv = ['hansard', *{args!r}]\nimport hansard.cli\ntry: hansard.cli.main()\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "click" in done.stderr.split()
    assert not {"rich", "rich.console", "watchfiles"} & set(done.stderr.split())


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="only POSIX systems take offsets from TZ")
@pytest.mark.parametrize("zone", ["UTC+25", "AAA3BBB-25"])
def test_a_time_zone_that_no_clock_can_have_is_reported_and_utc_is_used(
    zone: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    code, out, err = finish("usage", "--by", "day", "--json", "--home", str(tmp_path / "s"), "--root", str(root))
    assert (code, err.decode().splitlines()) == (
        0,
        [f"hansard: TZ={zone!r} is 24 hours or more away from UTC; times are in UTC"],
    )
    assert json.loads(out)["timezone"] == "UTC"


def test_python_m_hansard_answers(root: Path, tmp_path: Path) -> None:
    code, out, err = finish("sessions", "--home", str(tmp_path / "s"), "--root", str(root))
    assert code == 0
    assert SESSION[:8].encode() in out
    assert err == b""


@pytest.mark.parametrize(
    "command", [["sessions"], ["cat", SESSION], ["show", "@last"], ["--help"], ["sessions", "--json"]]
)
def test_a_broken_pipe_is_no_error(root: Path, tmp_path: Path, command: list[str]) -> None:
    write_log(root, SESSION, [said(n, "word " * 4000) for n in range(1, 60)])
    with start(*command, "--home", str(tmp_path / "s"), "--root", str(root)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_a_head_is_enough(root: Path, tmp_path: Path) -> None:
    write_log(root, SESSION, [said(n, "word " * 4000) for n in range(1, 60)])
    with start("cat", SESSION, "--home", str(tmp_path / "s"), "--root", str(root)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(7) == b'{"type"'
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (HansardError("told"), 3),
        (StoreCorrupt("told"), 5),
        (StoreNewer("told"), 6),
        (SourceUnreadable("told"), 9),
        (StoreUnusable("told"), 4),
        (StoreBusy("told"), 7),
        (PermissionError(13, "Permission denied", "told"), 3),
        (OSError(28, "No space left: told"), 3),
        (KeyboardInterrupt(), 130),
    ],
)
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_every_trouble_is_one_message_and_its_code(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, flags: list[str]
) -> None:
    def fail(*_args: object, **_more: object) -> None:
        raise error

    monkeypatch.setattr(Hansard, "sync", fail)
    result = run("sessions", *flags, code=code)
    assert result.stdout == ""
    assert result.stderr.startswith("hansard: ")
    assert "Traceback" not in result.stderr
    assert "told" in result.stderr or code == 130


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["show", "nothing of the kind"], 1, "no session matches"),
        (["show", ""], 1, "no session matches"),
        (["show", "@zwei"], 2, "is not a session"),
        (["sessions", "--since", "soon"], 2, "invalid date"),
        (["sessions", "--cursor", "x"], 2, "cursor"),
        (["blame", "nothing.txt"], 1, "no file 'nothing.txt'; "),
        (["mcp", "--project", "nowhere"], 1, "no such directory: nowhere; no session was recorded there either"),
        (["projects", "--bogus"], 2, "no such option"),
        (["sesions"], 2, "did you mean 'sessions'?"),
        (["show", "@last", "--json", "--markdown"], 2, "cannot be used together"),
        (["restore", "@last"], 2, "--to"),
        (["demo"], 2, "--home and --root cannot be used with demo"),
        (["show", "e"], 2, "sessions match"),
        (["sessions", "--root", ""], 2, "the path is empty"),
        (["cat", SESSION, "--generation", "7"], 1, "has no generation 7"),
    ],
)
def test_usage(run: Run, args: list[str], code: int, message: str) -> None:
    result = run(*args, code=code)
    assert result.stdout == ""
    assert message in result.stderr


def test_a_root_that_is_not_there(tmp_path: Path) -> None:
    result = CliRunner().invoke(hansard, ["sessions", "--root", str(tmp_path / "no"), "--home", str(tmp_path / "s")])
    assert result.exit_code == 2
    assert "no such directory" in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="paths are no bytes there")
def test_a_home_that_is_not_utf8(root: Path, tmp_path: Path) -> None:
    home = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    result = CliRunner().invoke(hansard, ["sessions", "--root", str(root), "--home", home])
    assert result.exit_code == 2
    assert "not UTF-8" in result.stderr


def test_a_root_without_transcripts_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = CliRunner().invoke(hansard, ["sync", "--root", str(tmp_path / "empty"), "--home", str(tmp_path / "s")])
    assert result.exit_code == 0
    assert "no transcripts in" in result.stderr


def test_a_root_that_cannot_be_read_at_all(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("sync")
    closed = SyncReport(transcripts=0, unreadable=(f"{root.resolve() / 'projects'}: Permission denied",))
    monkeypatch.setattr(Hansard, "sync", lambda *_args, **_more: closed)
    assert "nothing could be read" in run("sync", code=9).stderr
    result = run("sessions")
    assert SESSION[:8] in result.stdout
    assert "nothing could be read" in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="no such shell there")
@pytest.mark.parametrize(("closed", "flags"), [(">&-", ["--json"]), ("<&- >&- 2>&-", [])])
def test_closed_streams_are_no_error(root: Path, tmp_path: Path, closed: str, flags: list[str]) -> None:
    args = [sys.executable, "-m", "hansard", "sessions", "--home", str(tmp_path / "s"), "--root", str(root), *flags]
    done = subprocess.run(["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *args], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_messages_from_transcripts_are_clean(run: Run, root: Path) -> None:
    third = "33333333-cccc-4ccc-8ccc-333333333333"
    write_log(root, third, [said(1, "Wrap \x1b]0;evil\x07 the boat", session=third)])
    result = run("show", "wrap", code=2)
    assert "\x1b" not in result.stderr
    assert OTHER[:8] in result.stderr


def test_a_busy_store_answers_from_what_is_indexed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("sync")
    monkeypatch.setattr(Hansard, "sync", lambda *_args, **_more: SyncReport(busy=True))
    result = run("sessions")
    assert SESSION[:8] in result.stdout
    assert "what is indexed so far" in result.stderr
    run("sync", code=7)


def test_a_home_that_cannot_be_written_still_answers(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("sync")

    def fail(*_args: object, **_more: object) -> None:
        raise StoreUnusable("cannot write")

    monkeypatch.setattr(Hansard, "sync", fail)
    result = run("sessions")
    assert SESSION[:8] in result.stdout
    assert "cannot write" in result.stderr


def test_a_home_that_cannot_be_made(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(hansard, ["sessions", "--root", str(root), "--home", str(tmp_path / "file" / "s")])
    assert result.exit_code == 4
    assert "cannot be created" in result.stderr


def test_slow_syncs_are_told(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fronts, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(fronts, "MUCH_BYTES", 0)
    result = run("sessions", "--json")
    assert result.stderr.startswith("synced 2 files, ")
    assert result.stdout.startswith("{")


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for a child there")
@pytest.mark.parametrize(("number", "flags"), [(signal.SIGINT, []), (signal.SIGTERM, ["--poll"])])
def test_watch_tells_what_happens_and_stops_calmly(
    root: Path, tmp_path: Path, number: signal.Signals, flags: list[str]
) -> None:
    with start("watch", *flags, "--home", str(tmp_path / "s"), "--root", str(root)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert b"2 files" in process.stdout.readline()
        with (root / "projects" / "-src-tide" / f"{SESSION}.jsonl").open("a", encoding="utf-8") as file:
            import json

            file.write(json.dumps(said(3, "And low tide?")) + "\n")
        assert b"When is high tide?" in process.stdout.readline()
        process.send_signal(number)
        out, err = process.communicate()
        assert process.returncode == 0, err
    assert out == b""
    assert err.endswith(b"stopped\n")
    assert b"Traceback" not in err
