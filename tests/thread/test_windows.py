"""Windows put together hold every item once, whatever their budget, and the outline says what the turns say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

import pytest

import hansard
from hansard.engine import Hansard
from hansard.model.display import Turn
from hansard.render.html.escaping import one_line
from hansard.render.html.threads import Drawing
from hansard.thread.branches import find_line
from hansard.thread.store import LONGEST, Budget, Window, Windows
from hansard.thread.thread import Thread
from tests.demo_history.history import write_history
from tests.hard_session import write_hard_session
from tests.sync import making
from tests.sync.making import assistant, call, main_path, result, session, user

BUDGETS = (Budget(1, 1, 1), Budget(7, 20_000, 3), Budget(50, 256 << 10, 12))
SMALL = BUDGETS[1]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hansard]:
    place = tmp_path_factory.mktemp("windows")
    write_history(place / "claude", seed=11)
    write_hard_session(place / "claude")
    with hansard.open(place / "store", roots=[place / "claude"]) as h:
        h.sync()
        yield h


def threads(h: Hansard) -> Iterator[tuple[Thread, Windows]]:
    for about in h.sessions(limit=None).sessions:
        for agent in (None, *(agent.agent_id for agent in h.agents(about.session_id))):
            thread = h.read(about, agent, pictures=False, subagents=False)
            yield thread, thread.windows


def shown(turns: Iterator[Turn]) -> list[tuple[str, int]]:
    return [(item.anchor, len(item.results)) for turn in turns for item in turn.items]


@pytest.mark.parametrize("budget", BUDGETS)
def test_windows_one_after_the_other_hold_everything_once(history: Hansard, budget: Budget) -> None:
    for thread, windows in threads(history):
        found: list[tuple[str, int]] = []
        window: Window | None = windows.after(0, budget)
        while window is not None:
            found += shown(thread.turns(window.start, window.turn, window.end))
            assert window.end is None or window.end > window.start
            window = None if window.end is None else windows.after(window.end, budget)

        assert found == shown(thread.turns())


@pytest.mark.parametrize("budget", BUDGETS)
def test_windows_from_the_end_back_hold_everything_once(history: Hansard, budget: Budget) -> None:
    for thread, windows in threads(history):
        found: list[tuple[str, int]] = []
        window = windows.end(budget)
        while True:
            found = shown(thread.turns(window.start, window.turn, window.end)) + found
            if window.start == 0:
                break
            before = windows.before(window.start, budget)
            assert before.start < window.start
            window = before

        assert found == shown(thread.turns())


def test_a_window_around_a_place_holds_it(history: Hansard) -> None:
    for thread, windows in threads(history):
        for turn in thread.turns():
            for item in turn.items:
                window = windows.around(item.offset, SMALL)

                assert window.start <= item.offset
                assert window.end is None or item.offset < window.end
                assert windows.number(item.offset) == turn.number


def test_the_outline_says_what_the_drawn_turns_say(history: Hansard) -> None:
    for thread, windows in threads(history):
        turns = list(thread.turns())
        drawing = Drawing(UTC)
        for _ in drawing.turns(turns):
            pass
        starts = thread.starts
        told = thread.outline(1, len(starts))
        used = thread.timeline().turns

        assert [turn.number for turn in told] == [turn.number for turn in turns]
        for turn, heading, line, one in zip(turns, drawing.headings, told, used, strict=True):
            assert (line.kind, line.failed) == (heading.kind, heading.failed)
            assert (line.started_at, line.ended_at) == (turn.started_at, turn.ended_at)
            assert (one.api_messages, one.tokens, one.cost_usd) == (turn.api_messages, turn.tokens, turn.cost_usd)
            if line.text:
                assert one_line(line.text, 90) == heading.text
        half = len(starts) // 2
        assert thread.outline(half + 1, len(starts)) == told[half:]
        assert windows.number(10**12) == max(1, len(starts))


def test_a_branch_has_what_it_hangs_on_and_nothing_that_came_instead(history: Hansard) -> None:
    seen = 0
    for thread, _ in threads(history):
        source = thread._source
        for choice in thread.choices()[1:]:
            seen += 1
            line = find_line(source, choice.branch)
            first = source.branches.forks[0]
            assert line.holds(choice.branch, choice.offset)
            assert line.holds(0, 0)
            assert not all(
                line.holds(0, item.offset) for turn in thread.turns() for item in turn.items if not item.branch
            )
            assert first.branches[0] == 0

    assert seen > 0


def test_a_line_that_is_too_long_is_never_read(tree: making.Tree) -> None:
    a = session(1)
    long = "x" * (LONGEST + 10)
    lines = [
        user(a, "u1", "look"),
        assistant(a, "a1", "m1", [call("t1", "Bash", command="cat")], 1, "u1"),
        result(a, "r1", "t1", long, 2),
        assistant(a, "a2", "m2", "done", 3, "r1"),
        user(a, "u2", "and now?", 4, "a2"),
    ]
    tree.write(main_path(a), lines)
    tree.sync()
    with hansard.open(tree.home) as h:
        thread = h.read(a, subagents=False, long_lines=False)
        record = Counted(h)
        thread._context.lines = record
        windows = thread.windows
        found: list[Turn] = []
        window: Window | None = windows.after(0, BUDGETS[2])
        while window is not None:
            found += thread.turns(window.start, window.turn, window.end)
            window = None if window.end is None else windows.after(window.end, BUDGETS[2])

    kinds = [item.kind for turn in found for item in turn.items]
    tool = next(item for turn in found for item in turn.items if item.kind == "tool")
    assert kinds == ["prompt", "tool", "reply", "prompt"]
    assert "too many to show here" in str(tool.results)
    assert record.read_bytes < 100_000


class Counted:
    """A record that counts the bytes that are read from it."""

    def __init__(self, h: Hansard) -> None:
        self._record = h.record
        self.read_bytes = 0

    def read(self, generation: int, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        for piece in self._record.read(generation, start, end):
            self.read_bytes += len(piece)
            yield piece

    def read_snapshot(self, snapshot_id: int) -> bytes:
        return self._record.read_snapshot(snapshot_id)
