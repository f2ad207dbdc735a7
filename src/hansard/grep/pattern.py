"""Finds the lines of a block that match a pattern.

RE2 runs a pattern in linear time, over many lines at once. `re` runs what RE2 does not support (look-around, backreferences, ...)
line by line; lines without a literal that every match contains are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from hansard.errors import UsageError
from hansard.grep.syntax import Syntax, ascii_boundaries, required_literal, translate

_RE2_MEMORY = 64 << 20  # for its automata; with the usual 8 MiB sets of Unicode letters fall back to a slow search
_SHORT, _RARE = 2, 4  # characters of a literal that is worth a search before `re` runs, and before RE2 does
_NEWLINE = 0x0A
# A translated pattern whose matches all begin and end with a word character.
_WORD = r"(?:(?:\w|\[(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d|\w)++\])\+?)++"
_WORDS = re.compile(rf"{_WORD}(?:\|{_WORD})*+", re.ASCII)

Search = Callable[..., Any]
"""`search(block, position, end)` of `re` or RE2: a match object, or None."""

Hit = tuple[int, int, int, int]
"""A line that matches: where it begins and ends, and its first match, in a block."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern."""

    linear: bool  # RE2 runs it
    slow_because: str | None  # why `re` has to run it
    _search: Search
    _is_text: bool  # `re` searches decoded lines
    _candidates: Search | None  # finds at least the lines that match; None: look at every line

    def lines(self, block: bytes) -> Iterator[Hit]:
        position, size = 0, len(block)
        start = end = 0
        while position < size:
            first = start = position
            if self._candidates is not None:
                if (found := self._candidates(block, position)) is None:
                    return
                start, end = found.span()
                if start == size and block[size - 1] == _NEWLINE:
                    return  # no line follows the last line break
                first = block.rfind(b"\n", position, start) + 1 or position
            last = block.find(b"\n", start)
            if last < 0:
                last = size
            if self._candidates is self._search:
                yield first, last, start, end
            elif (match := next(self.matches(block, first, last), None)) is not None:
                yield first, last, *match
            position = last + 1

    def matches(self, block: bytes, first: int, last: int, position: int | None = None) -> Iterator[tuple[int, int]]:
        """The matches in one line, from a position on, as offsets in the block."""
        position = first if position is None else position
        if self.linear:
            while position <= last and (found := self._search(block, position, last)) is not None:
                start, end = found.span()
                yield start, end
                position = end + (start == end)
            return
        line: Any = memoryview(block)[first:last]
        position -= first
        offset = first  # of the index `begin` of the line
        begin = 0
        if self._is_text:
            position = len(str(line[:position], "utf-8", "surrogateescape"))
            line = str(line, "utf-8", "surrogateescape")
        while position <= len(line) and (found := self._search(line, position)) is not None:
            start, end = found.span()
            if self._is_text:
                offset += len(line[begin:start].encode("utf-8", "surrogateescape"))
                yield offset, offset + len(line[start:end].encode("utf-8", "surrogateescape"))
                begin = start
            else:
                yield first + start, first + end
            position = end + (start == end)


def compile_pattern(
    pattern: str | bytes, *, fixed: bool = False, ignore_case: bool = False, word: bool = False, re2: bool = True
) -> Pattern:
    """Compile a pattern; an invalid one is a UsageError that points at the position."""
    syntax = translate(pattern, fixed=fixed, ignore_case=ignore_case)
    why = None if re2 else "RE2 is turned off"
    if isinstance(pattern, bytes) and (syntax.ignore_case or "(?i" in syntax.source):
        why = why or "RE2 treats bytes as Latin-1 letters, which have two cases"
    source, literal = syntax.source, required_literal(syntax.source)
    if word and _WORDS.fullmatch(source):
        syntax = syntax._replace(source=rf"\b(?:{source})\b")
    elif word:
        why = why or "matching whole words with it needs look-around"
        syntax = syntax._replace(source=rf"(?<![0-9A-Z_a-z])(?:{source})(?![0-9A-Z_a-z])")
    linear: Search | None = None
    if why is None:
        linear, why = _linear(syntax)
    candidates = linear
    # RE2 is fast on a pattern that begins with a literal; on others, finding a rare literal first is faster.
    begins_late = syntax.source.startswith((r"\b", "["))
    if len(literal) >= (_SHORT if linear is None else _RARE) and (linear is None or begins_late):
        candidates = _literal_search(syntax._replace(source=literal), re2=re2 and isinstance(pattern, str))
    return Pattern(linear is not None, why, linear or _backtracking(syntax), syntax.is_text, candidates)


def _literal_search(syntax: Syntax, *, re2: bool) -> Search | None:
    if re2 and (search := _linear(syntax)[0]) is not None:
        return search
    if syntax.is_text and syntax.ignore_case:
        return None  # `re` knows the case of other letters than those of ASCII only in text
    flags = re.IGNORECASE if syntax.ignore_case else re.NOFLAG
    return re.compile(syntax.source.encode("utf-8" if syntax.is_text else "latin-1", "surrogateescape"), flags).search


def _linear(syntax: Syntax) -> tuple[Search | None, str | None]:
    """RE2's search, or why it cannot run the pattern."""
    try:
        re2 = import_module("re2")
    except ImportError:
        return None, "google-re2 is not installed"
    options = re2.Options()
    options.encoding = options.Encoding.UTF8 if syntax.is_text else options.Encoding.LATIN1
    options.never_capture = True
    options.never_nl = True
    options.log_errors = False
    options.max_mem = _RE2_MEMORY
    try:
        source = f"(?m{'i' if syntax.ignore_case else ''}){syntax.source}"
        return re2.compile(source.encode("utf-8" if syntax.is_text else "latin-1"), options).search, None
    except UnicodeEncodeError:
        return None, "RE2 searches text in UTF-8 only"
    except re2.error:
        return None, "RE2 does not support it: look-around, backreferences and very large repeats, for example"


def _backtracking(syntax: Syntax) -> Search:
    flags = re.IGNORECASE if syntax.ignore_case else re.NOFLAG
    try:
        if syntax.is_text:
            return re.compile(ascii_boundaries(syntax.source), flags).search
        return re.compile(syntax.source.encode("latin-1"), flags).search
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"unsupported regular expression: {error}") from None
