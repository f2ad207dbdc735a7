"""Splitting pieces of bytes into lines, on 0x0A only, with bounded copying however long a line is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hansard.parse.decode import Issue, Record, decode, salvage


class Lines:
    """Complete lines of a stream of pieces; what follows the last newline stays in `rest`."""

    def __init__(self, pieces: Iterable[bytes], offset: int) -> None:
        self._pieces = pieces
        self.offset = offset  # where the first line not yet given begins
        self.rest = b""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Give (offset, line without its newline); empty lines are passed over but counted in the offsets."""
        parts: list[bytes] = []
        for piece in self._pieces:
            lines = piece.split(b"\n")
            parts.append(lines[0])
            if len(lines) == 1:
                continue
            lines[0] = b"".join(parts) if len(parts) > 1 else parts[0]
            last = lines.pop()
            parts = [last] if last else []
            start = self.offset
            for line in lines:
                self.offset = start + len(line) + 1
                if line:
                    yield start, line
                start = self.offset
        self.rest = b"".join(parts)


def items(line: bytes, offset: int) -> Iterator[Record | Issue]:
    """The records and issues of one line."""
    record = decode(line, offset)
    if record is not None:
        yield record
    else:
        yield from salvage(line, offset)


def unfinished(
    rest: bytes, offset: int, read: Callable[[bytes, int], Iterator[Record | Issue]] = items
) -> list[Record | Issue]:
    """What a last line without a newline is: whole records where it is complete, otherwise an issue until more comes."""
    if not rest.strip():
        return []
    found = list(read(rest, offset))
    if found and all(isinstance(item, Record) for item in found):
        return found
    return [Issue(offset, len(rest), "unfinished", "the last line has no end yet")]
