"""Passages: pieces of some 900 characters, cut at the borders of lines and sentences, and scored by BM25.

A message is often short, and the answer in the next one: a window is a piece with what was said before and after it. Thoughts,
calls and what subagents said stay alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from hansard.index.places import first_doc
from hansard.index.schema import TEXT_BITS, TEXT_MASK
from hansard.index.tokens import fold, searchable
from hansard.lazy_regex import lazy_compile
from hansard.query.search.blocks import TextBlock, describe

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.query.recall.question import Asked

SIZE = 900
"""Characters of a passage."""

_LONGEST_TEXT = 200_000  # characters of a block that are cut into passages
_SATURATION, _LENGTH = 1.2, 0.75  # k1 and b of BM25
_AVERAGE = 130  # words of a passage
_REPEATED = 0.85  # of the words
_SENTENCE = lazy_compile(r"[.!?:;]\s|[\u3002\uff01\uff1f]")
_WORD = lazy_compile(r"[a-z0-9]+")
_ANY_WORD = lazy_compile(r"[^\W_]+")

# Tool calls and thoughts repeat much that nobody said.
KIND_WEIGHT = {"thinking": 0.8, "call": 0.7}
_AGE, _HALF_LIFE, _DAY = 0.1, 90.0, 86_400_000  # recency only decides between passages that are nearly as good


def score(counts: dict[int, int], length: int, asked: Sequence[Asked]) -> float:
    """BM25 of a passage of `length` words."""
    long = _SATURATION * (1 - _LENGTH + _LENGTH * length / _AVERAGE)
    return sum(asked[number].worth * often * (_SATURATION + 1) / (often + long) for number, often in counts.items())


def most_for(worth: float) -> float:
    """The score that words of this worth cannot exceed."""
    return worth * (_SATURATION + 1)


def prior(kind: str, at: int | None, now: int) -> float:
    """The weight of a text by its kind and age, regardless of its words."""
    age = max(0, now - at) / _DAY if at is not None else 1000.0
    return KIND_WEIGHT.get(kind, 1.0) * (1 - _AGE * (1 - math.pow(0.5, age / _HALF_LIFE)))


def is_repeated(words: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a passage says hardly more than another."""
    return len(words & others) > _REPEATED * len(words)


def cut(text: str, size: int = SIZE) -> Iterator[str]:
    """A text in pieces of at most `size` characters that end with a line, else a sentence, else a word."""
    text = text[:_LONGEST_TEXT]
    start = 0
    while start < len(text):
        end = start + size
        if end < len(text):
            end = _border(text, start + size // 2, end)
        if piece := text[start:end].strip():
            yield piece
        start = end


def _border(text: str, low: int, high: int) -> int:
    line = text.rfind("\n", low, high)
    if line >= 0:
        return line + 1
    sentences = [found.end() for found in _SENTENCE.finditer(text, low, high)]
    if sentences:
        return sentences[-1]
    space = text.rfind(" ", low, high)
    return space + 1 if space >= 0 else high


def words_in(text: str) -> list[str]:
    """The words of a text as the full-text index has them; `index.tokens` says the same with their places."""
    if text.isascii():
        return _WORD.findall(searchable(text).decode().lower())
    return [fold(word) for word in _ANY_WORD.findall(searchable(text).decode("utf-8", "replace"))]


_AROUND = 4  # messages on each side at most
_SAID = frozenset({"prompt", "reply"})
_MESSAGES = "SELECT p.id FROM full.talk_docsize d CROSS JOIN full.places p ON p.doc = d.id WHERE d.id BETWEEN ? AND ? ORDER BY d.id"

Piece = tuple[TextBlock, int, str]
"""A block, the number of a piece of its text, and the piece."""

Window = list[Piece]
"""Pieces that follow each other."""


def make_windows(
    reader: Reader, blocks: Sequence[TextBlock], read: Callable[[TextBlock], str], is_match: Callable[[Piece], bool]
) -> Iterator[Window]:
    """A window around each piece of these blocks that matches; `read` gives the text of a block.

    A piece that matches only in text that is not shown has none: what is around it would tell that it matches.
    """
    known: dict[int, list[Piece]] = {}

    def pieces(block: TextBlock) -> list[Piece]:
        if block.id not in known:
            known[block.id] = [(block, number, text) for number, text in enumerate(cut(read(block)))]
        return known[block.id]

    around = _around(reader, [block for block in blocks if block.kind in _SAID and not block.is_aside])
    for block in sorted(blocks, key=lambda block: -block.id):  # the last line of a chunk makes the others available
        own = pieces(block)
        before, after = around.get(block.id, ((), ()))
        for number, piece in enumerate(own):
            if not is_match(piece):
                continue
            if block.id not in around:
                yield [piece]
                continue
            yield _grown(
                piece,
                chain(reversed(own[:number]), (one for other in before for one in reversed(pieces(other)))),
                chain(own[number + 1 :], (one for other in after for one in pieces(other))),
            )


def _grown(piece: Piece, before: Iterable[Piece], after: Iterable[Piece]) -> Window:
    """The piece with those around it that fit, taken from both sides in turn, nearest first."""
    window = [piece]
    room = SIZE - len(piece[2])
    sides = [iter(after), iter(before)]
    while sides:
        for side in tuple(sides):
            one = next(side, None)
            if one is None or len(one[2]) >= room:
                sides.remove(side)
                continue
            room -= len(one[2]) + 1
            window.append(one)
    return sorted(window, key=lambda one: (one[0].id, one[1]))


def _around(reader: Reader, blocks: Sequence[TextBlock]) -> dict[int, tuple[list[TextBlock], list[TextBlock]]]:
    """For each block the messages before it, nearest first, and those after it."""
    near: dict[int, tuple[list[int], list[int]]] = {}
    for block in blocks:
        low, doc = block.transcript << TEXT_BITS, first_doc(reader.rows, block.id, "full.places")
        before = reader.rows(f"{_MESSAGES} DESC LIMIT ?", (low, doc - 1, _AROUND))
        after = reader.rows(f"{_MESSAGES} LIMIT ?", (doc + 1, low | TEXT_MASK, _AROUND))
        near[block.id] = [row[0] for row in before], [row[0] for row in after]
    others = describe(reader, {id_ for sides in near.values() for side in sides for id_ in side})
    said = {id_: block for id_, block in others.items() if block.kind in _SAID}
    return {
        id_: ([said[one] for one in before if one in said], [said[one] for one in after if one in said])
        for id_, (before, after) in near.items()
    }
