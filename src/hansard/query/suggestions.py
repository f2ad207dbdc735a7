"""Values in the history for completion: of command arguments by prefix, and of query fields."""

from __future__ import annotations

from hansard.errors import UsageError
from hansard.query.reader import Reader, like

_NEWEST = "ORDER BY max(coalesce(ended_at, 0)) DESC"
_VALUES = {
    "project": f"SELECT project, count(*) FROM sessions WHERE project <> '' GROUP BY project {_NEWEST}",
    "model": f"SELECT value, count(*) FROM sessions, json_each(models) GROUP BY value {_NEWEST}",
    "branch": f"SELECT value, count(*) FROM sessions, json_each(branches) GROUP BY value {_NEWEST}",
    "version": f"SELECT value, count(*) FROM sessions, json_each(versions) GROUP BY value {_NEWEST}",
    "client": f"SELECT client, count(*) FROM sessions GROUP BY client {_NEWEST}",
    "tool": "SELECT tool, count(*) FROM session_tools GROUP BY tool ORDER BY count(*) DESC, tool",
    "tag": "SELECT value, count(*) FROM remarks WHERE kind = 'tag' GROUP BY value ORDER BY count(*) DESC, value",
}
KINDS = ("session", *_VALUES)


def suggest(reader: Reader, kind: str, beginning: str, limit: int) -> list[tuple[str, str]]:
    """Values with this prefix, each with a description: a session's title, or how many sessions have it."""
    if kind not in KINDS:
        raise UsageError(f"no suggestions for {kind!r}; choose one of {', '.join(KINDS)}")
    if kind == "session":
        rows = reader.rows(
            "SELECT session_id, title FROM sessions WHERE debris = 0 AND session_id LIKE ? ESCAPE '\\'"
            " ORDER BY coalesce(ended_at, 0) DESC, session_id LIMIT ?",
            (like(beginning)[1:], limit),
        )
        return [(session_id, title) for session_id, title in rows]
    found: dict[str, str] = {}
    for value, count in reader.rows(_VALUES[kind]):
        for name in _names(kind, value):
            if name.casefold().startswith(beginning.casefold()) and name not in found:
                found[name] = value if name != value else f"{count:,} session{'s' * (count != 1)}"
                break
    return list(found.items())[:limit]


def _names(kind: str, value: str) -> tuple[str, ...]:
    """The names a value can be completed from: a project's folder name or its path, a model with or without its maker."""
    if kind == "model":
        return value, value.partition("-")[2]
    if kind != "project":
        return (value,)
    return value.replace("\\", "/").rstrip("/").rpartition("/")[2] or value, value


# Each selects a value and its count.
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
    """Values of a field, most useful first: the most frequent, or the latest; none for a free-text field."""
    sql = _LISTS.get(field)
    return [] if sql is None else [row[0] for row in reader.rows(f"{sql} ORDER BY 2 DESC, 1 LIMIT ?", (limit,))]
