"""How the work of the index grows, in SQLite's own instructions: with what changed, not with what is there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hansard.index import derive as deriving
from hansard.index.sql import Sql
from hansard.sync import indexing
from tests.counting import Work, assert_constant, assert_linear, counted
from tests.sync.forking import MARKS, ORIGINAL, Mark, fork, talk
from tests.sync.making import Line, Tree, agent_path, assistant, call, main_path, memory_folder, raw, session, user

TURNS = 10  # that forks share: 20 records
Write = Callable[[Tree, int], None]


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[Work]:
    """The work of the derivation alone, once for each sync."""
    found: list[Work] = []

    def derive(db: Sql, isolated: Any) -> int:
        work = Work()
        db.trace_v2(1 << 1, work.note, id=work)  # type: ignore[attr-defined]  # apsw.SQLITE_TRACE_PROFILE, of apsw's connection
        try:
            return deriving.derive(db, isolated)
        finally:
            db.trace_v2(0, None, id=work)  # type: ignore[attr-defined]
            found.append(work)

    monkeypatch.setattr(indexing, "derive", derive)
    return found


def _forks(mark: Mark, *, at_one_point: bool = True) -> Write:
    """A session and many forks of it, whose names come before the session's."""

    def write(tree: Tree, count: int) -> None:
        original = talk(ORIGINAL, "first", TURNS if at_one_point else count)
        tree.write(main_path(ORIGINAL), original)
        for number in range(count):
            child = session(number + 1)
            copied = original if at_one_point else original[: 2 * number + 2][-2 * TURNS :]
            tree.write(main_path(child), fork(copied, child, f"own{number}", 1, start=5000 + number, mark=mark))

    return write


def _work(write: Write, more: Callable[[Tree, int], Sequence[str]] | None = None) -> Callable[[int], Work]:
    """The work of a first sync, or of one after something came to it."""

    def work_of(count: int) -> Work:
        with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
            tree = Tree(Path(folder) / "claude", Path(folder) / "store")
            write(tree, count)
            paths = None
            if more is not None:
                tree.sync()
                paths = [str(tree.place(path)) for path in more(tree, count)]
            with counted() as work:
                tree.sync(only=paths)
        return work

    return work_of


def _last(derived: list[Work], whole: Callable[[int], Work]) -> Callable[[int], Work]:
    """The derivation's part in the work of the last sync."""

    def work_of(count: int) -> Work:
        whole(count)
        return derived[-1]

    return work_of


@pytest.mark.parametrize("mark", MARKS)
def test_forks_of_one_session(mark: Mark) -> None:
    assert_linear(_work(_forks(mark)), 12)


def test_forks_at_many_points_of_one_session() -> None:
    assert_linear(_work(_forks("prompt_id", at_one_point=False)), 12)


def test_forks_of_forks() -> None:
    def write(tree: Tree, count: int) -> None:
        lines = talk(ORIGINAL, "first", 1)
        tree.write(main_path(ORIGINAL), lines)
        for number in range(count):
            child = session(number + 1)
            # Each has the last turns of the one before it only: what is copied stays as long.
            lines = fork(lines[-2 * TURNS :], child, f"own{number}", 1, start=100 + number, mark="queue")
            tree.write(main_path(child), lines)

    assert_linear(_work(write), 12)


def test_forks_whose_lines_tell_late() -> None:
    """All of a family's forks give back what they took, in one sync."""
    late: dict[str, bytes] = {}

    def write(tree: Tree, count: int) -> None:
        original = talk(ORIGINAL, "first", TURNS)
        tree.write(main_path(ORIGINAL), original)
        for number in range(count):
            child = session(number + 1)
            lines = fork(original, child, f"own{number}", 1, start=100 + number, mark="prompt_id")
            tree.write(main_path(child), lines[:2])
            late[main_path(child)] = raw(lines[2:])

    def more(tree: Tree, count: int) -> list[str]:
        paths = [main_path(session(number + 1)) for number in range(count)]
        for path in paths:
            tree.append(path, late[path])
        return paths

    assert_linear(_work(write, more), 12)


def _appended(session_id: str) -> Callable[[Tree, int], list[str]]:
    def more(tree: Tree, _count: int) -> list[str]:
        path = main_path(session_id)
        tree.append(path, [user(session_id, "late", "And another thing.", 9000)])
        return [path]

    return more


@pytest.mark.parametrize("mark", ["prompt_id", "forked_from", "nothing"])
@pytest.mark.parametrize("session_id", [ORIGINAL, session(1)])
def test_one_line_more_in_a_family(derived: list[Work], mark: Mark, session_id: str) -> None:
    for at_one_point in (True, False):
        whole = _work(_forks(mark, at_one_point=at_one_point), _appended(session_id))
        assert_constant(_last(derived, whole), 12)


def test_one_fork_more_in_a_family(derived: list[Work]) -> None:
    def more(tree: Tree, _count: int) -> list[str]:
        child = session(5000)
        tree.write(main_path(child), fork(talk(ORIGINAL, "first", TURNS), child, "new", 1, start=9000, mark="queue"))
        return [main_path(child)]

    whole = _work(_forks("queue"), more)
    assert_constant(_last(derived, whole), 12)


def test_one_line_more_in_a_session_with_subagents_that_was_forked(derived: list[Work]) -> None:
    """Forks repeat the calls that made the subagents; they need not be gone through for each of them."""

    def write(tree: Tree, count: int) -> None:
        task = call("toolu_task", "Task", description="Look", prompt="Look around.")
        answer: Line = assistant(ORIGINAL, "first-x", "msg_01x", [task], 90, "first-a1")
        original = [*talk(ORIGINAL, "first", 1), answer]
        tree.write(main_path(ORIGINAL), original)
        subagent = user(ORIGINAL, "s1", "Look around.", 91)
        tree.write(agent_path(ORIGINAL, "a1b2c3"), [{**subagent, "isSidechain": True, "agentId": "a1b2c3"}])
        for number in range(count):
            child = session(number + 1)
            tree.write(main_path(child), fork(original, child, f"own{number}", 1, start=100, mark="queue"))

    whole = _work(write, _appended(ORIGINAL))
    assert_constant(_last(derived, whole), 12)


def test_transcripts_without_a_final_newline(derived: list[Work]) -> None:
    def write(tree: Tree, count: int) -> None:
        for number in range(count):
            tree.write(main_path(session(number + 1)), raw(talk(session(number + 1), f"t{number}", 2))[:-1])

    assert_linear(_work(write), 12)
    whole = _work(write, _appended(ORIGINAL))
    assert_constant(_last(derived, whole), 12)


def test_one_line_more_beside_many_sessions(derived: list[Work]) -> None:
    def write(tree: Tree, count: int) -> None:
        for number in range(count):
            tree.write(main_path(session(number + 1)), talk(session(number + 1), f"t{number}", 2))

    assert_linear(_work(write), 12)
    whole = _work(write, _appended(session(1)))
    assert_constant(_last(derived, whole), 12)


def test_one_line_more_in_a_session_that_many_name(derived: list[Work]) -> None:
    """Branches and continuations name a session; it need not ask them again."""

    def write(tree: Tree, count: int) -> None:
        tree.write(main_path(ORIGINAL), talk(ORIGINAL, "first", 1))
        for number in range(count):
            child = session(number + 1)
            pointer = {"type": "continued-in", "sessionId": child, "continuedInSessionId": ORIGINAL}
            tree.write(main_path(child), [*talk(child, f"t{number}", 1), pointer])

    assert_linear(_work(write), 12)
    whole = _work(write, _appended(ORIGINAL))
    assert_constant(_last(derived, whole), 12)
