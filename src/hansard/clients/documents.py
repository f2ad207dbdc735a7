"""A file that is one JSON document with a list of records in it, as if each record stood on a line of its own; the same for a line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.lines import MAX_LINE, Lines, LongLine, joined
from hansard.clients.objects import Objects
from hansard.lazy_regex import lazy_compile

BETWEEN = b", \t\r\n"
"""What is between the records of a list."""

_TOKEN = lazy_compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\]]', re.DOTALL)  # a string may be cut off
_BRACKET = lazy_compile(rb"\s*+:\s*+\[")
_decode = msgspec.json.Decoder(dict[str, Any]).decode
Opening = Callable[[bytes], int]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class DocumentLines(Lines):
    """What comes before the list, each object in it, and what comes after it.

    A reader that begins in the middle, where an object begins or one ended, gets the objects from there on.
    """

    def __init__(
        self, pieces: Iterable[bytes], offset: int, before: re.Pattern[bytes] | Opening, *, is_list: bool = False
    ) -> None:
        """`before` finds the bracket that opens the list: a pattern up to there, or a function. With `is_list` there may be no more."""
        super().__init__(pieces, offset)
        self._before = before
        self._is_list = is_list
        self._data, self._start = b"", offset

    def between(self, start: int, end: int) -> bytes:
        """The bytes from one offset to another, of those that were read."""
        return self._data[start - self._start : end - self._start]

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        data = self._data = joined(self._pieces)
        first = self.offset
        if isinstance(data, LongLine):
            self.rest = data
            return
        end = 0
        if first == 0:
            end = opening(self._before, data)
            if not end:
                self.rest = data
                return
            yield 0, data[:end]
        place = end
        for start, stop in Objects(data[place:], max_steps=sys.maxsize):
            if data[end : place + start].strip(BETWEEN):
                break  # after the list, or inside of an object that is not complete yet
            end = place + stop
            yield first + place + start, data[place + start : end]
        tail = data[end:]
        if (self._is_list and tail.strip() == b"]") or _is_end(tail):
            yield first + end, tail
            self.offset = first + len(data)
        else:  # more is to come
            self.offset, self.rest = first + end, tail

    def skip_equal(self, line: bytes) -> int:  # noqa: ARG002
        return 0


class SplitLines(Lines):
    """Lines of a log, some of which have a list of records: of these what comes before the list, each record, and the rest.

    A reader that begins inside of such a line, where a record begins or one ended, gets the records from there on.
    """

    def __init__(self, pieces: Iterable[bytes], offset: int, before: Opening) -> None:
        """`before` gives the end of the bracket that opens the list of a line, 0 for any other line."""
        super().__init__(pieces, offset)
        self._before = before

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        is_first = self.offset > 0
        for offset, line in super().__iter__():
            end = 0 if isinstance(line, LongLine) else self._before(line)
            if end or (is_first and _is_inside(line)):
                yield from self._split(offset, line, end, self.offset)
            else:
                yield offset, line
            is_first = False

    def _split(self, offset: int, line: bytes, end: int, behind: int) -> Iterator[tuple[int, bytes]]:
        if end:
            self.offset = offset + end
            yield offset, line[:end]
        place = end
        for begin, stop in Objects(line[place:], max_steps=sys.maxsize):
            if line[end : place + begin].strip(BETWEEN):
                break  # behind the list
            end = place + stop
            self.offset = offset + end
            yield offset + place + begin, line[place + begin : end]
        tail = line[end:]
        self.offset = behind
        if tail.strip():
            yield offset + end, tail

    def skip_equal(self, line: bytes) -> int:  # noqa: ARG002
        return 0


def _is_inside(line: bytes) -> bool:
    """Whether a line is the rest of one with a list: it begins with a record, and more comes behind it."""
    if line.lstrip()[:1] in (b",", b"]"):
        return True
    found = next(iter(Objects(line)), None)
    return found is not None and found[0] == 0 and line[found[1] :].lstrip()[:1] in (b",", b"]")


def first_line(pieces: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, at least up to the end of a line unless that is too long to be read, and all pieces."""
    given = iter(pieces)
    found, size = [], 0
    for piece in given:
        found.append(piece)
        size += len(piece)
        if b"\n" in piece or size > MAX_LINE:
            break
    first = b"".join(found)
    return first, chain((first,), given)


def is_in_document(first: bytes) -> bool:
    """Whether bytes from the middle of a file, where a record begins or one ended, are of a document or of a log."""
    text = first.lstrip()
    line = text.partition(b"\n")[0].strip()
    has_lines = b"\n" in first  # a document has none, or is indented
    if not text.startswith(b"{"):  # behind a record: in a line with a list, its rest is on the same line
        is_indented = first.partition(b"\n")[0].strip() in (b"", b",")
        return (is_indented or not has_lines) and text[:1] in (b",", b"]")
    if has_lines and line.endswith(b"}"):
        return False
    found = next(iter(Objects(text)), None)
    if found is None:
        return line == b"{"
    return (not has_lines or b"\n" in text[: found[1]]) and text[found[1] :].lstrip()[:1] in (b",", b"]")


def opening(before: re.Pattern[bytes] | Opening, data: bytes) -> int:
    """The end of the bracket that opens a list, or 0."""
    if callable(before):
        return before(data)
    found = before.match(data)
    return found.end() if found is not None else 0


def list_start(data: bytes, name: bytes, depth: int) -> int:
    """The end of the bracket that opens the list with a name in an object at this depth, or 0."""
    wanted, level = b'"%b"' % name, 0
    for found in _TOKEN.finditer(data):
        token = found[0]
        if token in (b"{", b"["):
            level += 1
        elif token in (b"}", b"]"):
            level -= 1
            if level < depth and level < 1:
                return 0
        elif level == depth and token == wanted and (bracket := _BRACKET.match(data, found.end())):
            return bracket.end()
    return 0


def around(text: bytes) -> dict[str, Any] | None:
    """What is said before or after a list, given without what is `BETWEEN` records; None for a record.

    The list is in an object, which may itself be in one, as in an entry of a log.
    """
    if text.startswith(b"]"):
        choices = (b'{"":[' + text, b'{"":[' + text.removesuffix(b"}"))
    elif text.endswith(b"["):
        choices = (text + b"]}", text + b"]}}")
    else:
        return None
    try:
        return _decode(choices[0])
    except msgspec.DecodeError:
        return _decode(choices[1])


def _is_end(tail: bytes) -> bool:
    """Whether this is all that a document has behind the last object of its list."""
    try:
        msgspec.json.decode(b'{"":[' + tail.lstrip(BETWEEN))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
