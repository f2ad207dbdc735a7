"""Killed at any moment of `free` or of a policy run, each file is at its place or as a whole in the record, until it is deleted."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

import hansard
from hansard.engine import Hansard
from hansard.model.retention import Retention, Rule
from tests.record.making import found
from tests.retention.conftest import WORD
from tests.retention.test_free import files
from tests.sync import crashing

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sync.making import Tree

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")


Work = Callable[[Hansard], object]


def killed_runs(moment: str, tree: Tree, tmp_path: Path, work: Work, *, stride: int = 1) -> Iterator[int]:
    """Do the work again and again, killed at a later such moment each time, until it is done before that comes.

    Of the moments before a commit each `stride`-th is taken: what is on the disk then is what the commit before it left.
    """
    kept_store, kept_config = tmp_path / "kept-store", tmp_path / "kept-config"
    shutil.copytree(tree.home, kept_store)
    shutil.copytree(tree.config, kept_config)
    for number in itertools.count(1, stride if moment == "before" else 1):
        for kept, place in ((kept_store, tree.home), (kept_config, tree.config)):
            shutil.rmtree(place)
            shutil.copytree(kept, place)
        child = os.fork()
        if child == 0:
            try:
                crashing._die_at(moment, number)
                with hansard.open(tree.home, roots=[tree.config]) as opened:
                    work(opened)
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
        yield number


@pytest.mark.parametrize("moment", crashing.MOMENTS)
def test_killed_while_freeing(moment: str, h: Hansard, tree: Tree, tmp_path: Path) -> None:
    before, sessions = files(tree.config), {session.session_id for session in h.sessions(debris=True).sessions}
    h.close()
    partly = runs = 0
    for _ in killed_runs(moment, tree, tmp_path, lambda opened: opened.free()):
        left = files(tree.config)
        partly += left != before
        runs += 1
        with hansard.open(tree.home, roots=[tree.config]) as opened:
            opened.sync()
            assert all(left.get(path, content) == content for path, content in before.items())
            states = {session.source_state for session in opened.sessions(debris=True).sessions}
            assert states <= {"live", "freed"}, "nothing is lost"
            assert {session.session_id for session in opened.sessions(debris=True).sessions} == sessions
            if left != before:
                opened.restore(opened.plan_undo_free())
                opened.sync()
            assert files(tree.config) == before
            assert {session.source_state for session in opened.sessions(debris=True).sessions} == {"live"}
            assert not opened.verify(deep=True).mismatches
    assert runs > 3
    assert partly > 0


@pytest.mark.parametrize("moment", ["after", "files"])
def test_killed_while_applying_rules(moment: str, h: Hansard, tree: Tree, tmp_path: Path) -> None:
    """The next run does the rest, and nothing is left of what was due."""
    h.close()
    rules = Retention(general=Rule(free_after=30, delete_after=1))
    runs = 0
    for _ in killed_runs(moment, tree, tmp_path, lambda opened: opened.apply_retention(rules)):
        with hansard.open(tree.home, roots=[tree.config]) as opened:
            opened.sync()
            assert {session.source_state for session in opened.sessions(debris=True).sessions} <= {"live", "freed"}
            opened.apply_retention(rules)
            opened.sync()
            assert not opened.sessions(debris=True).sessions
            assert not list(tree.config.rglob("5e55*.jsonl"))
            assert not opened.verify(deep=True).mismatches
        assert found(tree.home, WORD.encode()) == []
        runs += 1
    assert runs > 5
