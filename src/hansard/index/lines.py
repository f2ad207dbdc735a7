"""Splitting pieces of bytes into lines, on 0x0A only, with bounded copying however long a line is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import apsw

from hansard.errors import HansardError
from hansard.parse.decode import Issue, ParsedLine, decode, salvage
from hansard.parse.limits import MAX_LINE, LongLine, length_of


class Lines:
    """Complete lines of a stream of pieces; what follows the last newline stays in `rest`."""

    def __init__(self, pieces: Iterable[bytes], offset: int) -> None:
        self._pieces = pieces
        self.offset = offset  # where the first line not yet given begins
        self.rest = b""

    @property
    def end(self) -> int:
        """Where the bytes end that were read."""
        return self.offset + length_of(self.rest)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Give (offset, line without its newline); empty lines are passed over but counted in the offsets."""
        parts: list[bytes] = []
        size = 0  # of the parts; those of a line that is too long are dropped
        for piece in _bounded(self._pieces):
            lines = piece.split(b"\n")
            size += len(lines[0])
            if size <= MAX_LINE:
                parts.append(lines[0])
            else:
                parts.clear()
            if len(lines) == 1:
                continue
            start = self.offset
            self.offset = start + size + 1
            if size:
                line = _whole(parts, size)
                parts.clear()
                yield start, line
                del line  # it may be long, and the next one is put together while it is still here
            last = lines.pop()
            for line in lines[1:]:
                start = self.offset
                self.offset = start + len(line) + 1
                if line:
                    yield start, line
            parts = [last] if last else []
            size = len(last)
        self.rest = _whole(parts, size)


def _bounded(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces that hold no whole line which is too long."""
    for piece in pieces:
        if len(piece) <= MAX_LINE:
            yield piece
        else:
            yield from (piece[at : at + MAX_LINE] for at in range(0, len(piece), MAX_LINE))


def _whole(parts: list[bytes], size: int) -> bytes:
    if size > MAX_LINE:
        return LongLine.of(size)
    return b"".join(parts) if len(parts) != 1 else parts[0]


def items(line: bytes, offset: int) -> Iterator[ParsedLine | Issue]:
    """The records and issues of one line."""
    record = decode(line, offset)
    if record is not None:
        yield record
    else:
        yield from salvage(line, offset)


def unfinished(
    rest: bytes, offset: int, read: Callable[[bytes, int], Iterator[ParsedLine | Issue]] = items
) -> list[ParsedLine | Issue]:
    """What a last line without a newline is: whole records where it is complete, otherwise an issue until more comes."""
    if not isinstance(rest, LongLine) and not rest.strip():
        return []
    found = list(read(rest, offset))
    if found and all(isinstance(item, ParsedLine) for item in found):
        return found
    return [Issue(offset, length_of(rest), "unfinished", "the last line has no end yet")]


def internal_error(error: Exception, line: bytes, offset: int) -> Issue:
    """The issue about a line on which our own code failed; it is raised again where the line is not at fault."""
    if isinstance(error, (MemoryError, HansardError, apsw.Error)):
        raise error
    if isinstance(error, RecursionError):
        return Issue(offset, length_of(line), "too_deep")
    return Issue(offset, length_of(line), "internal_error", f"{type(error).__name__}: {error}"[:300])
