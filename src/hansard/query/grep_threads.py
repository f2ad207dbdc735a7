"""Threads that read files of the record, and look whether it is worth to look closer."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING

from hansard.errors import StoreCorrupt
from hansard.query.grep_lines import Block, whole_lines
from hansard.record.schema import CHUNK
from hansard.record.store import Record

if TYPE_CHECKING:
    from hansard.model import GrepFile

AHEAD = 1 << 20
"""Bytes that one task may have waiting for its turn; a single larger line waits alone."""

_TASK = 1 << 20  # small files are searched together up to so many bytes: handing over costs more than they do
_BATCH = 1 << 16  # bytes that are handed over at once
_BLOCK_COST = 256  # bytes that a block takes beside its data


class Place:
    """Where the bytes of a file are."""

    __slots__ = ("at", "file", "is_log", "number")

    def __init__(self, file: GrepFile, number: int, at: int, *, is_log: bool) -> None:
        self.file = file
        self.number = number  # of the generation or snapshot
        self.at = at  # when it was last written, ms
        self.is_log = is_log


class Tally:
    """Reads files and counts what it read."""

    def __init__(self) -> None:
        self.searched = 0
        self.damaged = 0

    def read(self, record: Record, place: Place, end: int | None = None) -> Iterator[bytes]:
        """The bytes of a file; what is damaged is left out, a chunk as that many NULs: all around it keeps its place."""
        if not place.is_log:
            try:
                content = record.read_snapshot(place.number)
            except StoreCorrupt:
                self.damaged += 1
            else:
                self.searched += len(content)
                yield content
            return
        position, size = 0, place.file.size if end is None else end
        while position < size:
            try:
                for piece in record.read(place.number, position, size):
                    position += len(piece)
                    self.searched += len(piece)
                    yield piece
                return
            except StoreCorrupt:
                lost = min(CHUNK - position % CHUNK, size - position)
                position += lost
                self.damaged += 1
                yield bytes(lost)


def _tasks(places: Iterable[Place]) -> list[list[Place]]:
    """Files that are searched by one thread in one go."""
    tasks: list[list[Place]] = []
    held = _TASK
    for place in places:
        if held + place.file.size >= _TASK:
            tasks.append([])
            held = 0
        tasks[-1].append(place)
        held += place.file.size
    return tasks


Found = tuple[Place, Block]
Sift = Callable[[Iterator[bytes]], Iterator[Block]]


class _StoppedError(Exception):
    """Nobody wants the rest."""


class Pool:
    """Threads that read ahead of the file that is searched; blocks come out in the order of the files."""

    def __init__(self, path: str, places: Iterable[Place], threads: int) -> None:
        self.tallies = [Tally() for _ in range(threads)]
        self._path = path
        self._tasks = _tasks(places)
        self._window = 2 * threads  # tasks that may be begun before the first of them was taken
        self._changed = threading.Condition()
        self._next = 0  # task to be begun
        self._taking = 0  # task whose blocks are taken
        self._waiting: list[deque[tuple[list[Found], int]]] = [deque() for _ in self._tasks]
        self._held = [0] * len(self._tasks)
        self._done = [False] * len(self._tasks)
        self._stopped = False
        self._error: BaseException | None = None

    def run(self, sift: Sift, idle: Callable[[], None]) -> Generator[Found]:
        """What `sift` leaves of each file; `idle` is called now and then while waiting."""
        threads = [
            threading.Thread(target=self._serve, args=(tally, sift), name=f"grep-{number}", daemon=True)
            for number, tally in enumerate(self.tallies)
        ]
        try:
            for thread in threads:
                thread.start()
            for number in range(len(self._tasks)):
                while (batch := self._take(number, idle)) is not None:
                    yield from batch
                idle()
        finally:
            with self._changed:
                self._stopped = True
                self._changed.notify_all()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()

    def _take(self, number: int, idle: Callable[[], None]) -> list[Found] | None:
        """The next blocks of a task, None when there will be no more."""
        while True:
            with self._changed:
                self._taking = number
                if self._error is not None:
                    raise self._error
                if self._waiting[number]:
                    batch, weight = self._waiting[number].popleft()
                    self._held[number] -= weight
                    self._changed.notify_all()
                    return batch
                if self._done[number]:
                    self._taking = number + 1
                    self._changed.notify_all()
                    return None
                # Not for ever: on Windows an endless wait does not notice ctrl-c.
                self._changed.wait(0.1)
            idle()

    def _serve(self, tally: Tally, sift: Sift) -> None:
        try:
            with Record.open(self._path, readonly=True) as record:
                while (number := self._begin()) is not None:
                    self._read(number, record, tally, sift)
        except _StoppedError:
            return
        except BaseException as error:  # noqa: BLE001 - raised again where the blocks are taken
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _begin(self) -> int | None:
        with self._changed:
            while not self._stopped and self._next < len(self._tasks) and self._next >= self._taking + self._window:
                self._changed.wait()
            if self._stopped or self._next >= len(self._tasks):
                return None
            self._next += 1
            return self._next - 1

    def _read(self, number: int, record: Record, tally: Tally, sift: Sift) -> None:
        batch: list[Found] = []
        held = 0
        for place in self._tasks[number]:
            for block in sift(whole_lines(tally.read(record, place))):
                batch.append((place, block))
                held += len(block.data) + _BLOCK_COST
                del block
                if held >= _BATCH:
                    self._give(number, batch, held)
                    batch, held = [], 0
        self._give(number, batch, held, last=True)

    def _give(self, number: int, batch: list[Found], weight: int, *, last: bool = False) -> None:
        with self._changed:
            while not self._stopped and self._held[number] and self._held[number] + weight > AHEAD:
                self._changed.wait()
            if self._stopped:
                raise _StoppedError
            if batch:
                self._waiting[number].append((batch, weight))
                self._held[number] += weight
            self._done[number] = last
            if number == self._taking:
                self._changed.notify_all()
