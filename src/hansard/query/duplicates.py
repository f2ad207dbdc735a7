"""Which tool calls repeat another: forks, replays, former generations and copies under another root have the same lines again.

A call is known by the API message that made it and by its own id, as the ledger counts it.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from hansard.query.reader import Reader
from hansard.storage.ids import OFFSET_BITS, OFFSET_MASK

SPOKEN = "SELECT transcript FROM sessions WHERE transcript IS NOT NULL UNION SELECT transcript FROM agents"
"""The transcripts that sessions and their subagents are read from."""

_REPEATED = (
    "SELECT c.id, c.tool_use_id, m.key, c.result_id IS NULL, c.ts FROM"
    " (SELECT tool_use_id FROM tool_calls GROUP BY tool_use_id HAVING count(*) > 1 AND tool_use_id <> '') d"
    " CROSS JOIN tool_calls c ON c.tool_use_id = d.tool_use_id LEFT JOIN messages m ON m.id = c.message_id"
)
_NEVER = 1 << 62
_known: WeakKeyDictionary[Reader, tuple[int, list[int]]] = WeakKeyDictionary()  # for a revision of the index


def find_copies(reader: Reader) -> list[int]:
    """The ids of calls that stand elsewhere too, without the one of each that lists show.

    That one has a result where any has, stands where its session is read, and is the original, or else the earliest: so it
    belongs to the session that the ledger counts it for, wherever that still has it.
    """
    row = reader.one("SELECT value FROM meta WHERE name = 'revision'")
    revision = int(row[0]) if row is not None else 0
    known = _known.get(reader)
    if known is None or known[0] != revision:
        known = _known[reader] = (revision, _find(reader))
    return known[1]


def _find(reader: Reader) -> list[int]:
    groups: dict[tuple[str, str | None], list[Any]] = {}
    for row in reader.rows(_REPEATED):
        groups.setdefault((row[1], row[2]), []).append(row)
    repeated = [group for group in groups.values() if len(group) > 1]
    if not repeated:
        return []
    spoken = {row[0] for row in reader.rows(SPOKEN)}
    places = {row[0]: row[1:] for row in reader.rows("SELECT id, copied, path, root FROM transcripts")}

    def rank(row: Any) -> tuple[Any, ...]:
        id_, _, _, is_open, ts = row
        transcript = id_ >> OFFSET_BITS
        copied, path, root = places[transcript]
        is_copy = id_ & OFFSET_MASK < copied
        return is_open, transcript not in spoken, is_copy, _NEVER if ts is None else ts, path, root, id_

    copies = []
    for group in repeated:
        shown = min(group, key=rank)[0]
        copies += [row[0] for row in group if row[0] != shown]
    return copies
