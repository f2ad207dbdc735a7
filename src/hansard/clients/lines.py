"""Lines of a transcript, split on 0x0A only and with bounded copying; how much of a line is read, and what decoding it gives.

The bytes of a line beyond a limit are kept and shown as they are, and an issue names the limit. The limits bound what a damaged or
hostile file costs: 300 MB and three times the line in memory, and time proportional to its length. No line that a client writes
comes near one, except that a PDF of 32 MB makes a line of 43 MB.
"""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MAX_LINE = 128 << 20
"""Bytes; a longer line is never in memory as a whole."""

LONG_LINE = 8 << 20
"""Bytes; in a longer line the longest strings are cut until it is no longer. A character takes up to four bytes in memory, and
what is made of a text (rows, tokens, lines) is in memory beside it: twenty times this and the line itself fit the bound."""

MAX_VALUES = 200_000
"""Lists, objects and commas of a line over `_DENSE` bytes: each becomes some hundred bytes of blocks and rows."""

MAX_DEPTH = 200
"""Of an object saved from a damaged line. The decoders' own limit for intact lines is the interpreter's, about a thousand."""

MAX_PIECES = 10_000
"""Objects of a damaged line that are looked at."""

MAX_SALVAGED = 4 * LONG_LINE
"""Bytes of such objects that are read."""

MAX_STEPS = 400_000
"""Values and separators of a damaged line that are looked at: a second's work."""

BLANK = b" \t\r\n"
"""What JSON takes for white space."""

_SPACE = 0x20
_BLANK_LINES = lazy_compile(rb"(?:[ \t\r]*+\n)++")
_COMPARED = 1 << 16  # bytes of equal lines that are compared at a time
_DENSE = 1 << 20
_SHORTEST = 4096  # bytes of a string; it is not cut to less
_NOTE = 64  # bytes for what is said where a string was cut
_STRING = lazy_compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)  # or the part of one before a torn end
# Whole characters and escapes. A cut goes behind one of these, so that no half of a surrogate pair is left.
_CHARACTERS = lazy_compile(
    rb"(?:\\u[dD][89abAB]..\\u....|\\u(?![dD][89abAB])....|\\[^u]|[^\\\xc0-\xff]"
    rb"|[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xff][\x80-\xbf]{3})*+",
    re.DOTALL,
)
_SYNC = 64  # bytes before a cut that are read again


class LongLine(bytes):
    """Stands for a line that is too long to be read: it is empty, and knows how long the line is."""

    length: int

    @classmethod
    def of(cls, length: int) -> LongLine:
        """A line of this length."""
        line = cls()
        line.length = length
        return line


class OpenLine(bytes):
    """What follows the last finished line, and means something already: more may come, and what came last may be torn."""


def length_of(line: bytes) -> int:
    return line.length if isinstance(line, LongLine) else len(line)


class Lines:
    """Complete lines of a stream of pieces; what follows the last newline stays in `rest`."""

    def __init__(self, pieces: Iterable[bytes], offset: int) -> None:
        self._pieces = pieces
        self.offset = offset  # where the first line not yet given begins
        self.rest = b""
        self._piece = b""  # that holds the next lines
        self._base = offset  # where it begins
        self._skipped = 0  # bytes of lines that need not be given

    @property
    def end(self) -> int:
        """Where the bytes end that were read."""
        return self.offset + length_of(self.rest)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Give (offset, line without its newline); blank lines are passed over but counted in the offsets."""
        pending = (
            BytesIO()
        )  # the beginning of a line; its bytes become the line itself, so a long one is never there twice
        size = 0  # of that; what is pending of a line that is too long is dropped
        for piece in _bounded(self._pieces):
            find = piece.find
            end = find(b"\n")
            size += end if end >= 0 else len(piece)
            if size > MAX_LINE:
                pending = BytesIO()
            else:
                pending.write(memoryview(piece)[:end] if end >= 0 else piece)
            if end < 0:
                continue
            start = self.offset
            self.offset = start + size + 1
            self._piece = piece
            self._base = base = self.offset - end - 1
            if size:
                line = _whole(pending, size)
                pending = BytesIO()
                if size > MAX_LINE or line[0] > _SPACE or line.strip(BLANK):
                    yield start, line
                del line  # it may be long, and the next one is put together while it is still here
            # One slice at a time, unlike `split`: it takes the place in memory that the one before has just left.
            begin = end + 1 + self._skip()
            while (end := find(b"\n", begin)) >= 0:
                if piece[begin] <= _SPACE and (blank := _BLANK_LINES.match(piece, begin)):
                    begin = blank.end()
                    self.offset = base + begin
                    continue
                self.offset = base + end + 1
                yield base + begin, piece[begin:end]
                begin = end + 1 + self._skip()
            size = len(piece) - begin
            pending.write(memoryview(piece)[begin:])
            self._piece = b""
        self.rest = _whole(pending, size)

    def skip_equal(self, line: bytes) -> int:
        """Skip the next lines as far as they are in memory and equal to `line`, which was just given; returns how many."""
        unit = line + b"\n"
        start = self.offset - self._base
        count, many = 0, 1
        while many:  # the lengths that are compared double, then halve again
            if len(unit) * many <= _COMPARED and self._piece.startswith(unit * many, start + count * len(unit)):
                count += many
                many *= 2
            else:
                many //= 2
        self._skipped += count * len(unit)
        self.offset += count * len(unit)
        return count

    def _skip(self) -> int:
        skipped, self._skipped = self._skipped, 0
        return skipped


def _bounded(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces that hold no whole line which is too long."""
    for piece in pieces:
        if len(piece) <= MAX_LINE:
            yield piece
        else:
            yield from (piece[at : at + MAX_LINE] for at in range(0, len(piece), MAX_LINE))


