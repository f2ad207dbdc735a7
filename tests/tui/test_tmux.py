"""The app and the picker in a real terminal: tmux."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import OTHER, SESSION, said, write_log

TMUX = shutil.which("tmux")
pytestmark = pytest.mark.skipif(TMUX is None, reason="there is no tmux")
CLIENT = '#!/bin/sh\nprintf "%s\\n" "$@" > "$SEEN"\n'


class Terminal:
    """A shell in a tmux of its own."""

    def __init__(self, place: Path, columns: int, rows: int) -> None:
        self._socket = str(place / "tmux")
        self("-f", os.devnull, "new-session", "-d", "-x", str(columns), "-y", str(rows), "sh")

    def __call__(self, *args: str) -> str:
        done = subprocess.run([TMUX or "tmux", "-S", self._socket, *args], capture_output=True, text=True, check=True)
        return done.stdout

    def type(self, *keys: str) -> None:
        self("send-keys", *keys)

    def until(self, words: str) -> str:
        """Look at the screen until the words are on it."""
        screen = ""
        for _ in range(10_000):
            screen = self("capture-pane", "-p")
            if words in screen:
                return screen
        pytest.fail(f"{words!r} never came:\n{screen}")


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    root, work, programs = tmp_path / "claude", tmp_path / "work", tmp_path / "bin"
    work.mkdir()
    programs.mkdir()
    write_log(root, SESSION, [said(1, "When is high tide?", cwd=str(work)), said(2, "At noon.", role="assistant")])
    write_log(root, OTHER, [said(40, "Wrap [red]the sail\x1b[2J", session=OTHER, cwd="/src/sail")], "-src-sail")
    (programs / "claude").write_text(CLIENT)
    (programs / "claude").chmod(0o755)
    for name, value in {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "SEEN": str(tmp_path / "seen"),
        "HANSARD_HOME": str(tmp_path / "store"),
        "CLAUDE_CONFIG_DIR": str(root),
        "PS1": "$ ",
        "LC_ALL": "C.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)
    made = Terminal(tmp_path, 80, 24)
    yield made
    made("kill-server")


def test_a_session_is_picked_and_resumed(terminal: Terminal, tmp_path: Path) -> None:
    hansard = f"{shlex.quote(sys.executable)} -m hansard"
    terminal.type(f"{hansard} resume; echo ended=$?", "Enter")
    screen = terminal.until("resume: 2 sessions")
    assert "Wrap [red]the sail" in screen
    terminal.type("high")
    terminal.until("resume: 1 session ")
    terminal.type("Enter")
    terminal.until("ended=0")
    assert (tmp_path / "seen").read_text().split() == ["--resume", SESSION]


def test_escape_leaves_with_1(terminal: Terminal) -> None:
    terminal.type(f"clear; {shlex.quote(sys.executable)} -m hansard show; echo ended=$?", "Enter")
    terminal.until("show: 2 sessions")
    terminal.type("Escape")
    screen = terminal.until("ended=1")
    assert "sessions" not in screen  # the screen is as it was


def hansard(words: str) -> str:
    return f"unset COLUMNS LINES; {shlex.quote(sys.executable)} -m hansard {words}; echo ended=$?"


def test_the_app_starts_is_resized_and_leaves_for_the_client(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(hansard("tui"), "Enter")
    screen = terminal.until("2 sessions in all projects")
    assert "1 Sessions" in screen
    terminal("resize-window", "-x", "200", "-y", "40")
    terminal.until("KEPT")
    terminal.type("/")
    terminal.type("high")
    terminal.until("1 session in")
    terminal.type("Enter")
    terminal.type("Enter")
    terminal.until("At noon.")
    terminal.type("r")
    terminal.until("ended=0")
    assert (tmp_path / "seen").read_text().split() == ["--resume", SESSION]


def test_a_picked_id_goes_to_standard_output(terminal: Terminal) -> None:
    command = f"{shlex.quote(sys.executable)} -m hansard tui --pick"
    terminal.type(f'picked="$({command})"; echo "picked=$picked="', "Enter")
    terminal.until("pick: 2 sessions")
    terminal.type("Enter")
    terminal.until(f"picked={OTHER}=")


def test_input_from_a_pipe_leaves_the_terminal_to_the_app(terminal: Terminal) -> None:
    command = f"{shlex.quote(sys.executable)} -m hansard tui --pick 2>/dev/null"
    terminal.type(f'picked="$(echo | {command})"; echo "picked=$picked="', "Enter")
    terminal.until("pick: 2 sessions")
    terminal.type("Escape")
    terminal.until("picked==")


def test_it_is_suspended_and_comes_back(terminal: Terminal) -> None:
    terminal.type("set -m; " + hansard("tui"), "Enter")
    terminal.until("2 sessions in all projects")
    terminal.type("C-z")
    terminal.until("Stopped")
    terminal.type("fg", "Enter")
    terminal.until("2 sessions in all projects")
    terminal.type("q")
    terminal.until("ended=")


def test_a_terminated_app_leaves_the_terminal_as_it_was(terminal: Terminal, tmp_path: Path) -> None:
    number = tmp_path / "pid"
    app = f"echo $$ > {shlex.quote(str(number))}; exec {shlex.quote(sys.executable)} -m hansard tui"
    terminal.type(f"sh -c {shlex.quote(app)}; echo ended=$?", "Enter")
    terminal.until("2 sessions in all projects")
    os.kill(int(number.read_text()), signal.SIGTERM)
    screen = terminal.until("ended=")
    assert "1 Sessions" not in screen
