"""The lines of one file that match, with the lines around them, from pieces that may be cut anywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.grep.pattern import Pattern

Row = tuple[int, int, int, int | None, int | None, bytes, int]
"""The fields of a GrepLine after its file."""


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """What to report of each match."""

    before: int = 0  # lines of context
    after: int = 0
    max_count: int | None = None  # matching lines per file
    only_matching: bool = False  # each match by itself
    around: int | None = 200  # bytes on each side of a match; None: the whole line


def whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes, cut at ends of lines only; the last block may lack its line break.

    A line of many pieces is put together once: while that is done, it is in memory twice.
    """
    parts: list[bytes] = []
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if not end:
            parts.append(piece)
            continue
        rest = piece[end:]
        parts.append(piece[:end])
        block = b"".join(parts)
        parts = [rest] if rest else []
        yield block
        del block  # a line of 100 MB must not stay while the next one is put together
    if parts:
        yield b"".join(parts)


def count_lines(blocks: Iterable[bytes], pattern: Pattern, most: int | None) -> int:
    count = 0
    for block in blocks:
        for _ in pattern.lines(block):
            count += 1
            if count == most:
                return count
    return count


def find_lines(
    blocks: Iterable[bytes], pattern: Pattern, wanted: MatchOptions, lines_before: Callable[[int], int]
) -> Iterator[Row]:
    """The matching lines of blocks of whole lines, and those around them, each once and in order.

    `lines_before` counts the lines before an offset of the file: most files have no match, so lines are counted on demand.
    """
    return _Search(pattern, wanted, lines_before).run(blocks)


class _Search:
    """The state of a search through one file: everything before line `number` was reported or dropped."""

    def __init__(self, pattern: Pattern, wanted: MatchOptions, lines_before: Callable[[int], int]) -> None:
        self.lines_before = lines_before
        self.counted = True  # False: `number` is not known, because nothing was reported so far
        self.pattern = pattern
        self.wanted = wanted
        self.offset = 0  # of the block
        self.number = 1  # of the line at `position`
        self.position = 0  # in the block
        self.owed = 0  # lines that are still to be reported after a match
        self.matched = 0
        self.former: deque[Row] = deque(maxlen=wanted.before)  # of earlier blocks, not reported

    def run(self, blocks: Iterable[bytes]) -> Iterator[Row]:
        wanted = self.wanted
        for block in blocks:
            self.position = 0
            for first, last, start, end in self.pattern.lines(block):
                if not self.counted:
                    self.number, self.counted = self.lines_before(self.offset) + 1, True
                if self.owed or wanted.before:
                    yield from self._between(block, first)
                else:
                    self.number += block.count(b"\n", self.position, first)
                    self.position = first
                if self.matched == wanted.max_count:
                    return  # the lines after the last match are reported, up to this one
                if wanted.only_matching:
                    yield from self._each(block, first, last, start, end)
                else:
                    yield self._around(block, first, last, start, end)
                self.matched += 1
                self.owed = wanted.after
                self.position, self.number = last + 1, self.number + 1
                if self.matched == wanted.max_count and not self.owed:
                    return
            yield from self._pay(block, len(block))
            if self.matched == wanted.max_count and not self.owed:
                return
            self._remember(block)
            self.offset += len(block)
            del block

    def _around(self, block: bytes, first: int, last: int, start: int, end: int) -> Row:
        low, high = first, last
        around = self.wanted.around
        if around is not None and last - first > around:
            low = _border(block, max(first, start - around), start)
            high = _border(block, min(last, min(end, start + around) + around), last)
        return self._line(block, first, last, (start, end), low, high)

    def _each(self, block: bytes, first: int, last: int, start: int, end: int) -> Iterator[Row]:
        later = self.pattern.matches(block, first, last, end + (start == end))
        for match in chain([(start, end)], later):
            if match[1] > match[0]:
                yield self._line(block, first, last, match, *match)

    def _line(self, block: bytes, first: int, last: int, match: tuple[int, int] | None, low: int, high: int) -> Row:
        start, end = (None, None) if match is None else (match[0] - first, match[1] - first)
        return self.number, self.offset + first, last - first, start, end, block[low:high], low - first

    # -- lines around matches

    def _between(self, block: bytes, first: int) -> Iterator[Row]:
        """Report the lines before the match at `first`, which is the next line afterwards."""
        yield from self._pay(block, first)
        count = block.count(b"\n", self.position, first)
        if self.wanted.before and self.matched != self.wanted.max_count:
            begin, skipped = self.position, count
            if count >= self.wanted.before:
                begin = first
                for _ in range(self.wanted.before):
                    begin = block.rfind(b"\n", 0, begin - 1) + 1
                skipped = self.wanted.before
                self.former.clear()
            else:
                spare = self.wanted.before - count
                yield from list(self.former)[-spare:]
                self.former.clear()
            self.number += count - skipped
            self.position = begin
            yield from self._walk(block, first, skipped)
        else:
            self.number += count
            self.position = first

    def _pay(self, block: bytes, end: int) -> Iterator[Row]:
        """Report the lines that are owed to the last match, as far as this block has them."""
        if self.owed and self.position < end:
            for line in self._walk(block, end, self.owed):
                self.owed -= 1
                yield line

    def _walk(self, block: bytes, end: int, count: int) -> Iterator[Row]:
        """Up to `count` lines from here on."""
        while count and self.position < end:
            last = block.find(b"\n", self.position, end)
            last = end if last < 0 else last
            around = self.wanted.around
            high = last if around is None else _border(block, min(last, self.position + 2 * around), last)
            line = self._line(block, self.position, last, None, self.position, high)
            self.position, self.number = last + 1, self.number + 1
            count -= 1
            yield line

    def _remember(self, block: bytes) -> None:
        """Keep the last lines of a block, which may come before a match in the next one."""
        end, before = len(block), self.wanted.before
        if not before and not self.matched:
            self.counted = False
            return
        rest = block.count(b"\n", self.position) if self.position < end else 0
        if before and rest:
            begin = end
            for _ in range(min(before, rest)):
                begin = block.rfind(b"\n", self.position, begin - 1) + 1 or self.position
            self.number += max(0, rest - before)
            self.position = begin
            self.former.extend(self._walk(block, end, before))
        else:
            self.number += rest


def _border(block: bytes, position: int, end: int) -> int:
    """The next offset that is not inside a multibyte character."""
    if position >= end or block[position] & 0xC0 != 0x80:
        return min(position, end)
    for place in range(position + 1, min(position + 4, end)):
        if block[place] & 0xC0 != 0x80:
            return place
    return min(position, end)
