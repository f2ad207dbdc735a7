"""The records of a file: each line of a log, each message of a document or of a snapshot inside of a log."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

from hansard.clients.documents import DocumentLines
from hansard.clients.lines import Lines, LongLine
from hansard.clients.objects import Objects
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_VALUE = rb"(?:%b|[-+.\w]++|\[[^\[\]{}]*+\])" % _STRING
_BEFORE = lazy_compile(
    rb'\s*+\{(?:\s*+(?!"messages")%b\s*+:\s*+%b\s*+,)*+\s*+"messages"\s*+:\s*+\[' % (_STRING, _VALUE)
)
_SNAPSHOT = b'{"$set":{"messages":['


def read_lines(pieces: Iterable[bytes], start: int) -> Lines:
    """The records of a document up to 0.38, or of a log; a document has lines of its own inside of its messages."""
    given = iter(pieces)
    first = next(given, b"")
    pieces = chain((first,), given)
    if _is_document(first, start):
        return DocumentLines(pieces, start, _BEFORE)
    return _LogLines(pieces, start)


def _is_document(first: bytes, start: int) -> bool:
    text = first.lstrip()
    line = text.partition(b"\n")[0].strip()
    if start == 0:  # only a document has a line with nothing but a bracket
        return line == b"{" or _BEFORE.match(first) is not None
    if not text.startswith(b"{"):  # behind a message: of a snapshot, its rest is on the same line
        return first.partition(b"\n")[0].strip() in (b"", b",") and text[:1] in (b",", b"]")
    if line.endswith(b"}"):
        return False
    found = next(iter(Objects(text)), None)
    if found is None:
        return line == b"{"
    return b"\n" in text[: found[1]] and text[found[1] :].lstrip()[:1] in (b",", b"]")


class _LogLines(Lines):
    """Lines of a log; a snapshot of all messages is its beginning, each message, and its end."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        is_first = self.offset > 0
        for offset, line in super().__iter__():
            if not isinstance(line, LongLine) and (line.startswith(_SNAPSHOT) or (is_first and _is_inside(line))):
                yield from self._split(offset, line, self.offset)
            else:
                yield offset, line
            is_first = False

    def _split(self, offset: int, line: bytes, behind: int) -> Iterator[tuple[int, bytes]]:
        end = len(_SNAPSHOT) if line.startswith(_SNAPSHOT) else 0
        if end:
            self.offset = offset + end
            yield offset, line[:end]
        place = end
        for begin, stop in Objects(line[place:], max_steps=sys.maxsize):
            if line[end : place + begin].strip(b", \t\r"):
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
    """Whether a line is the rest of a snapshot: it begins with a message, and more comes behind it."""
    if line.lstrip()[:1] in (b",", b"]"):
        return True
    found = next(iter(Objects(line)), None)
    return found is not None and found[0] == 0 and line[found[1] :].lstrip()[:1] in (b",", b"]")
