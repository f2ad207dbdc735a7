"""Tool calls over all sessions: by tool, by file, by time, each once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError
from hansard.model.calls import Call, CallPage
from hansard.model.time import from_milliseconds
from hansard.query.compile import CALLS, Compiler, Condition
from hansard.query.duplicates import SPOKEN, find_copies
from hansard.query.language.options import query_of
from hansard.query.reader import Reader, like
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.cursors import read_cursor, write_cursor

if TYPE_CHECKING:
    from hansard.model.requests import CallsRequest
    from hansard.query.language import Node

SORTS = {
    "newest": "coalesce(c.ts, -1)",
    "slowest": "coalesce(max(0, c.result_ts - c.ts), -1)",
}
_KINDS = {
    "all": "1",
    "changes": "c.change IS NOT NULL",
    "errors": "c.is_error = 1",
}
KINDS = tuple(_KINDS)
_DETAILS = (
    "SELECT c.id, c.tool, c.ts, c.path, c.change, c.added, c.removed, c.result_ts, c.is_error, c.result_id, c.tool_use_id,"
    " t.session_id, t.agent_id, t.root, t.path, t.generation, coalesce(s.title, ''), coalesce(s.project, t.project_dir),"
    f" coalesce(b.n, 0), t.id IN ({SPOKEN}) FROM tool_calls c CROSS JOIN transcripts t ON t.id = c.id >> {OFFSET_BITS}"
    " LEFT JOIN sessions s ON s.session_id = t.session_id LEFT JOIN blocks b ON b.id = c.id"
    " WHERE c.id IN (SELECT value FROM json_each(?))"
)


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which calls are wanted; everything given must hold."""

    query: Node | None = None
    kind: str = "all"  # one of KINDS
    name: str | None = None  # of the tool, exactly
    path: str | None = None  # this file
    text: str | None = None  # words, all of them in the path
    under: str | None = None  # the path begins with this

    def where(self, reader: Reader) -> tuple[str, list[Any]]:
        """A condition over `tool_calls c`, and its values."""
        if self.kind not in _KINDS:
            raise UsageError(f"{self.kind!r} is not a kind of call; choose one of {', '.join(_KINDS)}")
        terms = [Condition(_KINDS[self.kind])]
        if self.name is not None:
            terms.append(Condition("c.tool = ?", (self.name,)))
        if self.path is not None:
            terms.append(Condition("c.path = ?", (self.path,)))
        terms += [Condition("c.path LIKE ? ESCAPE '\\'", (like(word),)) for word in (self.text or "").split()]
        if self.under:
            terms.append(Condition("substr(c.path, 1, ?) = ?", (len(self.under), self.under)))
        asked = Compiler(reader, CALLS).condition(self.query)
        terms += [] if asked is None else [asked]
        return " AND ".join(term.sql for term in terms), [value for term in terms for value in term.values]


def once(reader: Reader, wanted: CallFilter) -> tuple[str, list[Any]]:
    """The condition of a filter, without calls that repeat another."""
    where, values = wanted.where(reader)
    copies = find_copies(reader)
    if copies:
        where += " AND c.id NOT IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(copies))
    return where, values


def list_calls(reader: Reader, request: CallsRequest) -> CallPage:
    """One page of calls, the newest first by default."""
    node = query_of(request, request.query)
    wanted = CallFilter(node, request.kind, request.name, text=request.text, under=request.under)
    return page_of_calls(reader, wanted, sort=request.sort, limit=request.limit, cursor=request.cursor)


def page_of_calls(
    reader: Reader,
    wanted: CallFilter,
    *,
    sort: str = "newest",
    limit: int | None = 50,
    cursor: str | None = None,
    total: int | None = None,
) -> CallPage:
    """One page of calls, the newest or the slowest first; they are counted unless it is known how many there are."""
    if sort not in SORTS:
        raise UsageError(f"cannot sort calls by {sort!r}; choose one of {', '.join(SORTS)}")
    if limit is not None and limit < 1:
        raise UsageError("a page has at least one call")
    where, values = once(reader, wanted)
    source = f"tool_calls c{'' if wanted.path is not None else ' NOT INDEXED'}"
    if total is None:
        total = int(reader.one(f"SELECT count(*) FROM {source} WHERE {where}", tuple(values))[0])
    key = SORTS[sort]
    if cursor is not None:
        where += f" AND ({key}, c.id) < (?, ?)"
        values += read_cursor(cursor, ["calls", sort], int, int)
    rows = list(
        reader.rows(
            f"SELECT c.id, {key} FROM {source} WHERE {where} ORDER BY 2 DESC, 1 DESC LIMIT ?",
            (*values, -1 if limit is None else limit + 1),
        )
    )
    more = limit is not None and len(rows) > limit
    rows = rows[:limit]
    found = {row[0]: _call(row) for row in reader.rows(_DETAILS, (json.dumps([row[0] for row in rows]),))}
    return CallPage(
        tuple(found[row[0]] for row in rows),
        write_cursor(["calls", sort], (rows[-1][1], rows[-1][0])) if more else None,
        total,
    )


def _call(row: Any) -> Call:
    (id_, tool, ts, path, change, added, removed, result_ts, is_error, result_id, tool_use_id, *rest) = row
    session_id, agent_id, root, transcript, generation, title, project, number, is_shown = rest
    return Call(
        tool=tool,
        at=from_milliseconds(ts),
        path=path,
        change=change,
        added=added,
        removed=removed,
        duration_ms=None if ts is None or result_ts is None else max(0, result_ts - ts),
        is_error=bool(is_error),
        has_result=result_id is not None,
        session_id=session_id,
        title=title,
        project=project,
        agent_id=agent_id,
        tool_use_id=tool_use_id,
        root=root,
        transcript=transcript,
        generation=generation,
        offset=(id_ & OFFSET_MASK) - number,
        block=number,
        is_shown=bool(is_shown),
    )
