"""The piece of a text that shows why it matched: cut at word boundaries, hits marked, without terminal control sequences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from unicodedata import combining

from msgspec import Struct

from hansard.index.tokens import fold, tokens
from hansard.lazy_regex import lazy_compile
from hansard.model.gate import Redact, cut

if TYPE_CHECKING:
    from hansard.query.search.plan import Term
    from hansard.query.search.spellings import Spelling

WIDTH = 240
_MOST_SPANS = 60
_MOST_MISSES = 400  # per term and piece: occurrences inside other words, as in a dump of a megabyte
_MOST_WORK = 100_000  # per excerpt, in misses: about a tenth of a second
_LOOK = 25  # the cost of a match whose surroundings must be tokenized
_PIECE = 1 << 15  # characters of a long text searched at once
_OVERLAP = 256
_SLACK = 24  # how far a cut may move to fall between two words
_LONGEST_LINE = 500
_SIGNS = {"plusplus": r"(?:plusplus|\+\+)", "sharp": r"(?:sharp|\#)"}
_BETWEEN = r"[\W_]{0,12}?"


class Excerpt(Struct, frozen=True):
    """A piece of text, the positions of hits in it, and whole lines around it."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class Marker:
    """Finds the terms of a query in texts."""

    def __init__(self, terms: Sequence[Term]) -> None:
        # Several alternatives may share a term; each is searched for once.
        wanted = dict.fromkeys((term.spellings, term.prefix) for term in terms if term.spellings)
        self._patterns = [re.compile("|".join(_patterns(spellings)), re.DOTALL) for spellings, _ in wanted]
        self._literals = [tuple(map(_literal, spellings)) for spellings, _ in wanted]
        self._begun = [prefix for _, prefix in wanted]

    def excerpt(self, text: str, *, width: int = WIDTH, context: int = 0, redact: Redact | None = None) -> Excerpt:
        """The best piece of a text: the first with the most distinct words of the query; secrets go before it is cut."""
        spans = self._spans(text)
        first, last = _best(spans, width)
        start, end = _window(text, first, last, width)
        if context:  # whole lines are shown around it, so the excerpt stays within its own line
            start = max(start, text.rfind("\n", 0, first) + 1)
            line_end = text.find("\n", last)
            end = min(end, line_end) if line_end >= 0 else end
        marked = sorted({span[:2] for span in spans if start <= span[0] and span[1] <= end})
        first, begin = _lines_before(text, first, context) if context else (start, start)
        end_of_line, last = _lines_after(text, last, context) if context else (end, end)
        inside, kept = [start], list[bool]()  # where the excerpt is cut, and which parts are hits
        for low, high in marked:
            if low >= inside[-1]:
                inside += [low, high]
                kept += [False, True]
        parts = cut(text, [first, begin, *inside, end, end_of_line, last], redact)
        shown = _cleaned(parts[2:-2], [*kept, False], begun=start > 0, more=end < len(text))
        if not context:
            return shown
        before, after = parts[0].split("\n")[:-1][-context:], parts[-1].split("\n")[1:][:context]
        return Excerpt(shown.text, shown.spans, tuple(map(_line, before)), tuple(map(_line, after)))

    def finds(self, text: str) -> bool:
        """Whether any term occurs in a text."""
        return bool(self._spans(text))

    def _spans(self, text: str) -> list[tuple[int, int, int]]:
        """Where terms occur, as (start, end, term number), in the first stretch of the text that has any."""
        budget = _Budget(_MOST_WORK)
        for start in range(0, max(len(text), 1), _PIECE):
            piece = _Piece(text[start : start + _PIECE + _OVERLAP])
            found = [
                (start + low, start + high, number)
                for number in range(len(self._patterns))
                for low, high in self._of_term(number, piece, budget)
            ]
            if found:
                return sorted(found)
        return []

    def _of_term(self, number: int, piece: _Piece, budget: _Budget) -> list[tuple[int, int]]:
        text = piece.text
        found = list(self._in(number, budget, text, piece.lower)) if len(piece.lower) == len(text) else []
        if found or text.isascii():
            return found
        plain, places = piece.folded()
        return list(self._in(number, budget, text, plain, places))

    def _in(
        self, number: int, budget: _Budget, text: str, plain: str, places: Sequence[int] | None = None
    ) -> Iterator[tuple[int, int]]:
        """Matches in a text folded to `plain`, whose characters are at `places` in it (None: at the same offsets)."""
        # Most terms occur in few pieces, and a substring search is a hundred times faster than a regex alternation.
        if not any(literal in plain for literal in self._literals[number]):
            return
        position = count = misses = 0
        while count < _MOST_SPANS and misses < _MOST_MISSES and budget.left > 0:
            match = self._patterns[number].search(plain, position)
            if match is None:
                return
            start, end = match.span()
            position = max(end, start + 1)
            if places is not None:
                start, end = places[start], places[end]
            if end > start and _on_borders(text, start, end, budget, begun=self._begun[number]):
                count += 1
                yield start, _end_of_word(text, end) if self._begun[number] else end
            else:
                misses += 1
                budget.left -= 1
                position = match.start() + 1


