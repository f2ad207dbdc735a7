"""On a full disk every command that reads answers, with all that was committed before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.full_disk import SESSION, crashed_store, small_disk

from .conftest import runner

if TYPE_CHECKING:
    from tests.sync.making import Tree

READERS = [
    [],
    ["sessions"],
    ["search", "narwhal"],
    ["usage"],
    ["show", "@last"],
    ["status"],
    ["tools"],
    ["files"],
    ["projects"],
    ["prompts", "narwhal"],
    ["grep", "narwhal"],
    ["cat", "@last"],
    ["blocks"],
    ["doctor"],
]


@pytest.mark.parametrize("kind", ["limit", "tmpfs"])
def test_every_reading_command_answers(tree: Tree, tmp_path: Path, kind: str) -> None:
    with small_disk(kind, tmp_path) as (place, full):
        run = runner(tree.config, crashed_store(tree, place))
        with full:
            answers = {" ".join(command): run(*command, "--no-sync", code=None) for command in READERS}
    codes = {command: answer.exit_code for command, answer in answers.items() if answer.exit_code}
    assert codes == {"tools": 1, "files": 1}, answers[min(codes)].output  # there are none to list
    for command in ("search narwhal", "prompts narwhal", "grep narwhal", "show @last", "cat @last"):
        assert "narwhal" in answers[command].stdout, command


def test_what_must_be_written_says_that_there_is_no_space(tree: Tree, tmp_path: Path) -> None:
    with small_disk("tmpfs", tmp_path) as (place, full):
        run = runner(tree.config, crashed_store(tree, place))
        with full:
            assert "no space left" in run("pin", "@last", "--no-sync", code=4).stderr
            answer = run("sessions")
            assert "no space left" in answer.stderr
            assert SESSION[:8] in answer.stdout
