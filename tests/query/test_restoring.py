"""What a restore gives back: a session that is complete, in one place, and not cleaned up again."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hansard.engine import Hansard
from hansard.record.schema import CHUNK
from tests.sync.making import FOLDER, Tree, assistant, main_path, raw, session, user

S, PARENT = session(1), session(2)
RESULT = f"{FOLDER}/{PARENT}/tool-results/b1x2y3z4w.txt"
BACKUP = f"file-history/{S}/0123456789abcdef@v1"


def _restore(tree: Tree, to: Path, *names: str, **options: bool) -> set[str]:
    """Restore sessions, or everything; returns the paths that are there then."""
    with Hansard(str(tree.home), tree.roots) as h:
        h.restore(h.plan_restore(names or None, str(to), **options))
    return {path.relative_to(to).as_posix() for path in to.rglob("*") if path.is_file()}


@pytest.mark.parametrize("separator", ["/", "\\"])
def test_a_fork_comes_with_the_results_that_its_text_points_to(tree: Tree, tmp_path: Path, separator: str) -> None:
    said = (
        f"<persisted-output>\nOutput too large. Full output saved to: /home/mira/.claude/{RESULT}\n\nPreview".replace(
            "/", separator
        )
    )
    line = assistant(S, "u2", "msg_01a", said, 1, "u1")
    tree.write(main_path(S), [user(S, "u1", "Go on.", 0), line])
    tree.write(main_path(PARENT), [user(PARENT, "p1", "Begin.", 0)])
    tree.write(RESULT, b"all of it")
    tree.write(f"{FOLDER}/{PARENT}/tool-results/other.txt", b"not named")
    tree.sync()
    assert _restore(tree, tmp_path / "out", S) == {main_path(S), RESULT}


def test_a_result_is_found_across_the_borders_of_chunks(tree: Tree, tmp_path: Path) -> None:
    said = raw([user(S, "u2", f"See /x/{RESULT} for more", 1)])
    tree.write(RESULT, b"all of it")
    for before in (1, 30, 60, 100):
        begin = len(raw([user(S, "u1", "", 0)])) + said.index(RESULT.encode())
        tree.write(main_path(S), raw([user(S, "u1", "x" * (CHUNK - before - begin), 0)]) + said)
        tree.sync()
        assert RESULT in _restore(tree, tmp_path / str(before), S)


def test_the_file_history_comes_back(tree: Tree, tmp_path: Path) -> None:
    """The client's /rewind needs it."""
    tree.write(main_path(S), [user(S, "u1", "Change it.", 0)])
    tree.write(BACKUP, b"as it was")
    tree.write(f"{FOLDER}/.session-aliases", b"/home/mira/.claude/projects/-old\n")
    tree.sync()
    (tree.config / BACKUP).unlink()
    tree.sync()
    assert _restore(tree, tmp_path / "one", S) == {main_path(S), BACKUP}
    assert (tmp_path / "one" / BACKUP).read_bytes() == b"as it was"
    assert _restore(tree, tmp_path / "all") == {main_path(S), BACKUP, f"{FOLDER}/.session-aliases"}


@pytest.mark.parametrize("edit", ["none", "more", "path"])
def test_a_renamed_history_folder_is_restored_once(tree: Tree, tmp_path: Path, edit: str) -> None:
    lines = [user(S, "u1", "Look at /old/place", 0), assistant(S, "u2", "msg_01a", "Seen.", 1, "u1")]
    tree.write(main_path(S), lines)
    tree.write(f"{FOLDER}/{S}/tool-results/r.txt", b"output")
    tree.sync()
    (tree.config / FOLDER).rename(tree.config / "projects" / "-new")
    new = main_path(S).replace(FOLDER, "projects/-new")
    if edit == "more":
        tree.append(new, [user(S, "u3", "Go on.", 2, "u2")])
    elif edit == "path":
        tree.write(new, tree.place(new).read_bytes().replace(b"/old/place", b"/new"))
    tree.sync()
    expected = {new, f"projects/-new/{S}/tool-results/r.txt"}
    assert _restore(tree, tmp_path / "one", S) == expected
    assert _restore(tree, tmp_path / "all") == expected
    assert main_path(S) in _restore(tree, tmp_path / "every", all_generations=True)


def test_what_only_the_old_place_had_is_restored(tree: Tree, tmp_path: Path) -> None:
    tree.write(main_path(S), [user(S, "u1", "One.", 0), user(S, "u2", "Two.", 1, "u1")])
    tree.sync()
    tree.place(main_path(S)).unlink()
    new = main_path(S).replace(FOLDER, "projects/-new")
    tree.write(new, [user(S, "u1", "One.", 0)])
    tree.sync()
    assert _restore(tree, tmp_path / "out") == {main_path(S), new}


def test_touch(tree: Tree, tmp_path: Path) -> None:
    tree.write(main_path(S), [user(S, "u1", "Long ago.", 0)])
    tree.sync()
    os.utime(tree.place(main_path(S)), (1_000_000_000, 1_000_000_000))
    tree.sync()
    place = tmp_path / "out" / main_path(S)
    now = time.time()
    with Hansard(str(tree.home), tree.roots) as h:
        items = h.plan_restore(None, str(tmp_path / "out"))
        assert h.cleanup_days(items, str(tmp_path / "out")) is None  # no client there
        assert h.cleanup_days(items, str(tree.config)) == 30
        h.restore(items)
        assert place.stat().st_mtime == 1_000_000_000
        h.restore(h.plan_restore(None, str(tmp_path / "out")), touch=True)
        assert place.stat().st_mtime >= now - 1
        place.unlink()
        h.restore(h.plan_restore(None, str(tmp_path / "out")), touch=True)
        assert place.stat().st_mtime >= now - 1