def joined(pieces: Iterable[bytes]) -> bytes:
    """All bytes of a file that is read as a whole; of one that is too long only the length is counted."""
    found, size = BytesIO(), 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_LINE:
            found = BytesIO()
        else:
            found.write(piece)
    return _whole(found, size)


def _whole(pending: BytesIO, size: int) -> bytes:
    return LongLine.of(size) if size > MAX_LINE else pending.getvalue()


def is_ordinary(line: bytes) -> bool:
    """Whether a line is surely within the limits; fast, since every line is asked."""
    size = len(line)
    return size <= _DENSE or (size <= LONG_LINE and _values(line, 0, size) <= MAX_VALUES)


def fit(line: bytes) -> tuple[bytes, str, str]:
    """A line as it can be read, and the reason and detail of an issue about it; no bytes where it is beyond a limit."""
    if isinstance(line, LongLine):
        return b"", "too_long", f"{line.length:,} bytes: at most {MAX_LINE:,} are read"
    if is_ordinary(line):
        return line, "", ""
    long_strings = _long_strings(line)
    if long_strings is None:
        return b"", "too_many_values", f"more than {MAX_VALUES:,}"
    return (line, "", "") if len(line) <= LONG_LINE else _cut(line, long_strings)


def _values(line: bytes, start: int, end: int) -> int:
    return line.count(b",", start, end) + line.count(b"[", start, end) + line.count(b"{", start, end)


def _long_strings(line: bytes) -> list[tuple[int, int]] | None:
    """Where the strings are that may be cut; None if there are too many values outside of strings."""
    found: list[tuple[int, int]] = []
    values = last = 0
    for number, string in enumerate(_STRING.finditer(line)):
        start, end = string.span()
        values += _values(line, last, start)
        last = end
        if end - start > _SHORTEST:
            found.append((start, end))
        if values > MAX_VALUES or number > 2 * MAX_VALUES:  # strings without commas between them are not JSON
            return None
    return found if values + _values(line, last, len(line)) <= MAX_VALUES else None


def _cut(line: bytes, strings: list[tuple[int, int]]) -> tuple[bytes, str, str]:
    """The line with its longest strings cut to the same length."""
    kept = _even_share([end - start for start, end in strings], LONG_LINE - len(line))
    if kept < _SHORTEST:
        return b"", "too_long", f"{len(line):,} bytes, hardly any of them in long texts: at most {LONG_LINE:,} are read"
    parts: list[bytes] = []
    last = 0
    for start, end in strings:
        if end - start > kept:
            place = _border(line, start + 1, start + kept - _NOTE)
            parts += (line[last:place], b" [... %d more bytes]" % (end - 1 - place))
            last = end - 1
    parts.append(line[last:])
    return b"".join(parts), "long_text", f"only the first {kept:,} bytes of each long text are read"


def _even_share(sizes: list[int], room: int) -> int:
    """To which size all are cut that are larger, so that they have this much room more (negative: less) than now."""
    room += sum(sizes)
    waiting = len(sizes)
    for size in sorted(sizes):
        if size * waiting > room:
            return room // waiting
        room -= size
        waiting -= 1
    return 0


def _border(line: bytes, start: int, end: int) -> int:
    """The last place up to `end` where a string that begins at `start` may be cut."""
    # Escapes can only be distinguished from the start of a run of backslashes.
    sync = start + len(line[start : end - _SYNC].rstrip(b"\\"))
    found = _CHARACTERS.match(line, sync, end)
    return found.end() if found is not None else sync


# -- what decoding a line gives

# What msgspec raises on bytes that it cannot read. Nesting of a thousand levels is a RecursionError even where it only skips.
REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
UNREAD = frozenset({"not_json", "too_deep", "too_long", "too_many_values", "torn", "not_an_object", "unknown_shape"})
"""The reasons of issues about bytes that nothing could be made of."""
_BLANK_END = 64  # bytes at the end of a line that are looked at


class ParsedLine(NamedTuple):
    """One decoded record: its place, its kind, its wire struct, and the names of unknown fields."""

    offset: int
    length: int
    kind: str
    body: Any
    strange: tuple[str, ...] = ()


class Issue(NamedTuple):
    """Something in a transcript that could not be read as it should: kept, counted, reported."""

    offset: int
    length: int
    reason: str
    detail: str = ""


def unfinished(
    rest: bytes, offset: int, read: Callable[[bytes, int], Iterable[ParsedLine | Issue]]
) -> list[ParsedLine | Issue]:
    """What a last line without a newline is: whole records where it is complete, otherwise an issue until more comes."""
    if not isinstance(rest, LongLine) and not rest.strip():
        return []
    if isinstance(rest, OpenLine):
        return list(read(rest, offset))
    # Whole records end like an object; without looking at the end all of a long line that is still coming would be searched for some.
    found = list(read(rest, offset)) if rest[-_BLANK_END:].rstrip(BLANK)[-1:] in (b"", b"}") else []
    if found and all(isinstance(item, ParsedLine) for item in found):
        return found
    return [Issue(offset, length_of(rest), "unfinished", "the last line has no end yet")]
