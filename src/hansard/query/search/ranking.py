"""Score a hit: BM25 over the words, how close they are to each other, the kind of text, and its age."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from heapq import heappush, heapreplace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

    from hansard.query.search.plan import Term

_SATURATION = 1.2
_LENGTH = 0.6  # how much long texts are penalized
_POSITIONS = 64  # of each word, considered for nearness
_IN_A_ROW = 0.7
_NEAR = 0.5

# A prompt or a reply says what a session was about; tool output mostly does not.
KIND_WEIGHT = {
    "title": 1.5,
    "prompt": 1.4,
    "reply": 1.1,
    "command": 1.0,
    "thinking": 0.7,
    "call": 0.65,
    "result": 0.5,
    "note": 0.4,
}
ASIDE_WEIGHT = 0.75
_HALF_LIFE_DAYS = 60.0
_AGE = 0.35  # what the oldest text loses
_DAY = 86_400_000

Weigh = Callable[["apsw.FTS5ExtensionApi"], float]


def rarity(often: float, rows: int) -> float:
    """The weight of a word that occurs in `often` of `rows` texts."""
    often = min(often, rows)
    return math.log(1 + (rows - often + 0.5) / (often + 0.5))


def weigher(terms: Sequence[Term], worths: Sequence[float], most: int = 1 << 30) -> Weigh:
    """An FTS5 function that scores the current row of a table, with lengths relative to that table's average.

    Only the best `most` rows are scored exactly: nearness is not looked at where it cannot lift a row among them.
    """
    average = 0.0
    numbered = [(rare, term.phrases[0], term.phrases[1:]) for term, rare in zip(terms, worths, strict=True)]
    best: list[float] = []

    def weigh(api: apsw.FTS5ExtensionApi) -> float:
        nonlocal average
        if not average:
            average = max(api.column_total_size(0) / max(api.row_count, 1), 1.0)
        length = _SATURATION * (1 - _LENGTH + _LENGTH * api.column_size(0) / average)
        offsets = api.phrase_column_offsets
        score = 0.0
        places: list[list[int]] = []
        for rare, first, others in numbered:
            found = offsets(first, 0)
            often = float(len(found))
            for phrase in others:
                other = offsets(phrase, 0)
                if other:
                    often += 0.8 * len(other)
                    found = found + other if found else other
            if found:
                score += rare * often * (_SATURATION + 1) / (often + length)
                places.append(found)
        is_full = len(best) >= most
        if len(places) > 1 and not (is_full and score * (1 + _IN_A_ROW) < best[0]):
            score *= _nearness([sorted(found)[:_POSITIONS] for found in places], terms)
        if is_full:
            if score > best[0]:
                heapreplace(best, score)
        elif most < 1 << 30:
            heappush(best, score)
        return score

    return weigh


def _nearness(places: list[list[int]], terms: Sequence[Term]) -> float:
    """More for words close together, most for words in the order typed."""
    if len(places) == len(terms) and _in_a_row(places, terms):
        return 1 + _IN_A_ROW
    return 1 + _NEAR * len(places) / max(_window(places), len(places))


def _in_a_row(places: list[list[int]], terms: Sequence[Term]) -> bool:
    starts = set(places[0])
    for found, before in zip(places[1:], terms, strict=False):
        length = len(before.spellings[0])
        starts = {place + length for place in starts}.intersection(found)
        if not starts:
            return False
    return True


def _window(places: list[list[int]]) -> int:
    """The length of the shortest stretch in which every word occurs."""
    if len(places) == 2:
        return _gap(places[0], places[1])
    order = sorted((place, which) for which, found in enumerate(places) for place in found)
    inside = [0] * len(places)  # occurrences of each word between `left` and the current one
    missing = len(places)
    best = 1 << 30
    left = 0
    for place, which in order:
        missing -= not inside[which]
        inside[which] += 1
        while inside[order[left][1]] > 1:
            inside[order[left][1]] -= 1
            left += 1
        if not missing:
            best = min(best, place - order[left][0] + 1)
    return best


def _gap(one: list[int], two: list[int]) -> int:
    """The same for two words, in one pass over both lists."""
    best = 1 << 30
    i = j = 0
    while i < len(one) and j < len(two):
        distance = one[i] - two[j]
        if distance < 0:
            best = min(best, -distance)
            i += 1
        else:
            best = min(best, distance)
            j += 1
    return best + 1


def recency_weight(kind: str, at: int | None, now: int, *, is_aside: bool) -> float:
    """The weight of a text by its kind and age, regardless of its words."""
    weight = KIND_WEIGHT.get(kind, 0.5) * (ASIDE_WEIGHT if is_aside else 1.0)
    age = max(0, now - at) / _DAY if at is not None else 1000.0
    return weight * (1 - _AGE * (1 - math.pow(0.5, age / _HALF_LIFE_DAYS)))
