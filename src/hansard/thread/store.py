"""Opening the threads of a store, whole or in windows: the subagents of a session, what its threads share, and a cache of opened ones.

A window is a range of a transcript that is small enough to be drawn at once, found with the index alone. It begins and ends where
a turn begins, or, in a turn that is too long, at any of its records. A line that is too long to be drawn is a window of its
own, so that it is never read with its neighbours; `ThreadReader.too_long` states its length instead.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from hansard.errors import Ambiguous, NotFound
from hansard.lru import LruCache
from hansard.model.gate import release
from hansard.model.names import shown_id
from hansard.model.threads import Agent
from hansard.model.time import from_milliseconds as moment
from hansard.storage import OFFSET_MASK

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.model.ledger import Rate
    from hansard.model.sessions import Session
    from hansard.query.fingerprints import Fingerprints
    from hansard.query.reader import Reader
    from hansard.record.store import Record
    from hansard.thread.calls import ModelCall
    from hansard.thread.reader import LineSource
    from hansard.thread.structure import UsageReader
    from hansard.thread.thread import OpenedThread, Thread

LONGEST = 8 << 20
"""Bytes of a line that is still drawn: everything that clients write on purpose, pictures included, is shorter."""
LAST_OFFSET = OFFSET_MASK
"""The largest byte offset that a place in a transcript can have."""


class Budget(NamedTuple):
    """The limits of one window."""

    records: int
    bytes: int
    turns: int


class Window(NamedTuple):
    """A range of a transcript, from one byte offset up to another (None: its end)."""

    start: int
    end: int | None
    turn: int  # the number of the turn at the start
    is_cut: bool  # that turn begins before the window


class Windows:
    """The windows of a thread: of the records at `inside` (None: of all) of a transcript whose ids start at `low`."""

    def __init__(self, reader: Reader, low: int, starts: Sequence[int], inside: Container[int] | None = None) -> None:
        """`starts` are the offsets at which turns begin, in order."""
        self._reader = reader
        self._low = low
        self._starts = starts
        self._inside = inside

    def number(self, offset: int) -> int:
        """The number of the turn at an offset; anything before the first turn belongs to it."""
        return max(1, bisect_right(self._starts, offset))

    def last(self) -> int:
        """The offset of the last record or turn, or 0."""
        row = self._reader.one("SELECT max(id) FROM records WHERE id BETWEEN ? AND ?", (self._low, self._high))
        record = row[0] - self._low if row is not None and row[0] is not None else 0
        return max(record, self._starts[-1] if self._starts else 0)

    def after(self, offset: int, budget: Budget) -> Window:
        """The window that begins at a place, or at the first record after it."""
        taken = turns = 0
        start = -1
        last_turn, taken_then = -1, 0
        for place, length, is_turn in self._forward(offset, budget.records + budget.turns + 2):
            if start < 0:
                start = offset if offset == 0 and place <= LONGEST else place
                if length > LONGEST:
                    return self._window(start, self._behind(place))
                taken = 1
                continue
            if is_turn:
                turns += 1
                last_turn, taken_then = place, taken
                if turns >= budget.turns:
                    return self._window(start, place)
            if length > LONGEST or place + length - start > max(budget.bytes, LONGEST):
                return self._window(start, place)
            if taken >= budget.records or place + length - start > budget.bytes:
                return self._window(start, last_turn if taken_then * 2 > taken else place)
            taken += 1
        return self._window(max(start, 0) if start >= 0 else offset, None)

    def before(self, offset: int, budget: Budget) -> Window:
        """The window that ends at a place."""
        turns = 0
        start = max(offset, 0)
        first_turn, taken_then = -1, 0
        rows = self._backward(offset, budget.records + budget.turns + 2)
        for taken, (place, length, is_turn) in enumerate(rows):
            is_full = taken >= budget.records or offset - place > budget.bytes or turns >= budget.turns
            if taken and (is_full or length > LONGEST):
                return self._window(first_turn if taken_then * 2 > taken else start, offset)
            start = place
            if is_turn:
                turns += 1
                first_turn, taken_then = place, taken + 1
            if length > LONGEST:
                return self._window(start, offset)
        return self._window(0 if start <= LONGEST else start, offset)

    def around(self, offset: int, budget: Budget) -> Window:
        """A window around a place, with part of its turn before it."""
        begins = self._starts[self.number(offset) - 1] if self._starts else 0
        start = offset
        few = max(1, budget.records // 4)
        for taken, (place, length, _) in enumerate(self._backward(offset + 1, few)):
            if place < begins or (taken and (offset - place > budget.bytes // 3 or length > LONGEST)):
                break
            start = place
        if begins < start and start - begins < budget.bytes // 8 and self._count(begins, start) <= few:
            start = begins
        return self.after(start, budget)

    def end(self, budget: Budget) -> Window:
        last = self.before(self.last() + 1, budget)
        return last._replace(end=None)

    # -- rows of the index

    @property
    def _high(self) -> int:
        return self._low + OFFSET_MASK

    def _window(self, start: int, end: int | None) -> Window:
        turn = self.number(start)
        begins = self._starts[turn - 1] if self._starts else 0
        return Window(start, end, turn, is_cut=begins < start)

    def _behind(self, place: int) -> int | None:
        """Where the first record or turn after a place begins."""
        for found, _, _ in self._forward(place + 1, 1):
            return found
        return None

    def _count(self, start: int, end: int) -> int:
        bounds = self._low + start, self._low + end - 1
        return int(self._reader.one("SELECT count(*) FROM records WHERE id BETWEEN ? AND ?", bounds)[0])

    def _forward(self, offset: int, limit: int) -> Iterator[tuple[int, int, bool]]:
        """Records and starts of turns from a place on, each with its length and whether a turn starts there."""
        turn = bisect_left(self._starts, offset)
        rows = self._rows(">=", "ASC", offset, limit)
        for record_id, length in rows:
            place = record_id - self._low
            while turn < len(self._starts) and self._starts[turn] < place:
                yield self._starts[turn], 0, True  # of a line that is not a record: a queued prompt
                turn += 1
            is_turn = turn < len(self._starts) and self._starts[turn] == place
            turn += is_turn
            yield place, length, is_turn
        if len(rows) < limit:
            for start in self._starts[turn : turn + limit]:
                yield start, 0, True

    def _backward(self, offset: int, limit: int) -> Iterator[tuple[int, int, bool]]:
        """The same, from the last one before a place back to the first."""
        turn = bisect_left(self._starts, offset) - 1
        rows = self._rows("<", "DESC", offset, limit)
        for record_id, length in rows:
            place = record_id - self._low
            while turn >= 0 and self._starts[turn] > place:
                yield self._starts[turn], 0, True
                turn -= 1
            is_turn = turn >= 0 and self._starts[turn] == place
            turn -= is_turn
            yield place, length, is_turn
        if len(rows) < limit:
            for start in reversed(self._starts[max(0, turn + 1 - limit) : turn + 1]):
                yield start, 0, True

    def _rows(self, compare: str, order: str, offset: int, limit: int) -> list[tuple[int, int]]:
        """Some records of the thread; for a subagent inside another thread's file other records are skipped."""
        rows = self._reader.rows(
            f"SELECT id, length FROM records WHERE id BETWEEN ? AND ? AND id {compare} ? ORDER BY id {order}"
            + ("" if self._inside is not None else f" LIMIT {int(limit)}"),
            (self._low, self._high, self._low + offset),
        )
        inside = self._inside
        return list(islice((row for row in rows if inside is None or row[0] - self._low in inside), limit))


