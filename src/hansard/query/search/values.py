"""What the fields of a query can be asked for in a history: for completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.query.reader import Reader

# Each gives a value and how much there is of it.
_LISTS = {
    "project": "SELECT project, max(ended_at) FROM sessions WHERE debris = 0 AND project <> '' GROUP BY 1",
    "tool": "SELECT tool, count(*) FROM session_tools GROUP BY 1",
    "model": "SELECT m.value, count(*) FROM sessions, json_each(models) m WHERE m.value <> '' GROUP BY 1",
    "branch": "SELECT b.value, max(ended_at) FROM sessions, json_each(branches) b WHERE b.value <> '' GROUP BY 1",
    "version": "SELECT v.value, max(ended_at) FROM sessions, json_each(versions) v WHERE v.value <> '' GROUP BY 1",
    "agent": "SELECT agent_type, count(*) FROM agents WHERE agent_type <> '' GROUP BY 1",
    "tag": "SELECT value, count(DISTINCT session_id) FROM remarks WHERE kind = 'tag' GROUP BY folded",
}


def list_values(reader: Reader, field: str, limit: int) -> list[str]:
    """Values of a field, the most useful first: the most frequent, or the latest; none for a field that takes any text."""
    sql = _LISTS.get(field)
    return [] if sql is None else [row[0] for row in reader.rows(f"{sql} ORDER BY 2 DESC, 1 LIMIT ?", (limit,))]
