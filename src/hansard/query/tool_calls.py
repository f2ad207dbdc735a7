"""Tool calls across all sessions, each once, and the files they changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from hansard.errors import NotFound, UsageError
from hansard.model.calls import Call, CallPage, ChangedFile, ChangedFolder, FileHistory, FilePage, FolderPage
from hansard.model.requests import CallsRequest, FileHistoryRequest, FilesRequest, FolderRequest
from hansard.model.time import from_milliseconds
from hansard.query.compile import CALLS, Compiler, Condition, touches
from hansard.query.duplicates import SPOKEN, find_copies
from hansard.query.language.options import query_of, report_query, split_fields
from hansard.query.reader import Reader, like
from hansard.query.transcripts import AGENT_OF_CALL
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.cursors import read_cursor, write_cursor
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.query.language import Node

SORTS = {"newest": "coalesce(c.ts, -1)", "slowest": "coalesce(max(0, c.result_ts - c.ts), -1)"}
_KINDS = {"all": "1", "changes": "c.change IS NOT NULL", "errors": "c.is_error = 1"}
KINDS = tuple(_KINDS)
_DETAILS = (
    "SELECT c.id, c.tool, c.ts, c.path, c.change, c.added, c.removed, c.result_ts, c.is_error, c.result_id, o.tool_use_id,"
    f" t.session_id, {AGENT_OF_CALL}, c.part, t.root, t.path, t.generation, coalesce(s.title, ''), coalesce(s.project, t.project_dir),"
    f" coalesce(b.n, 0), t.id IN ({SPOKEN}) FROM tool_calls c CROSS JOIN tool_calls o ON o.id = c.id - c.part CROSS JOIN transcripts t ON t.id = c.id >> {OFFSET_BITS}"
    " LEFT JOIN sessions s ON s.session_id = t.session_id LEFT JOIN blocks b ON b.id = c.id"
    " WHERE c.id IN (SELECT value FROM json_each(?))"
)


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which calls to list; all given conditions must hold.

    A call that changes several files has a row for each of them, which is chosen where files are listed.
    """

    query: Node | None = None
    kind: str = "all"  # one of KINDS
    name: str | None = None  # exact name of the tool
    path: str | None = None  # this file
    text: str | None = None  # words that must all be in the path
    under: str | None = None  # the path begins with this
    by_file: bool = False  # list files, not calls

    def where(self, reader: Reader) -> tuple[str, list[Any]]:
        """A condition over `tool_calls c` and its values."""
        if self.kind not in _KINDS:
            raise UsageError(f"{self.kind!r} is not a kind of call; choose one of {', '.join(_KINDS)}")
        is_file = self.by_file or self.path is not None
        terms = [Condition(_KINDS[self.kind]), Condition("c.path IS NOT NULL" if is_file else "c.part = 0")]
        if self.name is not None:
            terms.append(Condition("c.tool = ?", (self.name,)))
        if self.path is not None:
            terms.append(Condition("c.path = ?", (self.path,)))
        files = [Condition("c.path LIKE ? ESCAPE '\\'", (like(word),)) for word in (self.text or "").split()]
        if self.under:
            files.append(Condition("substr(c.path, 1, ?) = ?", (len(self.under), self.under)))
        terms += files if is_file else [touches(file.sql, *file.values) for file in files]
        asked = Compiler(reader, CALLS).condition(self.query)
        terms += [] if asked is None else [asked]
        return " AND ".join(term.sql for term in terms), [value for term in terms for value in term.values]


def once(reader: Reader, wanted: CallFilter) -> tuple[str, list[Any]]:
    """The condition of a filter, excluding duplicate calls."""
    where, values = wanted.where(reader)
    copies = find_copies(reader)
    if copies:
        where += " AND c.id NOT IN (SELECT value FROM json_each(?))"
        values.append(to_json(copies))
    return where, values


