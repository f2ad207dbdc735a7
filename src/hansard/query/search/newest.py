"""Matches by time, the newest first, whatever the order of ids: a file may have been copied, or gone on after later ones."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from hansard.query.reader import Reader
from hansard.query.search.blocks import TextBlock, describe
from hansard.query.search.candidates import Finder
from hansard.storage.ids import OFFSET_BITS

_FEW = 3000  # so many matches are all looked at
_OF_ONE = 20_000  # of one transcript
_APART = 5000  # titles and files

Recency = tuple[int, int]
"""When something was said, and its id."""


def newest(reader: Reader, finder: Finder, before: Recency | None, want: int) -> tuple[list[TextBlock], bool]:
    """So many matches before a place, and whether there are more."""
    ids = list(islice(finder.ids(), _FEW + 1))
    if len(ids) <= _FEW:
        found = _before(describe(reader, ids).values(), before)
        return found[:want], len(found) > want
    found = _before(describe(reader, list(islice(finder.apart(), _APART))).values(), before)
    for transcript, first, last in reader.rows(
        "SELECT id, coalesce(first_ts, 0), coalesce(last_ts, 0) FROM transcripts ORDER BY coalesce(last_ts, 0) DESC, id DESC"
    ):
        if len(found) > want and place_of(found[want])[0] > last:
            break  # nothing older can be among the wanted
        if before is not None and first > before[0]:
            continue
        known = {block.id for block in found}
        some = [
            id_
            for id_ in islice(finder.ids(transcript << OFFSET_BITS, transcript + 1 << 40), _OF_ONE)
            if id_ not in known
        ]
        found = _before([*found, *describe(reader, some).values()], before)
    return found[:want], len(found) > want


def place_of(block: TextBlock) -> Recency:
    """What matches are ordered by."""
    return block.at or 0, block.id


def _before(blocks: Iterable[TextBlock], before: Recency | None) -> list[TextBlock]:
    found = [block for block in blocks if before is None or place_of(block) < before]
    found.sort(key=place_of, reverse=True)
    return found
