"""Which blocks are worth reading: those that have the rarest words of the question, in the whole history.

The postings of each word are read from the rarest word on, up to a budget. A common word therefore adds to a score and
never decides which blocks are looked at. Blocks without any word that was read cannot score more than the words left out
are worth together; if that is enough to matter, the answer says so.
"""

from __future__ import annotations

import json
from heapq import nlargest
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.index.schema import SNAPSHOT_TEXT, TEXT_BITS
from hansard.query.search.candidates import TALK, TITLES, WORK, Finder, Part, block_ids, count_blocks, extrapolate
from hansard.query.search.ranking import rarity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.query.reader import Reader
    from hansard.query.recall.question import Asked

SEEDS = 40
"""Blocks that are read."""

_BUDGET = {TALK: 10_000, WORK: 10_000, TITLES: 1_000}  # postings
_WEIGHTS = {TALK: 1.0, WORK: 0.8, TITLES: 1.0}
_SAMPLE = 60
_SIZED = 1000  # of the best, whose lengths are looked up
_SATURATION, _LENGTH, _AVERAGE, _LONGEST = 1.2, 0.75, 100, 500


class Candidates(Struct):
    """Blocks to read, best first."""

    blocks: list[int]
    rest: float  # what blocks that were not considered could be worth at most
    unknown: float  # what a word is worth that does not occur


def find_candidates(reader: Reader, finder: Finder, asked: Sequence[Asked]) -> Candidates:
    """The blocks with the most of the question's words, by their rarity; sets what each word is worth."""
    rows = count_blocks(reader)
    scores: dict[int, float] = {}
    rest = 0.0
    spent = dict.fromkeys(_BUDGET, 0)
    for often, word in sorted(((_estimate(reader, finder, one), one) for one in asked), key=lambda pair: pair[0]):
        found: dict[Part, list[int]] = {}
        if not scores or often <= sum(_BUDGET.values()) - sum(spent.values()):
            found = {part: finder.having(word.match, part, most - spent[part]) for part, most in _BUDGET.items()}
        is_whole = bool(found) and all(spent[part] + len(ids) < _BUDGET[part] for part, ids in found.items())
        word.worth = word.share * rarity(sum(map(len, found.values())) if is_whole else often, rows)
        if not is_whole:
            rest += word.worth
            if scores:
                spent = dict(_BUDGET)  # all further words are more common
                continue
        for part, ids in found.items():
            spent[part] += len(ids)
            worth = word.worth * _WEIGHTS[part]
            for row_id in ids:
                scores[row_id] = scores.get(row_id, 0.0) + worth
    best = nlargest(_SIZED, scores, key=lambda row_id: (scores[row_id], row_id))
    lengths = _lengths(reader, best)
    for row_id in best:
        length = min(lengths.get(row_id, _AVERAGE), _LONGEST)
        scores[row_id] /= 1 + _SATURATION * (1 - _LENGTH + _LENGTH * length / _AVERAGE)
    blocks = block_ids(reader, best)
    best.sort(key=lambda row_id: (-scores[row_id], -row_id))
    return Candidates([blocks[row_id] for row_id in best], rest, rarity(0, rows))


def _estimate(reader: Reader, finder: Finder, word: Asked) -> float:
    """About how many blocks have a word: by how far back its newest uses reach."""
    newest = reader.one("SELECT max(id) FROM transcripts")[0] or 1
    found = 0.0
    for part in (TALK, WORK):
        ids = [row_id for row_id in finder.having(word.match, part, _SAMPLE) if row_id < SNAPSHOT_TEXT]
        found += len(ids) if len(ids) < _SAMPLE else extrapolate(len(ids), ids[-1] >> TEXT_BITS, newest)
    return found


def _lengths(reader: Reader, ids: Sequence[int]) -> dict[int, int]:
    """How many words blocks have, as FTS5 keeps it: a variable-length number."""
    found: dict[int, int] = {}
    wanted = json.dumps(list(ids))
    for part in (TALK, WORK):
        for row_id, sizes in reader.rows(
            f"SELECT d.id, d.sz FROM json_each(?) v CROSS JOIN full.{part.table}_docsize d ON d.id = v.value", (wanted,)
        ):
            length = 0
            for byte in sizes:
                length = length << 7 | byte & 0x7F
                if byte < 0x80:
                    break
            found[row_id] = length
    return found
