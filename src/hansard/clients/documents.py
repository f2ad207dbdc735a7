"""A file that is one JSON document with a list of records in it, as if each record stood on a line of its own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from hansard.clients.lines import MAX_LINE, Lines, LongLine
from hansard.clients.objects import Objects

_BETWEEN = b", \t\r\n"

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator


class DocumentLines(Lines):
    """What comes before the list, each object in it, and what comes after it.

    A reader that begins in the middle, where an object begins or one ended, gets the objects from there on.
    """

    def __init__(self, pieces: Iterable[bytes], offset: int, before: re.Pattern[bytes]) -> None:
        """`before` matches a document up to the bracket that opens its list, which may be all of the document."""
        super().__init__(pieces, offset)
        self._before = before
        self._data, self._start = b"", offset

    def between(self, start: int, end: int) -> bytes:
        """The bytes from one offset to another, of those that were read."""
        return self._data[start - self._start : end - self._start]

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        data = self._data = b"".join(self._pieces)
        first = self.offset
        if len(data) > MAX_LINE:
            self.rest = LongLine.of(len(data))
            return
        end = 0
        if first == 0:
            head = self._before.match(data)
            if head is None:
                self.rest = data
                return
            end = head.end()
            yield 0, data[:end]
        place = end
        for start, stop in Objects(data[place:], max_steps=sys.maxsize):
            if data[end : place + start].strip(_BETWEEN):
                break  # after the list, or inside of an object that is not complete yet
            end = place + stop
            yield first + place + start, data[place + start : end]
        tail = data[end:]
        if _is_end(tail):
            yield first + end, tail
            self.offset = first + len(data)
        else:  # more is to come
            self.offset, self.rest = first + end, tail

    def skip_equal(self, line: bytes) -> int:  # noqa: ARG002
        return 0


def _is_end(tail: bytes) -> bool:
    """Whether this is all that a document has behind the last object of its list."""
    rest = tail.strip(_BETWEEN)
    if rest == b"]":
        return True
    try:
        msgspec.json.decode(b'{"":[' + rest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