# -- subagents


def find_agent(reader: Reader, session_id: str, name: str) -> tuple[int, str | None, str]:
    """Resolve a subagent's name to its transcript, its first record (if the file is another thread's) and its id."""
    known = list_agents(reader, session_id)
    found = next(filter(None, _readings(known, name)), [])
    if not found:
        raise NotFound(f"session {session_id} has no subagent {name!r}; `hansard show` lists its subagents")
    if len(found) > 1:
        shown = "\n".join(f"  {agent.agent_id}  {' '.join(agent.name.split())[:60]}" for agent in found[:8])
        more = f"\n  and {len(found) - 8} more" if len(found) > 8 else ""
        raise Ambiguous(f"{len(found)} subagents match {name!r}:\n{shown}{more}")
    agent_id = found[0].agent_id
    row: Any = reader.one(
        "SELECT a.transcript, r.uuid FROM agents a LEFT JOIN records r ON r.id = a.record_id"
        " WHERE a.session_id = ? AND a.agent_id = ?",
        (session_id, agent_id),
    )
    return row[0], row[1], agent_id


def _readings(known: Sequence[Agent], name: str) -> Iterator[list[Agent]]:
    """Possible meanings of a name, most specific first: a handle, an id, a number, an id prefix, a description, a type."""
    wanted = name.casefold()
    yield [agent for agent in known if shown_id(agent.agent_id) == name]
    yield [agent for agent in known if agent.agent_id == name]
    if not name:
        return
    yield [agent for agent in known if agent.number and name.removeprefix("#") == str(agent.number)]
    yield [agent for agent in known if agent.agent_id.startswith(name)]
    yield [agent for agent in known if agent.description.casefold() == wanted]
    yield [agent for agent in known if wanted in agent.description.casefold()]
    yield [agent for agent in known if wanted in agent.agent_type.casefold()]


