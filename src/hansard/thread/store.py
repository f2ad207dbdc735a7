"""Opening the threads of a store, whole or in windows, and a cache of opened ones.

A window is a range of a transcript that is small enough to be drawn at once, found with the index alone. It begins and ends where
a turn begins, or, in a turn that is too long, at any of its records. A line that is too long to be drawn is a window of its
own, so that it is never read with its neighbours; `long_record` states its length instead.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self

from hansard.lru import LruCache
from hansard.model.gate import release
from hansard.storage import OFFSET_MASK

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.model.ledger import Rate
    from hansard.model.sessions import Session
    from hansard.query.fingerprints import Fingerprints
    from hansard.query.reader import Reader
    from hansard.record.store import Record
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
        from hansard.thread.thread import SessionContext, Thread

        longest = None if long_lines else LONGEST
        context = SessionContext(self, session, pictures=pictures, subagents=subagents, longest=longest)
        return Thread(context, agent, branch, self._cache)
