"""The plugin's hooks as a shell script: the worker gets the request, and the client does not wait for Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hansard.cli.hook import run
from hansard.cli.plugin import plugin_files
from tests.cli.conftest import SESSION
from tests.cli.test_hook import at_rest, client_config, kept, store, told, until

__all__ = ["client_config", "store"]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


def hand_over(store: Path, event: str, given: Any, **more: str) -> None:
    """Run a hook's command as the client does: it says nothing, and succeeds."""
    made = plugin_files(str(store))
    folder = Path(os.environ["HOME"]) / "plugin's folder" / "hooks"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hand-over.sh").write_bytes(made["hansard/hooks/hand-over.sh"])
    (entry,) = json.loads(made["hansard/hooks/hooks.json"])["hooks"][event][0]["hooks"]
    text = given if isinstance(given, bytes) else json.dumps(given).encode()
    environment = {**os.environ, "CLAUDE_PLUGIN_ROOT": str(folder.parent), **more}
    done = subprocess.run(
        ["/bin/sh", "-c", entry["command"]], input=text, capture_output=True, env=environment, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def is_done(store: Path) -> bool:
    names = os.listdir(store / run.FOLDER)
    return at_rest(store) and not run.waiting(str(store)) and not any(name.endswith(run.INPUT) for name in names)


@pytest.mark.parametrize("event", ["SessionEnd", "PreCompact", "Stop", "PostToolUse"])
def test_the_transcript_is_stored(event: str, root: Path, store: Path) -> None:
    tool_input = {"text": "x" * 100_000, "transcript_path": "/another"}
    hand_over(store, event, told(root, event, tool_input=tool_input))
    until(lambda: (store / "record.db").exists() and is_done(store))
    assert kept(store)
    assert run.read_log(str(store)) == []
    assert not (store / run.FOLDER / run.RUNNING).exists()
    assert (store / run.FOLDER).stat().st_mode & 0o77 == 0


def test_a_running_worker_is_not_started_again(root: Path, store: Path, tmp_path: Path) -> None:
    """Then no Python is started at all: there is none to be found."""
    (store / run.FOLDER).mkdir(parents=True)
    (store / run.FOLDER / run.RUNNING).write_text(str(os.getpid()))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "head", "cat", "mv", "find", "mkdir"):
        (programs / name).symlink_to(shutil.which(name) or "")
    for event in ("Stop", "SessionEnd"):
        hand_over(store, event, told(root, event), PATH=str(programs))
    left = sorted(name.partition("-")[2] for name in os.listdir(store / run.FOLDER) if name != run.RUNNING)
    assert left == ["SessionEnd.input", "Stop.input"]
    (store / run.FOLDER / run.RUNNING).write_text("999999999")  # one that was killed
    hand_over(store, "Stop", told(root, "Stop"))
    until(lambda: (store / "record.db").exists() and is_done(store))
    assert kept(store)


@pytest.mark.parametrize("text", [b"", b"{", b"null", b"\xff\xfe", b'{"session_id": 7, "transcript_path": {}}'])
def test_bad_input_is_no_error(text: bytes, root: Path, store: Path) -> None:
    hand_over(store, "SessionEnd", text)
    until(lambda: (store / "record.db").exists() and is_done(store))
    assert kept(store)


def test_a_home_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    hand_over(tmp_path / "file" / "store", "Stop", {"session_id": SESSION})