def list_calls(reader: Reader, request: CallsRequest) -> CallPage:
    """One page of calls, newest first by default."""
    wanted = CallFilter(report_query(request), request.kind, request.name, text=request.text, under=request.under)
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
    """One page of calls, newest or slowest first; they are counted unless the total is given."""
    if sort not in SORTS:
        raise UsageError(f"cannot sort calls by {sort!r}; choose one of {', '.join(SORTS)}")
    if limit is not None and limit < 1:
        raise UsageError("the limit must be at least 1")
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
    found = {row[0]: _call(row) for row in reader.rows(_DETAILS, (to_json([row[0] for row in rows]),))}
    return CallPage(
        tuple(found[row[0]] for row in rows),
        write_cursor(["calls", sort], (rows[-1][1], rows[-1][0])) if more else None,
        total,
    )


def _call(row: Any) -> Call:
    (id_, tool, ts, path, change, added, removed, result_ts, is_error, result_id, tool_use_id, *rest) = row
    session_id, agent_id, part, root, transcript, generation, title, project, number, is_shown = rest
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
        block=number - part,
        is_shown=bool(is_shown),
    )


FILE_SORTS = {"last": "last", "changes": "changes", "lines": "added + removed", "sessions": "sessions", "path": "path"}
_MOST_ENTRIES = 300  # entries of a folder
# SQLite guarantees that the session beside a single max() comes from the row with the latest time.
_FILES = (
    "WITH files AS MATERIALIZED (SELECT c.path AS path, count(*) AS changes, sum(c.added) AS added, sum(c.removed) AS removed,"
    " count(DISTINCT t.session_id) AS sessions, max(coalesce(c.ts, -1)) AS last, t.session_id AS session_id"
    f" FROM tool_calls c NOT INDEXED CROSS JOIN transcripts t ON t.id = c.id >> {OFFSET_BITS}"
    " WHERE {where} GROUP BY c.path)"
)
_FILE_COLUMNS = (
    "path, coalesce((SELECT s.project FROM sessions s WHERE s.session_id = f.session_id), ''), changes, added, removed,"
    " sessions, last, session_id"
)


def list_files(reader: Reader, request: FilesRequest) -> FilePage:
    """One page of the files that tool calls changed, last changed first by default."""
    sort, limit = request.sort, request.limit
    if sort not in FILE_SORTS:
        raise UsageError(f"cannot sort files by {sort!r}; choose one of {', '.join(FILE_SORTS)}")
    if limit is not None and limit < 1:
        raise UsageError("the limit must be at least 1")
    ascending = sort == "path" if request.ascending is None else request.ascending
    where, values = _changes(reader, request)
    key, listed = FILE_SORTS[sort], ["files", sort, ascending]
    after = "1"
    if request.cursor is not None:
        value, path = read_cursor(request.cursor, listed, str if sort == "path" else int, str)
        after = f"({key} {'>' if ascending else '<'} ? OR ({key} = ? AND path > ?))"
        values += [value, value, path]
    rows = list(
        reader.rows(
            f"{_FILES.format(where=where)}, totals AS (SELECT count(*), sum(changes), sum(added), sum(removed) FROM files)"
            f" SELECT * FROM totals LEFT JOIN (SELECT {_FILE_COLUMNS}, {key} FROM files f WHERE {after}"
            f" ORDER BY {key} {'ASC' if ascending else 'DESC'}, path LIMIT ?)",
            (*values, -1 if limit is None else limit + 1),
        )
    )
    total, changes, added, removed = (number or 0 for number in rows[0][:4])
    found = [row[4:] for row in rows if row[4] is not None]
    more = limit is not None and len(found) > limit
    found = found[:limit]
    return FilePage(
        tuple(map(_file, found)),
        write_cursor(listed, (found[-1][-1], found[-1][0])) if more else None,
        total,
        changes,
        added,
        removed,
    )


