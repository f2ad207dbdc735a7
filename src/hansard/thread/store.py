"""Opening the threads of a store, and a cache of those that were opened."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from hansard.thread.thread import Family, OpenedThread, Thread
from hansard.thread.windows import ShortLines

if TYPE_CHECKING:
    from hansard.model.ledger import Rate
    from hansard.model.sessions import Session
    from hansard.query.fingerprints import Fingerprints
    from hansard.query.reader import Reader
    from hansard.query.table_columns import Table
    from hansard.record.store import Record
    from hansard.thread.reader import LineSource

_CACHED = 12  # threads


class ThreadCache:
    """An LRU cache of opened threads by what they were made from, for servers: readers who scroll ask for the same one again.

    The thread of a long session takes tens of milliseconds to open, its timeline some hundred.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[str, ...], OpenedThread] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...], make: Callable[[], OpenedThread]) -> OpenedThread:
        """What is cached under a key, or what `make` gives."""
        with self._lock:
            known = self._entries.get(key)
            if known is not None:
                self._entries.move_to_end(key)
                return known
        known = make()
        with self._lock:
            self._entries[key] = known
            while len(self._entries) > _CACHED:
                self._entries.popitem(last=False)
        return known


class ThreadStore:
    """Opens the threads of one store; prices are read once for all of them."""

    def __init__(self, reader: Reader, record: Record, cache: ThreadCache | None = None) -> None:
        self.reader = reader
        self.record = record
        self._cache = cache
        self._rates: Mapping[int, Rate] | None = None

    @classmethod
    def open(cls, home: str) -> Self:
        """The store in a directory, for a process of its own."""
        from hansard.query.reader import Reader
        from hansard.record.store import Record

        return cls(Reader(home), Record.open(os.path.join(home, "record.db"), readonly=True))

    def close(self) -> None:
        """Let go of the databases."""
        self.reader.close()
        self.record.close()

    @property
    def home(self) -> str:
        """The directory of the store."""
        return os.path.dirname(self.reader.path)

    def find(self, session_id: str) -> Session:
        """A session by its id."""
        from hansard.query.sessions import find_session

        return find_session(self.reader, session_id)

    def fingerprints(self, code: str) -> Fingerprints:
        """What drawings depend on; `code` is the fingerprint of what draws."""
        from hansard.query.fingerprints import Fingerprints

        return Fingerprints(self.reader, code)

    def table(self, name: str, session_ids: Sequence[str] | None) -> Table:
        """A table of the index, or the rows of some sessions in it."""
        from hansard.query.table_columns import Table

        return Table(self.reader, name, session_ids)

    def rates(self) -> Mapping[int, Rate]:
        """The rates of the index."""
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
        """See `Hansard.read`."""
        lines: LineSource = self.record if long_lines else ShortLines(self.reader, self.record)
        family = Family(self, lines, session, pictures=pictures, subagents=subagents)
        return Thread(family, agent, branch, self._cache)
