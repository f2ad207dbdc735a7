"""Tool calls one by one, each once, with what they were given: command lines, addresses and files, and what became of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients import client_of
from hansard.clients.entries import Called, Readable
from hansard.clients.tools import Fetch, Shell
from hansard.errors import StoreCorrupt
from hansard.model.permissions import DENIED
from hansard.query.language.options import report_query
from hansard.query.tool_calls import CallFilter, once
from hansard.query.transcripts import AGENT_OF_CALL
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.model.store_requests import AuditRequest
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_LONGEST_LINE = 16 << 20  # bytes that are read for one call
_READ = frozenset({"shell", "fetch"})  # kinds whose input is in the record only
_CALLS = (
    f"SELECT c.id, c.tool, c.ts, c.path, c.change, c.is_error, c.result_id IS NULL, {AGENT_OF_CALL}, coalesce(b.n, 0), r.length,"
    " p.kind, p.value FROM {calls} LEFT JOIN blocks b ON b.id = c.id"
    " LEFT JOIN records r ON r.id = c.id - coalesce(b.n, 0) LEFT JOIN permissions p ON p.id = c.result_id AND p.kind <> 'mode'"
    " WHERE {where} ORDER BY c.id"
)
_OF_ALL = f"tool_calls c NOT INDEXED CROSS JOIN transcripts t ON t.id = c.id >> {OFFSET_BITS}"
_OF_SESSIONS = (
    "json_each(?) w CROSS JOIN transcripts t ON t.session_id = w.value"
    f" CROSS JOIN tool_calls c ON c.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
)
_PARTS = "SELECT path, change FROM tool_calls WHERE id > ?1 AND id < ?1 + 10000 AND id - part = ?1 AND path IS NOT NULL"
_TRANSCRIPTS = "SELECT id, client, session_id, root, path, generation FROM transcripts"
_ONE_OF = " WHERE session_id IN (SELECT value FROM json_each(?))"


class Source(Struct, frozen=True):
    """The transcript that a call is in."""

    client: str
    session_id: str
    root: str
    path: str
    generation: int


class SeenCall(Struct, frozen=True, kw_only=True):
    """A call as an audit sees it."""

    source: Source
    agent_id: str
    tool: str
    kind: str
    at: int | None  # ms
    outcome: str
    decision: str | None  # allowed, denied
    decided_by: str | None
    is_error: bool
    offset: int
    block: int
    folder: str = ""  # the current directory that its line states
    command: str | None = None
    is_unsandboxed: bool = False
    url: str | None = None
    files: tuple[tuple[str, str], ...] = ()  # verbs and paths
    is_unread: bool = False  # its input could not be read


def read_calls(
    reader: Reader, record: Record, request: AuditRequest, sessions: Collection[str] | None = None
) -> Iterator[SeenCall]:
    """The calls of the sessions and the period that a request names, in the order of their transcripts; `sessions` are only these."""
    where, values = once(reader, CallFilter(report_query(request)))
    calls, only, named = _OF_ALL, "", tuple[str, ...]()
    if sessions is not None:
        calls, only, named = _OF_SESSIONS, _ONE_OF, (to_json(list(sessions)),)
    sources = {row[0]: Source(*row[1:]) for row in reader.rows(_TRANSCRIPTS + only, named)}
    inputs = _Inputs(record)
    for row in reader.rows(_CALLS.format(calls=calls, where=where), (*named, *values)):
        id_, tool, at, path, change, is_error, is_open, agent_id, number, length, decision, decider = row
        source = sources[id_ >> OFFSET_BITS]
        kind = client_of(source.client).tool_kind(tool)
        given = inputs.read(source.client, id_, number, length) if kind in _READ else None
        files = () if kind in _READ else _files(reader, id_, kind, path, change)
        yield SeenCall(
            source=source,
            agent_id=agent_id,
            tool=tool,
            kind=kind,
            at=at,
            outcome=_outcome(decision, decider, is_error=is_error, is_open=is_open),
            decision=decision,
            decided_by=decider,
            is_error=bool(is_error),
            offset=(id_ & OFFSET_MASK) - number,
            block=number,
            folder=given[1] if given is not None else "",
            command=given[0].command if given is not None and isinstance(given[0], Shell) else None,
            is_unsandboxed=given is not None and isinstance(given[0], Shell) and given[0].is_unsandboxed,
            url=given[0].url if given is not None and isinstance(given[0], Fetch) else None,
            files=files,
            is_unread=kind in _READ and given is None,
        )


def _outcome(decision: str | None, decider: str | None, *, is_error: int, is_open: int) -> str:
    if decision == DENIED:
        return "failed" if decider == "interrupted" else "denied"  # what was interrupted may have run in part
    return "unanswered" if is_open else "failed" if is_error else "done"


def _files(reader: Reader, id_: int, kind: str, path: str | None, change: str | None) -> tuple[tuple[str, str], ...]:
    if path is not None:
        return (("write" if change is not None or kind in ("write", "edit") else "read", path),)
    if kind in ("write", "edit"):
        return tuple(("write", part) for part, _ in reader.rows(_PARTS, (id_,)))
    return ()


class _Inputs:
    """Reads what calls were given; those of one line are next to each other."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._place: tuple[int, int] | None = None
        self._items: list[Readable] = []

    def read(self, client_name: str, id_: int, number: int, length: int | None) -> tuple[Any, str] | None:
        """The input in neutral terms, and the current directory of its line; None if the record does not give them."""
        if length is None:
            return None
        client = client_of(client_name)
        place = id_ >> OFFSET_BITS, (id_ & OFFSET_MASK) - number
        if place != self._place:
            self._place, self._items = place, []
            try:
                line = self._record.glimpse_line(*place, min(length, _LONGEST_LINE))
            except StoreCorrupt:
                return None
            found = client.entry_reader(is_agent=False).line(line, place[1])
            self._items = [item for item in found if isinstance(item, Readable)]
        for item in self._items:
            for part in item.parts():
                if isinstance(part, Called) and part.number == number:
                    return client.tool_use(part.tool, part.input(), "").input, item.cwd
        return None