def _changes(reader: Reader, request: FilesRequest | FolderRequest) -> tuple[str, list[Any]]:
    fields, words = split_fields(request.text)
    query = query_of(request, fields)
    return once(reader, CallFilter(query, "changes", text=words, under=request.under, by_file=True))


def _file(row: Any) -> ChangedFile:
    path, project, changes, added, removed, sessions, last, session_id = row[:8]
    return ChangedFile(path, project, changes, added, removed, sessions, _time(last), session_id)


def list_folder(reader: Reader, request: FolderRequest) -> FolderPage:
    """Folders and files in the folder `under`, last changed first; by default, in the deepest folder that holds them all."""
    where, values = _changes(reader, request)
    query = _FILES.format(where=where)
    start = request.under or ""
    if not start:
        range_ = f"SELECT min(c.path), max(c.path) FROM tool_calls c NOT INDEXED WHERE {where}"
        first, last = reader.one(range_, tuple(values))
        start = _folder(first or "", last or "")
    # The part of each path after `start` up to the next slash or backslash; a file name has none.
    rest = f"replace(substr(path, {len(start) + 1}), '\\', '/')"
    rows = list(
        reader.rows(
            f"{query} SELECT {_FILE_COLUMNS}, entry, min(path), max(path), count(*), sum(changes), sum(added), sum(removed),"
            f" max(last) FROM (SELECT *, substr({rest}, 1, instr({rest}, '/')) AS entry FROM files) f"
            " GROUP BY entry, CASE entry WHEN '' THEN path END ORDER BY max(last) DESC, min(path)",
            tuple(values),
        )
    )
    shown = rows[:_MOST_ENTRIES]
    return FolderPage(
        start,
        tuple(_of_folder(row) for row in shown if row[8]),
        tuple(_file(row) for row in shown if not row[8]),
        len(rows),
        len(rows) > len(shown),
    )


def _of_folder(row: Any) -> ChangedFolder:
    _, first, last, files, changes, added, removed, at = row[8:]
    return ChangedFolder(_folder(first, last), files, changes, added, removed, _time(at))


def _folder(first: str, last: str) -> str:
    """The folder that holds everything sorted between two paths, with its trailing slash; empty if there is none."""
    common = commonprefix([first, last])  # noqa: RUF071 - the letters, cut at a slash
    return common[: max(common.rfind("/"), common.rfind("\\")) + 1]


def read_history(reader: Reader, request: FileHistoryRequest) -> FileHistory:
    """What was done to a file, newest first; `reads` also lists calls that did not change it."""
    wanted = CallFilter(query_of(request), path=request.path)
    where, values = once(reader, wanted)
    row = reader.one(
        "SELECT count(*), count(c.change), sum(c.added), sum(c.removed),"
        " count(DISTINCT iif(c.change IS NULL, NULL, t.session_id)),"
        " min(iif(c.change IS NULL, NULL, c.ts)), max(iif(c.change IS NULL, NULL, c.ts))"
        f" FROM tool_calls c CROSS JOIN transcripts t ON t.id = c.id >> {OFFSET_BITS} WHERE {where}",
        tuple(values),
    )
    calls, changes, added, removed, sessions, first_at, last_at = row
    if not calls:
        raise NotFound(f"no tool call names the file {request.path}")
    listed, total = ("all", calls) if request.reads else ("changes", changes)
    page = page_of_calls(reader, replace(wanted, kind=listed), limit=request.limit, cursor=request.cursor, total=total)
    newest = page.calls or page_of_calls(reader, wanted, limit=1).calls
    return FileHistory(
        path=request.path,
        project=newest[0].project,
        changes=changes,
        reads=calls - changes,
        added=added,
        removed=removed,
        sessions=sessions,
        first_at=from_milliseconds(first_at),
        last_at=from_milliseconds(last_at),
        page=page,
    )


def _time(value: int) -> Any:
    return from_milliseconds(value) if value >= 0 else None
