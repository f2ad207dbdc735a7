"""The index is a pure function of the record: however the bytes arrived, the answers are the same."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.index import tokens
from hansard.sync.rebuild import rebuild
from tests.sync.dumping import assert_same, dump
from tests.sync.forking import family
from tests.sync.hard import files
from tests.sync.making import Tree, memory_folder


def _arrive(everything: dict[str, bytes], tree: Tree, dice: random.Random, *, steps: int) -> None:
    """Let a history come into being in random order and pieces, with a sync after each."""
    waiting = dict(everything)
    while waiting:
        batch = dice.sample(sorted(waiting), min(len(waiting), dice.choice((1, 1, 2, 5))))
        for path in batch:
            place = tree.place(path)
            there = place.stat().st_size if place.exists() else 0
            whole = waiting[path]
            # Small files come as a whole, logs in pieces that end anywhere: inside lines, inside characters.
            end = len(whole)
            if path.endswith(".jsonl") and dice.random() < 1 - 1 / steps:
                end = min(len(whole), there + dice.randrange(1, max(2, 2 * len(whole) // steps)))
                if dice.random() < 0.3:  # a whole line, but for its end
                    end = max(there, whole.rfind(b"\n", there, end))
            tree.append(path, whole[there:end])
            if end == len(whole):
                del waiting[path]
        tree.sync(only=None if dice.random() < 0.2 else [str(tree.place(path)) for path in batch])


def _assert_pure(tree: Tree, *, cold: Path | None) -> None:
    """Compare with one sync of the sources as they are now (where that is the same record), and with a rebuild by another process."""
    grown = dump(tree.home)
    if cold is not None:
        fresh = Tree(tree.config, cold)
        fresh.sync()
        assert_same(dump(fresh.home), grown)
    shutil.rmtree(tree.config)  # a rebuild needs no sources
    rebuild(str(tree.home), row_workers=1)
    assert_same(dump(tree.home), grown)


@pytest.mark.parametrize("seed", range(2))
def test_a_history_in_random_pieces(
    history: Path, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    dice = random.Random(seed)
    found = sorted(path for path in history.rglob("*") if path.is_file() and not path.name.startswith("."))
    chosen = dice.sample(found, 50)
    with monkeypatch.context() as patch:
        if seed:  # texts prepared in Python, and by the native module where it is built, are the same
            patch.setattr(tokens, "_native", None)
        _arrive({path.relative_to(history).as_posix(): path.read_bytes() for path in chosen}, tree, dice, steps=3)
    _assert_pure(tree, cold=tmp_path / "cold")


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_hard_files_in_any_pieces(seed: int) -> None:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        tree = Tree(Path(folder) / "claude", Path(folder) / "store")
        _arrive(files(), tree, dice, steps=dice.choice((2, 6)))
        _assert_pure(tree, cold=Path(folder) / "cold")


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_forks_in_any_pieces(seed: int) -> None:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        tree = Tree(Path(folder) / "claude", Path(folder) / "store")
        _arrive(family()[0], tree, dice, steps=dice.choice((2, 5)))
        _assert_pure(tree, cold=Path(folder) / "cold")


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_hard_files_that_are_rewritten_cut_and_lost(seed: int) -> None:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        tree = Tree(Path(folder) / "claude", Path(folder) / "store")
        everything = dice.choice((files(), family()[0]))
        _arrive(everything, tree, dice, steps=2)
        for _ in range(6):
            path = dice.choice(sorted(everything))
            whole = everything[path]
            place = tree.place(path)
            what = dice.choice(("cut", "swap", "other", "lose", "whole", "touch"))
            if what == "cut" or not whole:
                tree.write(path, whole[: dice.randrange(len(whole) + 1)])
            elif what == "swap":  # the same size, other words
                tree.write(path, whole.replace(b"callers", b"CALLERS").replace(b"stars", b"STARS"))
            elif what == "other":
                tree.write(path, everything[dice.choice(sorted(everything))])
            elif what == "lose":
                place.unlink(missing_ok=True)
            elif what == "whole":
                tree.write(path, whole)
            elif place.exists():
                tree.append(path, b"")
            tree.sync(only=None if dice.random() < 0.5 else [str(place)])
        _assert_pure(tree, cold=None)


def test_a_line_of_many_pieces(tree: Tree, tmp_path: Path) -> None:
    whole = b"".join(files().values())
    path = next(iter(files()))
    for end in range(1, 6000, 97):
        tree.write(path, whole[:end])
        tree.sync(only=[str(tree.place(path))])
    _assert_pure(tree, cold=tmp_path / "cold")
