"""The shell script that prints the status line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard as command_line
from tests.cli.statusline.making import (
    OTHER,
    POSIX,
    SESSION,
    SHELLS,
    at_rest,
    client,
    printed,
    show,
    spool,
    until,
    write_session,
)


def run_script(shell: str, script: Path, said: bytes) -> Any:
    command = [shutil.which(shell) or shell, *(["sh"] if shell == "busybox" else []), str(script)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin
    process.stdin.write(said)
    process.stdin.close()
    process.stdin = None
    return process


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "it's a script.sh"
    path.write_text(printed_script("--color=never", "--format={model} costs {session}"))
    return path


def printed_script(*options: str) -> str:
    done = CliRunner().invoke(command_line, ["statusline", "--script", *options], prog_name="hansard")
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


def calm(store: Path) -> bool:
    return not (spool(store) / "busy").exists() and at_rest(store)


@POSIX
@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_shows_what_was_written_last(shell: str, script: Path, store: Path) -> None:
    cost = show("--format", "{session}")
    assert printed(run_script(shell, script, client())) == f"Sonnet 4.5 costs {cost}"
    until(lambda: calm(store))
    line = spool(store) / f"{SESSION}.line"
    assert line.read_text() == f"Sonnet 4.5 costs {cost}\n"
    line.write_text("as it was written\n")
    assert printed(run_script(shell, script, client(version="x" * 3000))) == "as it was written"
    until(lambda: calm(store))
    assert line.read_text() == f"Sonnet 4.5 costs {cost}\n"
    assert {path.stat().st_mode & 0o777 for path in spool(store).iterdir()} == {0o600}
    assert spool(store).stat().st_mode & 0o777 == 0o700


@POSIX
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"garbage\n\n$(touch caught) `touch caught` %s \\n",
        client("../../../caught"),
        client("$(touch caught)"),
        client("x" * 300),
        client("%s%n"),
        json.dumps(json.loads(client()), indent=2).encode(),
        client(cwd='"session_id":"../caught"'),
    ],
)
def test_the_script_takes_nothing_for_a_command(
    shell: str, said: bytes, script: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert printed(run_script(shell, script, said))
    until(lambda: calm(store))
    assert not list(tmp_path.rglob("caught*"))
    assert {path.suffix for path in spool(store).iterdir()} <= {"", ".in", ".line", ".shown"}
    assert all(path.parent == spool(store) for path in store.rglob("*.in"))


@POSIX
@pytest.mark.parametrize("shell", SHELLS[:2])
def test_fifty_scripts_at_once_leave_one_refresh(
    shell: str, script: Path, store: Path, started: Callable[[], list[list[str]]]
) -> None:
    said = {name: client(name) for name in [SESSION, OTHER, *(f"s{number}" for number in range(48))]}
    for name in said:
        (spool(store)).mkdir(exist_ok=True)
        (spool(store) / f"{name}.line").write_text("known\n")
    crowd = [run_script(shell, script, text) for text in said.values()]
    assert {printed(process) for process in crowd} == {"known"}
    until(lambda: calm(store))
    assert 1 <= len(started()) <= 3  # the first may end while the last begin
    assert (spool(store) / f"{SESSION}.line").read_text().startswith("Sonnet 4.5 costs $")


@POSIX
@pytest.mark.parametrize("shell", SHELLS[:2])
def test_a_refresh_that_died_is_replaced(
    shell: str, script: Path, store: Path, started: Callable[[], list[list[str]]]
) -> None:
    assert printed(run_script(shell, script, client()))
    until(lambda: calm(store))
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    (spool(store) / "busy").write_text(f"{done.pid}\n")
    assert printed(run_script(shell, script, client()))
    until(lambda: len(started()) == 2)
    until(lambda: calm(store))
    # Its number may belong to another process by now: after many tries nobody believes it.
    (spool(store) / "busy").write_text(f"{os.getpid()}\n")
    assert printed(run_script(shell, script, client()))
    assert len(started()) == 2
    (spool(store) / "tries").write_text("100\n")
    assert printed(run_script(shell, script, client()))
    until(lambda: len(started()) == 3)
    until(lambda: calm(store))


@POSIX
def test_a_script_that_never_syncs(tmp_path: Path, store: Path, root: Path) -> None:
    path = tmp_path / "script.sh"
    path.write_text(printed_script("--color=never", "--format={session}", "--no-sync"))
    before = printed(run_script("sh", path, client()))
    write_session(root, SESSION, answers=40)
    (store / "statusline" / f"{SESSION}.line").unlink(missing_ok=True)
    until(lambda: calm(store))
    assert printed(run_script("sh", path, client())) == before
    until(lambda: calm(store))
    assert (store / "statusline" / f"{SESSION}.line").read_text() == f"{before}\n"


@POSIX
def test_lines_of_sessions_that_ended_are_removed(script: Path, store: Path) -> None:
    spool(store).mkdir()
    old = [spool(store) / "old.in", spool(store) / "old.line"]
    for path in old:
        path.write_text("x")
        os.utime(path, (1, 1))
    assert printed(run_script("sh", script, client()))
    until(lambda: calm(store))
    assert not any(path.exists() for path in old)
