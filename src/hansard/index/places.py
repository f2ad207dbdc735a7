"""The rowids of the full text: the number of each text in its transcript, which takes less space in the index than a block's id.

`doc = transcript << 24 | number`, in the order of the ids; `places` has the id of each. A snapshot's text has the same id and rowid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.index.schema import SNAPSHOT_TEXT, TEXT_BITS, TEXT_MASK
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

# A binary search: the numbers of a transcript's texts have no gaps.
_FIRST = """
WITH RECURSIVE among (low, high, middle_id) AS (
    SELECT ?1, ifnull(max(doc) + 1, ?1), NULL FROM {places} WHERE doc BETWEEN ?1 AND ?2
    UNION ALL
    SELECT low, high, (SELECT id FROM {places} WHERE doc = (low + high) / 2) FROM among WHERE middle_id IS NULL AND low < high
    UNION ALL
    SELECT iif(middle_id < ?3, (low + high) / 2 + 1, low), iif(middle_id < ?3, high, (low + high) / 2), NULL FROM among
    WHERE middle_id IS NOT NULL
)
SELECT low FROM among WHERE low = high LIMIT 1
"""


def first_doc(run: Callable[[str, tuple[int, ...]], Iterable[Any]], id_: int, places: str = "places") -> int:
    """The rowid of the first text of a block with this id or a higher one of the same transcript."""
    if id_ >= SNAPSHOT_TEXT:
        return id_
    low = id_ >> OFFSET_BITS << TEXT_BITS
    if not id_ & OFFSET_MASK:
        return low
    ((doc,),) = run(_FIRST.format(places=places), (low, low | TEXT_MASK, id_))
    return int(doc)
