"""What `grep` looks for, and how it is found fast.

RE2 runs the pattern, in linear time. What RE2 does not know (look-around, back references, ...) runs in `re`. Where every match
has some literal in it, lines without it are never looked at; where a pattern is nothing but a few literals, nobody has to
run it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from hansard.errors import UsageError
from hansard.grep.syntax import ASCII_END, NEWLINE, Writer, byte, either, parse

_RE2_MEMORY = 64 << 20  # for its automata; with the usual 8 MiB sets of Unicode letters fall back to a slow search
_FEWEST = 2  # bytes of a needle worth looking for
_MOST = 8  # needles; each is a search of its own
_FEW_LITERALS = 3  # for more of them RE2's automaton is faster
_NEAR = 4096  # bytes

Find = Callable[[bytes, int], int]
"""Where a needle stands in a block at or after a position, or -1."""


Hit = tuple[int, int, int, int]
"""A line that matches: where it begins and ends, and its first match, in a block."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern; `search(block, pos, end)` gives a match object with `span()`, or None."""

    source: bytes
    search: Callable[..., Any]
    needles: tuple[Find, ...]  # one of them is in every line that matches; none: look everywhere
    literals: tuple[bytes, ...]  # the needles, where they are all that there is to match, in the order of the pattern
    folds: bool  # the literals are small letters and stand for capitals too
    folded: bool  # the needles are to be looked for in `block.lower()`
    linear: bool  # RE2 runs it
    slow_because: str | None  # why `re` has to run it

    def lines(self, block: bytes) -> Iterator[Hit]:
        """Each of whole lines that matches."""
        return self._near_needles(block) if self.needles else self._anywhere(block)

    def _anywhere(self, block: bytes) -> Iterator[Hit]:
        position, size = 0, len(block)
        while position < size and (found := self.search(block, position)) is not None:
            start, end = found.span()
            if start == size and block[size - 1] == NEWLINE:
                return  # after the last line break there is no line
            first = block.rfind(b"\n", position, start) + 1 or position
            last = block.find(b"\n", end)
            if last < 0:
                last = size
            yield first, last, start, end
            position = last + 1

    def _near_needles(self, block: bytes) -> Iterator[Hit]:
        hay = block.lower() if self.folded else block
        find = self.needles[0] if len(self.needles) == 1 else _earliest(self.needles)
        alone = len(self.literals[0]) if len(self.literals) == 1 else 0
        position, size = 0, len(block)
        while (place := find(hay, position)) >= 0:
            first = block.rfind(b"\n", position, place) + 1 or position
            last = block.find(b"\n", place)
            if last < 0:
                last = size
            if alone:
                yield first, last, place, place + alone
            elif self.literals:
                yield first, last, place, place + self._length(block, place)
            elif (found := self.search(block, first, last)) is not None:
                start, end = found.span()
                yield first, last, start, end
            position = last + 1

    def _length(self, block: bytes, place: int) -> int:
        """How long the match at a place is: of the literals that stand there, the first in the pattern."""
        there = block[place : place + max(map(len, self.literals))]
        return next(
            len(literal)
            for literal in self.literals
            if there.startswith(literal) or (self.folds and there.lower().startswith(literal))
        )


def compile_pattern(
    pattern: str | bytes,
    *,
    fixed: bool = False,
    ignore_case: bool = False,
    word: bool = False,
    re2: bool = True,
) -> Pattern:
    """Make a pattern ready to search with; one that makes no sense is a UsageError that points at the place."""
    tree = parse(pattern, fixed=fixed, ignore_case=ignore_case)
    writer = Writer(bytewise=isinstance(pattern, bytes))
    fold = bool(tree.state.flags & re.IGNORECASE)
    source = writer.write(tree, fold)
    if word and writer.worded(tree, fold, last=False) and writer.worded(tree, fold, last=True):
        source = rf"\b(?:{source})\b"
    elif word:
        source = rf"(?<![0-9A-Za-z_])(?:{source})(?![0-9A-Za-z_])"
        writer.beyond_re2 = writer.beyond_re2 or "matching whole words with it needs look-around"
    linear, why = _linear(source, writer.beyond_re2) if re2 else (None, "RE2 is turned off")
    folded = fold or writer.folds
    literals = () if word else writer.literals(tree, fold)
    if len(literals) > (_MOST if linear is None else _FEW_LITERALS):
        literals = ()
    needles = literals or writer.needles(tree, fold)
    if len(needles) > _MOST or min(map(len, needles), default=0) < _FEWEST:
        needles = literals = ()
    if linear is not None and not literals and len(needles) > 1:
        needles = ()  # to look for several and then for the pattern costs as much as to look for the pattern
    if folded:
        needles, literals = tuple(map(bytes.lower, needles)), tuple(map(bytes.lower, literals))
    find = _plain_find if linear is None else _re2_find
    finds = tuple(find(needle, folded=folded) for needle in needles)
    search = linear or _backtracking(source)
    return Pattern(source.encode(), search, finds, literals, folded, folded and linear is None, linear is not None, why)


def _linear(source: str, beyond: str | None) -> tuple[Callable[..., Any] | None, str | None]:
    """RE2's search, or why it cannot do it."""
    if beyond is not None:
        return None, beyond
    try:
        re2 = import_module("re2")
    except ImportError:
        return None, "google-re2 is not installed"
    try:
        return re2.compile(b"(?m)" + source.encode(), _options(re2)).search, None
    except re2.error:
        return None, "it is too large for RE2"


def _backtracking(source: str) -> Callable[..., Any]:
    try:
        return re.compile(source.encode(), re.MULTILINE).search
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"the pattern cannot be searched for in bytes: {error}") from None


def _options(re2: Any) -> Any:
    options = re2.Options()
    options.encoding = options.Encoding.LATIN1  # bytes are bytes
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _RE2_MEMORY
    return options


def _re2_find(needle: bytes, *, folded: bool) -> Find:
    re2 = import_module("re2")
    source = "".join(byte(value) if value > ASCII_END or not folded else either(value) for value in needle)
    search = re2.compile(source.encode(), _options(re2)).search

    near = re.compile(re.escape(needle)).search

    def find(block: bytes, position: int) -> int:
        if not folded:
            # What is near is found before a call of RE2 would have begun.
            if (found := near(block, position, position + _NEAR)) is not None:
                return int(found.start())
            position = max(position, position + _NEAR - len(needle) + 1)
        found = search(block, position)
        return -1 if found is None else int(found.start())

    return find


def _plain_find(needle: bytes, *, folded: bool) -> Find:  # noqa: ARG001 - the caller folds the block
    # Half as fast again as bytes.find, which stops at every frequent first byte.
    search = re.compile(re.escape(needle)).search

    def find(block: bytes, position: int) -> int:
        found = search(block, position)
        return -1 if found is None else found.start()

    return find


def _earliest(finds: Sequence[Find]) -> Find:
    """Where the first of several needles stands; for one block, from its beginning to its end."""
    nowhere = sys.maxsize
    places = [-1] * len(finds)

    def find(block: bytes, position: int) -> int:
        for number, one in enumerate(finds):
            if places[number] < position:
                place = one(block, position)
                places[number] = nowhere if place < 0 else place
        place = min(places)
        return -1 if place == nowhere else place

    return find
