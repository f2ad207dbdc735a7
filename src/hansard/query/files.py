"""Files that tool calls changed: all of them, those in a folder, and everything that was done to one."""

from __future__ import annotations

from dataclasses import replace
from os.path import commonprefix
from typing import Any

from hansard.errors import NotFound, UsageError
from hansard.model.calls import ChangedFile, ChangedFolder, FileHistory, FilePage, FolderPage
from hansard.model.requests import FileHistoryRequest, FilesRequest, FolderRequest
from hansard.model.time import from_milliseconds
from hansard.query.language.options import query_of
from hansard.query.reader import Reader
from hansard.query.tool_calls import CallFilter, once, page_of_calls
from hansard.storage import OFFSET_BITS
from hansard.storage.cursors import read_cursor, write_cursor

SORTS = {
    "last": "last",
    "changes": "changes",
    "lines": "added + removed",
    "sessions": "sessions",
    "path": "path",
}
_MOST = 300  # entries of a folder
# The session beside the greatest time is the one of that row: SQLite promises it for a single max().
_FILES = (
    "WITH files AS MATERIALIZED (SELECT c.path AS path, count(*) AS changes, sum(c.added) AS added, sum(c.removed) AS removed,"
    " count(DISTINCT t.session_id) AS sessions, max(coalesce(c.ts, -1)) AS last, t.session_id AS session_id"
    f" FROM tool_calls c NOT INDEXED CROSS JOIN transcripts t ON t.id = c.id >> {OFFSET_BITS}"
    " WHERE {where} AND c.path IS NOT NULL GROUP BY c.path)"
)
_COLUMNS = (
    "path, coalesce((SELECT s.project FROM sessions s WHERE s.session_id = f.session_id), ''), changes, added, removed,"
    " sessions, last, session_id"
)


def list_files(reader: Reader, request: FilesRequest) -> FilePage:
    """One page of the files that tool calls changed, the last changed first by default."""
    sort, limit = request.sort, request.limit
    if sort not in SORTS:
        raise UsageError(f"cannot sort files by {sort!r}; choose one of {', '.join(SORTS)}")
    if limit is not None and limit < 1:
        raise UsageError("a page has at least one file")
    ascending = sort == "path" if request.ascending is None else request.ascending
    where, values = _changes(reader, request)
    key, listed = SORTS[sort], ["files", sort, ascending]
    after = "1"
    if request.cursor is not None:
        value, path = read_cursor(request.cursor, listed, str if sort == "path" else int, str)
        after = f"({key} {'>' if ascending else '<'} ? OR ({key} = ? AND path > ?))"
        values += [value, value, path]
    rows = list(
        reader.rows(
            f"{_FILES.format(where=where)}, totals AS (SELECT count(*), sum(changes), sum(added), sum(removed) FROM files)"
            f" SELECT * FROM totals LEFT JOIN (SELECT {_COLUMNS}, {key} FROM files f WHERE {after}"
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
    return once(reader, CallFilter(query_of(request), "changes", text=request.text, under=request.under))


def _file(row: Any) -> ChangedFile:
    path, project, changes, added, removed, sessions, last, session_id = row[:8]
    return ChangedFile(path, project, changes, added, removed, sessions, _time(last), session_id)


def list_folder(reader: Reader, request: FolderRequest) -> FolderPage:
    """The folders and files in the folder `under`, the last changed first; by default in the deepest folder that holds all of them."""
    where, values = _changes(reader, request)
    query = _FILES.format(where=where)
    start = request.under or ""
    if not start:
        range_ = f"SELECT min(c.path), max(c.path) FROM tool_calls c NOT INDEXED WHERE {where}"
        first, last = reader.one(range_, tuple(values))
        start = _folder(first or "", last or "")
    # Of each path, what follows `start` up to the next slash of either kind; a file's own name has none.
    rest = f"replace(substr(path, {len(start) + 1}), '\\', '/')"
    rows = list(
        reader.rows(
            f"{query} SELECT {_COLUMNS}, entry, min(path), max(path), count(*), sum(changes), sum(added), sum(removed),"
            f" max(last) FROM (SELECT *, substr({rest}, 1, instr({rest}, '/')) AS entry FROM files) f"
            " GROUP BY entry, CASE entry WHEN '' THEN path END ORDER BY max(last) DESC, min(path)",
            tuple(values),
        )
    )
    shown = rows[:_MOST]
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
    """The folder that holds everything between two paths in order, with the slash behind it; empty where there is none."""
    common = commonprefix([first, last])  # noqa: RUF071 - the letters, cut at a slash
    return common[: max(common.rfind("/"), common.rfind("\\")) + 1]


def read_history(reader: Reader, request: FileHistoryRequest) -> FileHistory:
    """What was done to a file, the newest first; `reads` also lists calls that did not change it."""
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
