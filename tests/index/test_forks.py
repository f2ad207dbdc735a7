"""Forks: which transcript is the original, who owns what both have, and on whom a fork hangs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hansard.clients.roots import open_roots
from hansard.sync.report import SyncRequest
from hansard.sync.run import sync
from tests.sync.forking import MARKS, ORIGINAL, family, fork, talk
from tests.sync.making import ask, main_path, session

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sync.forking import Mark
    from tests.sync.making import Tree

FORK, SECOND = session(1), session(2)
TOLD = MARKS[:-1]


def _owners(tree: Tree) -> dict[str, str]:
    return dict(tree.rows("SELECT key, session_id FROM usage"))


def _parents(tree: Tree) -> dict[str, str]:
    return dict(tree.rows("SELECT target, source FROM links WHERE relation IN ('fork', 'branch')"))


@pytest.mark.parametrize("mark", TOLD)
@pytest.mark.parametrize("fork_first", [True, False])
def test_the_original_owns_what_was_said_before_the_fork(tree: Tree, mark: Mark, *, fork_first: bool) -> None:
    original = talk(ORIGINAL, "first", 3)
    contents = {FORK: fork(original[:4], FORK, "fork", 2, start=10, mark=mark), ORIGINAL: original}
    for session_id in sorted(contents, reverse=not fork_first):
        tree.write(main_path(session_id), contents[session_id])
        tree.sync()
    assert _owners(tree) == {
        **{f"msg_01first{turn}": ORIGINAL for turn in (1, 2, 3)},
        **{f"msg_01fork{turn}": FORK for turn in (1, 2)},
    }
    assert _parents(tree) == {FORK: ORIGINAL}
    counts = "SELECT session_id, api_messages, prompts FROM sessions ORDER BY 1"
    assert tree.rows(counts) == [(FORK, 2, 4), (ORIGINAL, 3, 3)]


@pytest.mark.parametrize("mark", TOLD)
def test_a_fork_of_one_prompt(tree: Tree, mark: Mark) -> None:
    original = talk(ORIGINAL, "first", 1)
    tree.write(main_path(FORK), fork(original, FORK, "fork", 1, start=10, mark=mark))
    tree.write(main_path(ORIGINAL), original)
    tree.sync()
    assert _owners(tree) == {"msg_01first1": ORIGINAL, "msg_01fork1": FORK}
    assert _parents(tree) == {FORK: ORIGINAL}


def test_a_fork_whose_lines_tell_only_late_gives_back_what_it_took(tree: Tree) -> None:
    original = talk(ORIGINAL, "first", 2)
    tree.write(main_path(ORIGINAL), original)
    lines = fork(original, FORK, "fork", 1, start=10, mark="prompt_id")
    tree.write(main_path(FORK), lines[:2])
    tree.sync()
    assert _owners(tree) == {"msg_01first1": FORK, "msg_01first2": ORIGINAL}  # by the path: nothing tells yet
    assert _parents(tree) == {ORIGINAL: FORK}
    tree.append(main_path(FORK), lines[2:3])
    tree.sync()
    assert _owners(tree) == {"msg_01first1": ORIGINAL, "msg_01first2": ORIGINAL}
    assert _parents(tree) == {FORK: ORIGINAL}
    assert tree.rows("SELECT session_id, api_messages FROM sessions ORDER BY 1") == [(FORK, 0), (ORIGINAL, 2)]


def test_each_fork_hangs_on_the_session_it_was_made_from(tree: Tree) -> None:
    files, parents = family(TOLD)
    for path, content in files.items():
        tree.write(path, content)
    tree.sync()
    assert _parents(tree) == parents
    for key, owner in _owners(tree).items():
        assert key.startswith("msg_01first") == (owner == ORIGINAL)


def test_where_nothing_tells_time_decides_and_then_the_path(tree: Tree) -> None:
    original = talk(ORIGINAL, "first", 2)
    tree.write(main_path(ORIGINAL), original)
    for session_id in (FORK, SECOND):
        tree.write(main_path(session_id), fork(original, session_id, session_id[-1], 1, start=10, mark="nothing"))
    tree.sync()
    assert _parents(tree) == {SECOND: FORK, ORIGINAL: FORK}
    assert _owners(tree)["msg_01first1"] == FORK


def test_forks_whose_original_is_gone_count_once(tree: Tree) -> None:
    original = talk(ORIGINAL, "first", 2)
    for session_id in (SECOND, FORK):
        lines = fork(original, session_id, session_id[-1], 1, start=10, mark="prompt_id")
        tree.write(main_path(session_id), lines)
    tree.sync()
    assert _parents(tree) == {SECOND: FORK}
    assert _owners(tree) == {f"msg_01{key}": FORK for key in ("first1", "first2", "11")} | {"msg_0121": SECOND}
    tree.write(main_path(ORIGINAL), original)
    tree.sync()
    assert _parents(tree) == {SECOND: ORIGINAL, FORK: ORIGINAL}
    assert _owners(tree)["msg_01first2"] == ORIGINAL


def test_the_original_is_rewritten(tree: Tree) -> None:
    original = talk(ORIGINAL, "first", 2)
    tree.write(main_path(ORIGINAL), original)
    tree.write(main_path(FORK), fork(original, FORK, "fork", 1, start=10, mark="queue"))
    tree.sync()
    assert _parents(tree) == {FORK: ORIGINAL}
    tree.write(main_path(ORIGINAL), talk(ORIGINAL, "other", 1))
    tree.sync()
    assert _parents(tree) == {FORK: ORIGINAL}  # what it was before has more of the conversation
    tree.write(main_path(ORIGINAL), talk(ORIGINAL, "other", 3))
    tree.sync()
    assert _parents(tree) == {}
    tree.write(main_path(ORIGINAL), talk(ORIGINAL, "first", 4))
    tree.sync()
    assert _parents(tree) == {FORK: ORIGINAL}


@pytest.mark.parametrize(
    "recording", ["2.1.250/resume", "2.1.325/resume", "2.1.250/tui2", "2.1.325/tui2", "2.1.325/hooks_all"]
)
def test_forks_of_real_clients(corpus: Path, tmp_path: Path, recording: str) -> None:
    """The original is the file whose prompts differ in their promptId and whose lines name no other session."""
    config = corpus / "real-client-2" / recording / "dot-claude"
    sync(str(tmp_path / "store"), open_roots([str(config)]), SyncRequest(workers=False))
    originals, forks, holders = set(), set(), _holders(config)
    for sessions in holders.values():
        if len(sessions) > 1:
            copies = {session_id for session_id, is_copy in sessions.items() if is_copy}
            forks |= copies
            originals |= sessions.keys() - copies
    assert len(originals) == 1
    assert forks
    owners = dict(ask(tmp_path / "store", "SELECT key, session_id FROM usage"))
    for message, sessions in holders.items():
        if len(sessions) > 1:
            assert owners[message] in originals
    links = "SELECT target, source FROM links WHERE relation IN ('fork', 'branch')"
    assert dict(ask(tmp_path / "store", links)) == dict.fromkeys(forks, *originals)


def _holders(config: Path) -> dict[str, dict[str, bool]]:
    """For each message the sessions that have it, and whether these are forks."""
    found: dict[str, dict[str, bool]] = {}
    for path in (config / "projects").glob("*/*.jsonl"):
        lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_bytes().splitlines()]
        prompts = [line for line in lines if "promptSource" in line or line.get("origin", {}).get("kind") == "human"]
        ids = [line["promptId"] for line in prompts or lines if "promptId" in line]
        is_fork = any("forkedFrom" in line for line in lines) or len(set(ids)) < len(ids)
        for line in lines:
            if line.get("type") == "assistant" and line["message"]["model"] != "<synthetic>":
                found.setdefault(line["message"]["id"], {})[path.stem] = is_fork
    return found
