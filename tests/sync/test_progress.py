"""How far a sync is, for other processes to see."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hansard.model.health import SyncProgress
from hansard.storage.heartbeat import clear_progress, note_progress, sync_progress
from hansard.sync import report
from hansard.sync.data_files import sync_lock
from tests.cli.conftest import runner
from tests.sync.making import Tree, main_path, session, user

if TYPE_CHECKING:
    from hansard.sync.report import Progress

PROGRESS = SyncProgress("reading", 12, 367)


def test_it_is_there_until_it_is_cleared(tmp_path: Path) -> None:
    assert sync_progress(str(tmp_path)) is None
    note_progress(str(tmp_path), PROGRESS)
    assert sync_progress(str(tmp_path)) == PROGRESS
    assert PROGRESS.words == "12 of 367 files read"
    clear_progress(str(tmp_path))
    assert sync_progress(str(tmp_path)) is None


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"pid": 1}', b'{"pid": 1, "phase": "x", "files": 1, "files_total": 1}']
)
def test_nonsense_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "sync-progress.json").write_bytes(content)
    assert sync_progress(str(tmp_path)) is None


def test_a_process_that_was_killed_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note_progress(str(tmp_path), PROGRESS)
    os.utime(tmp_path / "sync-progress.json", (1_000_000_000, 1_000_000_000))
    assert sync_progress(str(tmp_path)) is None
    note_progress(str(tmp_path), PROGRESS)

    def nobody(pid: int, signal: int) -> None:
        raise ProcessLookupError(pid, signal)

    monkeypatch.setattr(os, "kill", nobody)
    assert os.name == "nt" or sync_progress(str(tmp_path)) is None


@pytest.mark.skipif(os.name == "nt", reason="processes cannot be probed there")
def test_a_sync_removes_partial_files_of_dead_processes(tree: Tree) -> None:
    tree.sync()
    names = ["sync-progress.json.4194305.part", f"last-sync.json.{os.getpid()}.part", "notes.part"]  # above any pid
    for name in names:
        (tree.home / name).write_bytes(b"{")
    tree.sync()
    assert {path.name for path in tree.home.glob("*.part")} == set(names[1:])


def test_a_sync_of_many_files_notes_it(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        tree.write(main_path(session(number)), [user(session(number), f"u{number}", "Hello.", number)])
    seen: list[SyncProgress | None] = []

    def listen(_: Progress) -> None:
        seen.append(sync_progress(str(tree.home)))

    tree.sync(listener=listen)
    assert {item.phase for item in seen if item} >= {"reading", "indexing"}
    assert {item.files_total for item in seen if item} == {30}
    assert sync_progress(str(tree.home)) is None
    tree.append(main_path(session(1)), [user(session(1), "more", "And?", 40)])
    seen.clear()
    monkeypatch.setattr(report, "_NOTE_SECONDS", 3600)  # however busy the machine is
    tree.sync(listener=listen, only=[str(tree.place(main_path(session(1))))])
    assert set(seen) == {None}


def test_a_sync_that_fails_leaves_no_note(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_MANY_FILES", 0)
    tree.write(main_path(session(1)), [user(session(1), "u", "Hello.", 0)])
    seen: list[SyncProgress | None] = []

    def fail(_: Progress) -> None:
        seen.append(sync_progress(str(tree.home)))
        if seen[-1]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tree.sync(listener=fail)
    assert sync_progress(str(tree.home)) is None


def test_commands_tell_what_is_coming(tree: Tree) -> None:
    """Never that there is no session, while a first sync runs in another process."""
    tree.write(main_path(session(1)), [user(session(1), "u", "Hello.", 0)])
    run = runner(tree.config, tree.home)
    tree.home.mkdir(exist_ok=True)
    with sync_lock(str(tree.home), 0) as held:
        assert held
        note_progress(str(tree.home), PROGRESS)
        for command in (["sessions"], ["show", "@last"], [], ["status"], ["search", "hello"], ["prompts"]):
            answer = run("--no-wait", *command, code=None)
            told = answer.stdout + answer.stderr
            assert "12 of 367 files read" in told, command
            assert "no session matches" not in told
            assert "No sessions yet" not in told
        status = json.loads(run("status", "--json", code=None).stdout)
        assert status["sync_progress"] == {"phase": "reading", "files": 12, "files_total": 367}
