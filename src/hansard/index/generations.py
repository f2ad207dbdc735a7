"""Which generation of a rewritten file is read.

Clients only append, also when they compact or rewind, so a file that was cut or rewritten met an accident, an editor or a tool
that syncs folders. Of the generations that belong to one session the one with the most conversation is read: the most distinct
records, by uuid. That is the one which has more that the other lacks than the other has that it lacks, for any two of them, so the
order in which they are compared does not matter. A later generation that goes on from all of an earlier one therefore wins, and of
equals the latest, which may be a deliberate edit. Generations that name different sessions, as when a saved stream is written
over, are all read.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from hansard.index.links import reorder_shared, touch_titled
from hansard.storage import OFFSET_BITS

if TYPE_CHECKING:
    from hansard.index.sql import Sql

# Every generation of a file that has several is former (rewritten) or not the first.
_SEVERAL = (
    "SELECT t.session_id, t.root, t.path, t.generation, t.id, t.current FROM {} t"
    " WHERE (t.generation > 1 OR t.state = 'rewritten') AND {}"
)
_CHANGED = _SEVERAL.format("dirty d CROSS JOIN transcripts", "t.session_id = d.session_id")
_WITHOUT_SESSION = _SEVERAL.format("transcripts", "t.session_id = ''")
# Rows of whole lines never change, so only those that came since the last time are looked at.
_COUNT = (
    "UPDATE transcripts SET counted = indexed, unique_records = iif(kind = 'history', records, unique_records +"
    " (SELECT count(DISTINCT r.uuid) FILTER (WHERE NOT EXISTS (SELECT 1 FROM records o WHERE o.uuid = r.uuid"
    f" AND o.id >= ?1 << {OFFSET_BITS} AND o.id < (?1 << {OFFSET_BITS}) + counted)) + count(*) - count(r.uuid) FROM records r"
    f" WHERE r.id >= (?1 << {OFFSET_BITS}) + counted AND r.id < (?1 << {OFFSET_BITS}) + indexed)) WHERE id = ?1 RETURNING unique_records"
)


def choose_generations(db: Sql) -> None:
    """Set `current` for the rewritten files of sessions that are behind; only what grew since the last time is counted again."""
    rows = sorted([*db.execute(_CHANGED).fetchall(), *db.execute(_WITHOUT_SESSION).fetchall()])
    for _, group in groupby(rows, key=lambda row: row[:3]):
        former: dict[int, int] = {}
        sizes: dict[int, int] = {}
        for *_, transcript, current in group:
            former[transcript] = current
            sizes[transcript] = db.execute(_COUNT, (transcript,)).fetchall()[0][0]
        best = max(sizes, key=lambda transcript: (sizes[transcript], transcript))
        for transcript, current in former.items():
            if current != (transcript == best):
                db.execute("UPDATE transcripts SET current = 1 - current WHERE id = ?", (transcript,))
                reorder_shared(db, transcript)
                touch_titled(db, transcript)
