"""Searches one file of the record, in this process or in a helper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.errors import StoreCorrupt
from hansard.grep.matching_lines import MatchOptions, Row, count_lines, find_lines, whole_lines
from hansard.grep.pattern import Pattern, compile_pattern
from hansard.record.schema import CHUNK
from hansard.record.store import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.workers import Channel

READY, ROWS, DONE = range(3)
"""Messages of `search_files` begin with one of these."""

_BATCH = 1 << 16  # bytes that are sent at once
_ROW_COST = 256  # bytes that a row takes beside its text


class FileLocation(NamedTuple):
    """Where the bytes of a file are; a bare tuple, since it goes to another process."""

    number: int  # of the generation or snapshot
    is_log: bool
    size: int


class SearchJob(NamedTuple):
    """A search request that can be sent to a worker."""

    path: str  # of the record
    pattern: str | bytes
    fixed: bool
    ignore_case: bool
    word: bool
    re2: bool
    before: int
    after: int
    max_count: int | None
    only_matching: bool
    around: int | None
    counting: bool = False  # only how many lines match

    def compile(self) -> Pattern:
        return compile_pattern(
            self.pattern, fixed=self.fixed, ignore_case=self.ignore_case, word=self.word, re2=self.re2
        )

    @property
    def wanted(self) -> MatchOptions:
        """What to report of each match."""
        return MatchOptions(self.before, self.after, self.max_count, self.only_matching, self.around)


Found = Row | tuple[int]
"""A line, or how many lines match."""


class Tally:
    """Reads files and counts what it read."""

    def __init__(self) -> None:
        self.searched = 0
        self.damaged = 0

    def read(self, record: Record, place: FileLocation, end: int | None = None) -> Iterator[bytes]:
        """The bytes of a file; a damaged chunk becomes as many NULs, so that everything else keeps its offset."""
        if not place.is_log:
            try:
                content = record.read_snapshot(place.number)
            except StoreCorrupt:
                self.damaged += 1
            else:
                self.searched += len(content)
                yield content
            return
        position, size = 0, place.size if end is None else end
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


def search(record: Record, place: FileLocation, job: SearchJob, pattern: Pattern, tally: Tally) -> Iterator[Found]:
    """What the job wants of one file."""

    def lines_before(offset: int) -> int:
        return sum(piece.count(b"\n") for piece in Tally().read(record, place, offset))

    blocks = whole_lines(tally.read(record, place))
    if not job.counting:
        yield from find_lines(blocks, pattern, job.wanted, lines_before)
    elif count := count_lines(blocks, pattern, job.max_count):
        yield (count,)


def search_files(channel: Channel, *job_values: Any) -> None:
    """A worker: search the files of each task that comes in, a tuple of places.

    It sends READY first. The answers to a task are ROWS, any number of times, each with a list of numbers of places in it and
    what was found there, and finally DONE with the bytes searched and the places that are damaged.
    """
    job = SearchJob(*job_values)
    pattern = job.compile()
    with Record.open(job.path, readonly=True) as record:
        channel.send(READY)
        while (task := channel.receive()) is not None:
            tally = Tally()
            rows: list[tuple[int, Found]] = []
            held = 0
            for number, place in enumerate(task):
                for row in search(record, FileLocation(*place), job, pattern, tally):
                    rows.append((number, row))
                    held += _ROW_COST + (len(row[5]) if len(row) > 1 else 0)
                    if held >= _BATCH:
                        channel.send(ROWS, rows)
                        rows, held = [], 0
            channel.send(ROWS, rows)
            channel.send(DONE, tally.searched, tally.damaged)