class _Budget:
    """The remaining work budget for one excerpt."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


class _Piece:
    """A stretch of a text, and its form without case and accents."""

    __slots__ = ("_folded", "lower", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lower = text.lower()
        self._folded: tuple[str, Sequence[int] | None] | None = None

    def folded(self) -> tuple[str, Sequence[int] | None]:
        """The folded text, and the offset of each of its characters; None if all offsets stay the same."""
        if self._folded is None:
            text = self.text
            places: list[int] | None = None
            signs = set(text)
            marks = {sign for sign in signs if combining(sign)}
            if marks:  # drop combining accents, as in file names of some systems
                places = [place for place, sign in enumerate(text) if sign not in marks]
                text = "".join(map(text.__getitem__, places))
                places.append(len(self.text))
            self._folded = text.translate({ord(sign): (fold(sign) or " ")[0] for sign in signs}), places
        return self._folded


def _patterns(spellings: Sequence[Spelling]) -> Iterator[str]:
    for row in sorted(spellings, key=lambda row: -sum(map(len, row))):
        yield _BETWEEN.join(_SIGNS.get(token, re.escape(token)) for token in row)


def _literal(row: Spelling) -> str:
    """A substring of every text that has a spelling; empty if it consists only of symbols."""
    return max((token for token in row if token not in _SIGNS), key=len, default="")


def _on_borders(text: str, start: int, end: int, budget: _Budget, *, begun: bool) -> bool:
    """Whether a match begins and ends at token boundaries."""
    before_is_word = start > 0 and text[start - 1].isalnum()
    after_is_word = end < len(text) and text[end].isalnum()
    if not before_is_word and (begun or not after_is_word):
        return True
    if _is_inside(text, start) or (after_is_word and not begun and _is_inside(text, end)):
        return False
    budget.left -= _LOOK
    low, high = start, end
    while low > 0 and text[low - 1].isalnum() and start - low < _OVERLAP:
        low -= 1
    while high < len(text) and text[high].isalnum() and high - end < _OVERLAP:
        high += 1
    found = tokens(text, low, high)
    return any(token.start == start for token in found) and (begun or any(token.end == end for token in found))


def _is_inside(text: str, place: int) -> bool:
    """Whether an offset is between two lowercase ASCII letters, where no token ever ends: a quick check for most."""
    return place > 0 and "a" <= text[place - 1] <= "z" and "a" <= text[place] <= "z"


def _end_of_word(text: str, end: int) -> int:
    while end < len(text) and text[end].isalnum():
        end += 1
    return end


def _best(spans: list[tuple[int, int, int]], width: int) -> tuple[int, int]:
    """The stretch with the most distinct terms, at most about `width` long."""
    inside: Counter[int] = Counter()  # occurrences of each term in spans[left:right]
    most = first = last = right = 0
    for left, (start, _, term) in enumerate(spans):
        right = max(right, left)
        while right < len(spans) and spans[right][1] - start <= width:
            inside[spans[right][2]] += 1
            right += 1
        if len(inside) > most:
            most, first, last = len(inside), left, right
        if left < right:
            inside[term] -= 1
            if not inside[term]:
                del inside[term]
    return (spans[first][0], max(end for _, end, _ in spans[first:last])) if most else (0, 0)


def _window(text: str, first: int, last: int, width: int) -> tuple[int, int]:
    """A stretch around the hits, cut between words if a boundary is near."""
    room = max(0, width - (last - first))
    start = max(0, first - room // 3)
    end = min(len(text), start + max(width, last - start))
    start = max(0, min(start, end - width))
    if start:
        space = _find_space(text, start, min(first, start + _SLACK))
        start = space if space is not None else start
    if end < len(text):
        spaces = [place for place in range(max(last, end - _SLACK), end) if text[place].isspace()]
        end = spaces[-1] if spaces else end
    return start, end


def _find_space(text: str, start: int, end: int) -> int | None:
    for place in range(start, end):
        if text[place].isspace():
            return place + 1
    return None


def _cleaned(parts: Sequence[str], are_hits: Sequence[bool], *, begun: bool, more: bool) -> Excerpt:
    """One line of printable text; runs of spaces and control characters become one space."""
    shown: list[str] = ["… "] if begun else []
    length = len(shown[0]) if shown else 0
    marked: list[tuple[int, int]] = []
    for part, is_hit in zip(parts, are_hits, strict=True):
        start = length
        length = _put(shown, part, start)
        if is_hit and length > start:
            marked.append((start, length))
    if more:
        shown.append(" …")
    line = "".join(shown)
    return Excerpt(line.rstrip(), tuple(marked))


def _put(shown: list[str], text: str, length: int) -> int:
    if not text.isprintable():
        text = _plain(_SPACES.sub(" ", text))
    text = _SPACES.sub(" ", text)
    if text.startswith(" ") and (not shown or shown[-1].endswith(" ")):
        text = text[1:]
    if text:
        shown.append(text)
    return length + len(text)


_SPACES = lazy_compile(r"\s\s+|[^\S ]")
# Terminal control: whole escape sequences, then any remaining control characters and direction marks.
_SEQUENCES = lazy_compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|.?)", re.DOTALL
)


def _plain(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c for c in _SEQUENCES.sub("", text) if c.isprintable())


def _lines_before(text: str, first: int, lines: int) -> tuple[int, int]:
    """Where the lines before the one with the hits may begin, and where they end."""
    begin = text.rfind("\n", 0, first) + 1
    return max(0, begin - lines * _PIECE), begin


def _lines_after(text: str, last: int, lines: int) -> tuple[int, int]:
    """Where the line with the hits ends, and where the lines after it may end."""
    end = text.find("\n", last)
    return (len(text), len(text)) if end < 0 else (end, min(len(text), end + 1 + lines * _PIECE))


def _line(text: str) -> str:
    plain = _plain(text.expandtabs(4))
    return plain if len(plain) <= _LONGEST_LINE else plain[:_LONGEST_LINE] + " …"
