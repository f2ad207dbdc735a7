"""What is in the tables of a record and not in its chain of revisions: something other than Hansard put it there."""

from __future__ import annotations

from typing import NamedTuple

from hansard.record.schema import CHUNK

_BYTES = """\
SELECT f.path, g.id, iif(e.size IS NULL, 'no revision stored it', printf('no revision stored its bytes from %d on', e.size))
FROM generation g JOIN file f ON f.id = g.file_id
LEFT JOIN (SELECT ref, max(revision_id), size FROM entry WHERE kind = 'log' GROUP BY ref) e ON e.ref = g.id
WHERE e.size IS NOT g.size"""

# The check of a log reads its chunks one after the other, and would not come upon these.
_CHUNKS = f"""\
SELECT f.path, c.generation_id, printf('no revision stored the chunk that begins at byte %d', c.start)
FROM chunk c LEFT JOIN generation g ON g.id = c.generation_id LEFT JOIN file f ON f.id = g.file_id
WHERE g.id IS NULL OR c.start % {CHUNK} <> 0"""

_SNAPSHOTS = """\
SELECT f.path, NULL, printf('no revision stored snapshot %d', s.id) FROM snapshot s JOIN file f ON f.id = s.file_id
WHERE s.id NOT IN (SELECT ref FROM entry WHERE kind = 'snapshot')"""

_REMARKS = """\
SELECT NULL, NULL, printf('no revision stored remark %d', id) FROM remark
WHERE id NOT IN (SELECT ref FROM entry WHERE kind = 'remark')
UNION ALL SELECT NULL, NULL, printf('no revision marked remark %d as removed', id) FROM remark
WHERE removed_at IS NOT NULL AND id NOT IN (SELECT ref FROM entry WHERE kind = 'removed')"""

_RECEIPTS = """\
SELECT NULL, NULL, printf('no revision stored receipt %d', id) FROM erasure
WHERE id NOT IN (SELECT ref FROM entry WHERE kind = 'receipt')"""

_MARKERS = """\
SELECT NULL, NULL, printf('no revision put markers into %s %d', kind, ref) FROM blank
WHERE (kind || ' markers', ref) NOT IN (SELECT kind, ref FROM entry WHERE kind LIKE '% markers') GROUP BY kind, ref"""

_ERASED = """\
SELECT NULL, NULL, printf('%s %d is there although it was erased in revision %d', t.kind, t.id, e.revision_id) FROM entry e
JOIN (SELECT 'snapshot' AS kind, id FROM snapshot UNION ALL SELECT 'remark', id FROM remark) t
ON e.kind = 'erased ' || t.kind AND e.ref = t.id"""

_ENTRIES = """\
SELECT NULL, NULL, printf('%s %d has an entry in revision %d, which does not exist', kind, ref, revision_id) FROM entry
WHERE revision_id NOT IN (SELECT id FROM revision)"""

QUERIES = (_BYTES, _CHUNKS, _SNAPSHOTS, _REMARKS, _RECEIPTS, _MARKERS, _ERASED, _ENTRIES)
"""Path, generation and reason. Each looks at one moment, because a sync may be writing."""


class Unchained(NamedTuple):
    """Something in the tables that no revision has."""

    path: str | None
    generation: int | None
    reason: str
