"""Into a pipe nothing is cut or paged; in a terminal long lists are."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import SESSION, Run, said, write_log

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
THIRD = "44444444-dddd-4ddd-8ddd-444444444444"
LONG = "Anchor " + "chain " * 40 + "snapped near the harbour wall"


@pytest.fixture
def place(root: Path, tmp_path: Path) -> list[str]:
    write_log(root, THIRD, [said(1, LONG, session=THIRD), said(2, "Yes.", role="assistant", session=THIRD)])
    for number in range(30):
        session = f"33333333-cccc-4ccc-8ccc-{number:012}"
        write_log(root, session, [said(1, f"Prompt number {number}", session=session)])
    return ["--home", str(tmp_path / "store"), "--root", str(root)]


def in_terminal(args: list[str], **variables: str) -> str:
    import pty

    main, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "LINES": "20", "NO_COLOR": "1", **variables}
    command = [sys.executable, "-c", "from hansard.cli import main; main()", *args]
    with subprocess.Popen(command, stdin=other, stdout=other, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(other)
        read = bytearray()
        while True:
            try:
                piece = os.read(main, 4096)
            except OSError:  # Linux says so when the last writer is gone
                break
            if not piece:
                break
            read += piece
        process.wait()
    os.close(main)
    return read.decode()


def test_into_a_pipe_nothing_is_cut(run: Run, place: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")
    shown = run("sessions", "-n", "0", *place).stdout
    assert "…" not in shown
    assert LONG in shown
    assert "MODEL" in shown
    assert LONG in run("prompts", *place).stdout
    monkeypatch.setenv("COLUMNS", "80")
    assert all(len(line) <= 80 for line in run("sessions", "-n", "0", *place).stdout.splitlines())


def test_a_long_list_goes_through_the_pager(place: list[str], tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED; cat\n")
    pager.chmod(0o700)
    command = shlex.quote(str(pager))
    assert "PAGED" in in_terminal(["sessions", *place], HANSARD_PAGER=command)
    assert "PAGED" in in_terminal(["sessions", *place], PAGER=command)
    assert "PAGED" not in in_terminal(["sessions", "-n", "3", *place], PAGER=command)
    assert "PAGED" not in in_terminal(["sessions", "--no-pager", *place], PAGER=command)
    assert "PAGED" not in in_terminal(["sessions", *place], PAGER=command, HANSARD_PAGER="cat")
    assert "PAGED" not in in_terminal(["sessions", "--json", *place], PAGER=command)


def test_grep_has_headings_in_a_terminal(run: Run, place: list[str]) -> None:
    shown = in_terminal(["grep", "high tide", *place]).splitlines()
    assert shown[0].endswith(f"{SESSION}.jsonl")
    assert re.match(r"1: .*high tide", shown[1])
    assert re.match(rf".*{SESSION}\.jsonl:1: .*high tide", run("grep", "high tide", *place).stdout)


def test_prompts_show_the_match(run: Run, place: list[str]) -> None:
    shown = run("prompts", "harbour", "--color", "always", *place).stdout
    assert "near the \x1b[1;33mharbour\x1b[0m wall" in shown
    assert "\x1b[1;33mharbour\x1b[0m" in run("prompts", "harbour", "--full", "--color", "always", *place).stdout


def test_every_error_has_one_form(run: Run) -> None:
    for args in (["usage", "--bogus"], ["sessions", "--since", "soon"], ["show", "zzz"], ["frob"], ["--frob"]):
        assert run(*args, code=None).stderr.startswith("hansard: "), args
