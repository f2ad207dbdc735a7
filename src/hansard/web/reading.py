"""A thread opened for its page: where its turns begin, its windows, and the turns of each.

What only changes when the session does is kept for the next request: the thread of a long session takes tens of milliseconds
to open, its course some hundred, and a reader who scrolls asks for the same one again and again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from hansard.errors import NotFound
from hansard.thread.branch_view import BranchLine, find_line
from hansard.thread.fingerprint import fingerprint
from hansard.thread.long_lines import Abridged
from hansard.thread.tree import ThreadTree, Tree
from hansard.thread.windows import Budget, Window, Windows

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.display import Turn
    from hansard.model.sessions import Session
    from hansard.model.threads import Agent
    from hansard.record.store import Record
    from hansard.thread.context_timeline import Course
    from hansard.thread.reader import ThreadReader
    from hansard.thread.turn_starts import Start

FIRST = Budget(records=48, bytes=192 << 10, turns=10)
"""What a page holds when it comes."""
NEXT = Budget(records=140, bytes=512 << 10, turns=25)
"""What is fetched when the reader comes near its end."""
COUNTED = 1_500
"""API messages of a session whose course is read for its page at once; that of a longer one is fetched."""
_KEPT = 12  # threads

_T = TypeVar("_T")


@dataclass(slots=True)
class _Kept:
    source: ThreadReader
    starts: list[Start]
    more: dict[str, Any] = field(default_factory=dict)


_kept: OrderedDict[tuple[str, ...], _Kept] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Reading:
    """A session's own thread, or a subagent's, as one state of the store has it."""

    session: Session
    agent: Agent | None
    source: ThreadReader
    thread: ThreadTree
    starts: list[Start]
    windows: Windows
    line: BranchLine
    fingerprint: str
    _more: dict[str, Any]

    @property
    def agents(self) -> tuple[Agent, ...]:
        """All subagents of the session."""
        return self.source.agents

    def turns(self, window: Window) -> Iterator[Turn]:
        """The turns of a window, as the chosen branch has them; the first and the last may be parts of turns."""
        for turn in self.thread.turns(window.start, window.turn, window.end):
            number = self.windows.number(turn.items[0].offset)
            items = turn.items
            if self.line.branch:
                items = tuple(replace(item, branch=self.branch(item.branch, item.offset)) for item in items)
            if number != turn.number or items is not turn.items:
                turn = replace(turn, number=number, items=items)  # noqa: PLW2901
            yield self._whole(turn) if self._goes_on(number, window) else turn

    def branch(self, branch: int, offset: int) -> int:
        """A branch's number as it is shown: 0 for the chosen line, -1 for what the session went on with instead."""
        return 0 if self.line.holds(branch, offset) else branch or -1

    def end_of(self, number: int) -> int | None:
        """Where a turn ends; None for the last one."""
        return self.starts[number].offset if number < len(self.starts) else None

    def _goes_on(self, number: int, window: Window) -> bool:
        """Whether a turn begins in a window and ends behind it."""
        if window.end is None or self.starts[number - 1].offset < window.start:
            return False
        end = self.end_of(number)
        return end is None or window.end < end

    def _whole(self, turn: Turn) -> Turn:
        """A part of a turn with the figures of all of it; without, where so much was used that adding it up takes long."""
        from hansard.thread.outline import read_outline

        told = read_outline(self.source, self.starts, turn.number, turn.number)[0]
        used: tuple[Any, ...] = (0, turn.tokens, None)
        if self.has_course():
            used = self.course().turns[turn.number - 1]
        messages, tokens, cost = used
        return replace(
            turn,
            started_at=told.started_at,
            ended_at=told.ended_at,
            api_messages=messages,
            tokens=tokens,
            cost_usd=cost,
        )

    def course(self) -> Course:
        """All requests and what each turn used."""
        from hansard.thread.context_timeline import read_course

        return self.once(
            "course", lambda: read_course(self.source, [start.offset for start in self.starts], self.agents)
        )

    def has_course(self) -> bool:
        """Whether the course is known already, or soon read."""
        return "course" in self._more or self.session.messages <= COUNTED

    def once(self, name: str, make: Callable[[], _T]) -> _T:
        """Something that is made once for this state of the thread."""
        if name not in self._more:
            self._more[name] = make()
        return cast("_T", self._more[name])


def open_reading(h: Hansard, session: Session, agent_id: str | None = None, branch: int = 0) -> Reading | None:
    """A thread of a session, ready to be read; None where only subagents are left of the session."""
    mark = fingerprint(h.reader, session)
    record = cast("Record", Abridged(h.reader, h.record))
    tree = Tree(h.reader, record, session, agents=False)
    key = (h.home, session.session_id, agent_id or "", mark)
    with _lock:
        known = _kept.get(key)
        if known is not None:
            _kept.move_to_end(key)
    if known is None:
        source = _open(tree, agent_id)
        if source is None:
            return None
        known = _Kept(source, ThreadTree(tree, source).starts())
        with _lock:
            _kept[key] = known
            while len(_kept) > _KEPT:
                _kept.popitem(last=False)
    source = copy(known.source)
    source.reader, source.record = h.reader, record
    thread = ThreadTree(tree, source)
    windows = Windows(h.reader, source.low, [start.offset for start in known.starts], source.inside)
    return Reading(
        session,
        thread.agent,
        source,
        thread,
        known.starts,
        windows,
        find_line(source, branch),
        mark,
        known.more,
    )


def _open(tree: Tree, agent_id: str | None) -> ThreadReader | None:
    from hansard.thread.reader import list_agents, open_thread

    session_id = tree.session.session_id
    if agent_id is None:
        row = tree.reader.one("SELECT transcript FROM sessions WHERE session_id = ?", (session_id,))
        if row is None or row[0] is None:
            return None
    elif agent_id not in {agent.agent_id for agent in list_agents(tree.reader, session_id)}:
        raise NotFound(f"session {session_id} has no subagent {agent_id!r}")
    return open_thread(tree.reader, tree.record, tree.session, agent_id)
