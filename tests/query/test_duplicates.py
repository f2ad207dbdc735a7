"""Finding what repeats another thing: its cost."""

from __future__ import annotations

import tempfile
from pathlib import Path

import hansard
from tests.counting import Work, assert_linear, counted
from tests.sync.forking import fork, talk
from tests.sync.making import Tree, main_path, memory_folder, session


def _projects(forks: int) -> Work:
    """Ask for the projects of a session with so many forks, each with all of its prompts."""
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        tree = Tree(Path(folder) / "claude", Path(folder) / "store")
        original = talk(session(0), "first", 20)
        tree.write(main_path(session(0)), original)
        for number in range(1, forks):
            lines = fork(original, session(number), f"n{number}", 1, start=100 + number, mark="prompt_id")
            tree.write(main_path(session(number)), lines)
        tree.sync()
        with counted() as work, hansard.open(tree.home) as h:
            (project,) = h.projects()
        assert (project.sessions, project.prompts) == (forks, 20 + forks - 1)
        return work


def test_prompts_that_forks_repeat_are_counted_in_linear_time() -> None:
    assert_linear(_projects, 12)
