"""`hansard team sessions`: the sessions of all machines that the caller may read, each once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.errors import Ambiguous, NotFound, UsageError
from hansard.model.names import shortest_names
from hansard.model.sessions import Session, Tagged
from hansard.query.compile import SESSIONS
from hansard.query.language.options import query_of
from hansard.query.reader import like
from hansard.query.sessions import SORTS
from hansard.storage.cursors import read_cursor, write_cursor
from hansard.storage.sqlite import from_json
from hansard.team.compile import TeamCompiler
from hansard.team.reader import TeamReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.model.requests import SessionsRequest
    from hansard.team.connect import Database

_SORTS = {name: sql.removesuffix(" COLLATE NOCASE") for name, sql in SORTS.items()} | {"cost": "cost_usd"}
_TEXTS = frozenset({"title", "project"})
_TIMES = frozenset({"ended", "started"})
_PLAIN = tuple(
    name
    for name in Session.__struct_fields__
    if name not in ("project_dir", "debris", "pinned", "tags", "notes", "pinned_messages")
)
"""Columns of the view that are fields of a session under the same name."""
_LISTS = frozenset({"models", "branches", "versions", "unpriced_models", "pull_requests"})
_MAY_LACK = frozenset(
    {"started_at", "ended_at", "cost_usd", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"}
)  # any other null is a text of a project that is not opened


_LISTED = {"model": "models", "branch": "branches", "version": "versions"}
_COUNTED = {
    "project": "SELECT project, count(*) FROM sessions WHERE NOT is_empty GROUP BY 1",
    "tool": "SELECT tool, count(*) FROM tool_calls GROUP BY 1",
    "agent": "SELECT agent_type, count(*) FROM agents GROUP BY 1",
    "tag": "SELECT value, count(DISTINCT session_id) FROM remarks WHERE kind = 'tag' GROUP BY 1",
}


class TeamSession(Session, frozen=True, kw_only=True):
    """A session of a team. Texts are empty unless its project is opened."""

    machine: str
    person: str


class TeamSessionPage(Struct, frozen=True):
    """One page of sessions."""

    sessions: tuple[TeamSession, ...]
    next_cursor: str | None
    total: int


def list_sessions(
    database: Database, request: SessionsRequest, *, machine: str | None = None, person: str | None = None
) -> TeamSessionPage:
    """One page of the sessions that the caller may read, newest first by default."""
    if request.sort not in _SORTS:
        raise UsageError(f"cannot sort by {request.sort!r}; choose one of {', '.join(_SORTS)}")
    if request.limit is not None and request.limit < 1:
        raise UsageError("the limit must be at least 1; leave it out to get every session")
    reader = TeamReader(database)
    where, values = _where(reader, request)
    for column, name in (("machine", machine), ("person", person)):
        if name is not None:
            where += f" AND strpos({column}, ?) > 0"
            values += (name,)
    key, is_text = _key(request.sort)
    ascending = request.sort in _TEXTS if request.ascending is None else request.ascending
    inside, placed = where, values
    if request.cursor is not None:
        value, session_id = read_cursor(request.cursor, ["team", request.sort], (int, float, str), str)
        at = "?" if is_text else "?::numeric"
        inside += f" AND ({key} {'>' if ascending else '<'} {at} OR ({key} = {at} AND session_id > ?))"
        placed = (*values, *((value if is_text else str(value),) * 2), session_id)
    rows = list(
        reader.rows(
            f"SELECT {_columns(key)} FROM sessions WHERE {inside}"
            f" ORDER BY {key} {'ASC' if ascending else 'DESC'}, session_id LIMIT {'ALL' if request.limit is None else request.limit + 1}",
            placed,
        )
    )
    more = request.limit is not None and len(rows) > request.limit
    rows = rows[: request.limit]
    total = reader.one(f"SELECT count(*) FROM sessions WHERE {where}", values)[0]
    remarks = _remarks(reader, [row[5] for row in rows])
    found = tuple(_session(row, remarks.get(row[5], [])) for row in rows)
    return TeamSessionPage(
        found, write_cursor(["team", request.sort], (rows[-1][4], rows[-1][5])) if more else None, total
    )


def read_session(database: Database, name: str) -> TeamSession:
    """The session with this id, or the only one whose id begins like this."""
    reader = TeamReader(database)
    known = "session_id ILIKE ? ESCAPE '\\'"
    rows = list(
        reader.rows(
            f"SELECT {_columns('NULL')} FROM sessions WHERE {known} ORDER BY session_id = ? DESC, session_id LIMIT 2",
            (like(name)[1:], name),
        )
    )
    if not name or not rows:
        raise NotFound(f"no session {name!r} that you may read")
    if len(rows) > 1 and rows[0][5] != name:
        raise Ambiguous(f"several sessions begin with {name!r}: give more of the id")
    return _session(rows[0], _remarks(reader, [rows[0][5]]).get(rows[0][5], []))


def list_tags(database: Database) -> list[Tagged]:
    """All tags with their number of sessions."""
    rows = TeamReader(database).rows(
        "SELECT value, count(DISTINCT session_id) FROM remarks WHERE kind = 'tag' GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return [Tagged(tag, sessions) for tag, sessions in rows]


def list_values(database: Database, field: str, most: int) -> list[str]:
    """Values of a field of the query language, the most frequent first; none for other fields."""
    found: Counter[str] = Counter()
    if field in _LISTED:
        for value, count in TeamReader(database).rows(f"SELECT {_LISTED[field]}, count(*) FROM sessions GROUP BY 1"):
            found.update(dict.fromkeys(from_json(value) if value else (), count))
    elif field in _COUNTED:
        found.update(dict(TeamReader(database).rows(_COUNTED[field])))
    return [value for value, _ in found.most_common(most) if value]


def project_names(database: Database) -> dict[str, str]:
    """The display name of each project: its shortest unique suffix."""
    return shortest_names(row[0] or "" for row in TeamReader(database).rows("SELECT DISTINCT project FROM sessions"))


def _columns(key: str) -> str:
    return f"machine, person, is_empty, is_pinned, {key}::text, {', '.join(_PLAIN)}"


def _key(sort: str) -> tuple[str, bool]:
    """What to order by, never null, and whether it is text."""
    if sort in _TEXTS:
        return f"lower(coalesce({_SORTS[sort]}, ''))", True
    if sort in _TIMES:
        return f"coalesce(extract(epoch FROM {_SORTS[sort]}), 0)", False
    return f"coalesce({_SORTS[sort]}, 0)::numeric", False


def _where(reader: TeamReader, request: SessionsRequest) -> tuple[str, tuple[Any, ...]]:
    if request.fuzzy or request.within is not None or request.around is not None:
        raise UsageError("a team's database lists sessions by query and text only")
    terms = [] if request.debris else ["NOT is_empty"]
    values: tuple[Any, ...] = ()
    for word in (request.text or "").split():
        terms.append("(title ILIKE ? ESCAPE '\\' OR first_prompt ILIKE ? ESCAPE '\\')")
        values += (like(word),) * 2
    asked = TeamCompiler(reader, SESSIONS).condition(query_of(request, request.query))
    if asked is not None:
        terms.append(asked.sql)
        values += asked.values
    return " AND ".join(terms) or "true", values


def _remarks(reader: TeamReader, session_ids: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for session_id, kind, value in reader.rows(
        "SELECT DISTINCT session_id, kind, coalesce(value, '') FROM remarks WHERE session_id = ANY (?) ORDER BY 1, 2, 3",
        (list(session_ids),),
    ):
        found.setdefault(session_id, []).append((kind, value))
    return found


def _session(row: Any, remarks: list[tuple[str, str]]) -> TeamSession:
    machine, person, is_empty, is_pinned, _, *values = row
    known = dict(zip(_PLAIN, values, strict=True))
    for name, value in known.items():
        if name in _LISTS:
            known[name] = tuple(from_json(value)) if value else ()
        elif value is None and name not in _MAY_LACK:
            known[name] = ""
    return TeamSession(
        **known,
        project_dir="",
        debris=is_empty,
        pinned=is_pinned,
        tags=tuple(value for kind, value in remarks if kind == "tag"),
        notes=tuple(value for kind, value in remarks if kind == "note"),
        pinned_messages=tuple(value for kind, value in remarks if kind == "pin" and value),
        machine=machine,
        person=person,
    )
