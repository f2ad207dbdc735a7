"""Passages: pieces of some 900 characters, cut at the borders of lines and sentences, and scored by BM25."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hansard.index.tokens import fold, searchable
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
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