def list_agents(reader: Reader, session_id: str) -> tuple[Agent, ...]:
    """A session's subagents, in the order they started."""
    rows = reader.rows(
        "SELECT a.agent_id, a.parent_agent, a.depth, a.agent_type, a.description, c.tool_use_id, a.linked_by, a.warmup,"
        " a.started_at, a.ended_at, a.messages, a.tool_calls, a.is_reconstructed FROM agents a LEFT JOIN tool_calls c ON c.id = a.call_id"
        " WHERE a.session_id = ? ORDER BY coalesce(a.started_at, 0), a.agent_id",
        (session_id,),
    )
    numbers = count(1)
    return tuple(_agent(row, 0 if row[7] else next(numbers)) for row in rows)


def _agent(row: Any, number: int) -> Agent:
    values: Any = (*row[:7], bool(row[7]), moment(row[8]), moment(row[9]), row[10], row[11], bool(row[12]), number)
    return Agent(*values)


class SessionContext:
    """The state that all threads of one session share while they are read."""

    def __init__(
        self, store: ThreadStore, session: Session, *, pictures: bool, subagents: bool, longest: int | None
    ) -> None:
        self.store = store
        self.reader = store.reader
        self.lines: LineSource = store.record
        self.longest = longest  # bytes of the longest line that is read; None: any
        self.session = session
        self.pictures = pictures
        self.subagents = subagents
        self.open: set[str] = set()  # subagents that are being read, to break cycles
        self.shown: set[str] = set()  # those already shown at their call

    @cached_property
    def agents(self) -> tuple[Agent, ...]:
        return list_agents(self.reader, self.session.session_id)

    @cached_property
    def calls(self) -> list[ModelCall]:
        """The API messages that count for the session."""
        from hansard.thread.calls import session_calls

        return session_calls(self.reader, self.session.session_id, self.store.rates())

    @cached_property
    def usage(self) -> UsageReader:
        """Reads the usage of ranges of its logs."""
        from hansard.thread.structure import UsageReader

        return UsageReader(self.reader, self.session.session_id, self.agents, self.store.rates())


_CACHED = 12  # threads


def thread_cache() -> LruCache[OpenedThread]:
    """A cache of opened threads by what they were made from, for servers: readers that scroll request the same one again.

    Opening the thread of a long session takes tens of milliseconds, its timeline about a hundred.
    """
    return LruCache(_CACHED)


class ThreadStore:
    """Opens the threads of one store; prices are read once for all of them."""

    def __init__(
        self, reader: Reader, record: Record, cache: LruCache[OpenedThread] | None = None, redact: Redact | None = None
    ) -> None:
        self.reader = reader
        self.record = record
        self.redact = redact
        self._cache = cache
        self._rates: Mapping[int, Rate] | None = None

    @classmethod
    def open(cls, home: str, redact: Redact | None = None) -> Self:
        """Open the store of a directory, for a separate process."""
        from hansard.query.reader import Reader
        from hansard.record.store import Record

        return cls(Reader(home), Record.open(os.path.join(home, "record.db"), readonly=True), redact=redact)

    def close(self) -> None:
        self.reader.close()
        self.record.close()

    @property
    def home(self) -> str:
        """The directory of the store."""
        return os.path.dirname(self.reader.path)

    def find(self, session_id: str) -> Session:
        from hansard.query.sessions import find_session

        session = find_session(self.reader, session_id)
        return session if self.redact is None else release(session, self.redact)

    def fingerprints(self, code: str) -> Fingerprints:
        """Fingerprints of what drawings depend on; `code` is that of the drawing code."""
        from hansard.query.fingerprints import Fingerprints

        return Fingerprints(self.reader, code)

    def rates(self) -> Mapping[int, Rate]:
        if self._rates is None:
            from hansard.pricing.cost import rates_of

            self._rates = rates_of(self.reader.rows)
        return self._rates

    def read(
        self,
        session: Session,
        agent: str | None = None,
        branch: int = 0,
        *,
        pictures: bool = True,
        subagents: bool = True,
        long_lines: bool = True,
    ) -> Thread:
        from hansard.thread.thread import Thread

        longest = None if long_lines else LONGEST
        context = SessionContext(self, session, pictures=pictures, subagents=subagents, longest=longest)
        return Thread(context, agent, branch, self._cache)
