"""OpenCode's database: the sessions in it, their messages with parts, and nothing else.

Tables that are read: `session`, `message`, `part`, `todo`; of 2.0 `session_v2` and `session_message`. Never read: `account`,
`control_account`, `credential`, `session_share`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.opencode.session_messages import is_finished
from hansard.clients.row_logs import Body, Content, RowLog, Unit, by_time, fact, log_path, unit_id
from hansard.clients.values import string
from hansard.clients.values import table as table_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.sources.foreign import ForeignDatabase

_SESSION = (
    "id project_id workspace_id parent_id slug directory path title version share_url summary_additions summary_deletions"
    " summary_files summary_diffs metadata cost tokens_input tokens_output tokens_reasoning tokens_cache_read"
    " tokens_cache_write revert permission agent model time_created time_updated time_compacting time_archived"
).split()
_MESSAGE = "id session_id time_created time_updated data".split()
_COLUMNS = {
    "session": _SESSION,
    "session_v2": [*_SESSION, "fork_session_id", "fork_boundary", "time_suspended"],
    "message": _MESSAGE,
    "part": "id message_id session_id time_created time_updated data".split(),
    "session_message": "id session_id type seq time_created time_updated data".split(),
    "todo": "session_id content status priority position time_created time_updated".split(),
}
_SESSIONS = ("session", "session_v2")
REVERT = "revert-"
"""The beginning of the id of a unit that says from which message on a session was reverted."""
_NEEDED = ("session", "message", "part")
# Materialized, because a plain GROUP BY would sort the rows with their data.
_STATE = (
    "WITH brief AS MATERIALIZED (SELECT session_id, time_updated AS time, octet_length(data) AS size FROM {})"
    " SELECT session_id, count(*), max(time), sum(size) FROM brief GROUP BY session_id"
)
_DEEPEST = 20  # subagents of subagents


def database_logs(database: ForeignDatabase) -> Iterator[RowLog]:
    """The sessions, the one that changed last at the end."""
    columns = {
        table: [name for name in wanted if name in database.columns(table)] for table, wanted in _COLUMNS.items()
    }
    has_second = has_session_messages(database)
    if not has_second:
        columns["session_v2"] = columns["session_message"] = []
    if not all(columns[table] for table in _NEEDED) and not has_second:
        database.require(_NEEDED)
        return
    states = [
        {row[0]: row[1:] for row in database.rows(_STATE.format(table))}
        for table in ("message", "part", "session_message")
        if columns[table]
    ]
    # A session of 1.0 is in both tables after the change to 2.0, and then only the new one is kept up to date.
    tables: dict[str, str] = {}
    found: dict[str, tuple[Any, ...]] = {}
    for table in filter(columns.get, _SESSIONS):
        for id_, *row in database.rows(f"SELECT id, parent_id, time_updated, title FROM {table}"):
            tables[id_], found[id_] = table, (id_, *row)
    parents = {str(row[0]): str(row[1] or "") for row in found.values()}
    logs = []
    for id_, _, updated, title in found.values():
        of_rows = [state.get(id_, (0, 0, 0)) for state in states]
        newest = max(int(updated or 0), *(int(state[1] or 0) for state in of_rows))
        ids = ancestry(str(id_), parents)
        logs.append(
            RowLog(
                log_path(*ids),
                newest,
                repr((updated, title, of_rows)),
                partial(_units, database, columns, tables[id_], str(id_)),
                is_agent=len(ids) > 1,
            )
        )
    yield from by_time(logs)


def has_session_messages(database: ForeignDatabase) -> bool:
    """Whether messages are in the table of 2.0, with columns that are known; 1.0 made it too and used it for other things."""
    if not set(_COLUMNS["session_message"]).issubset(database.columns("session_message")):
        return False
    if (columns := database.columns("session_v2")) or not database.columns("message"):
        return {"id", "parent_id", "directory", "title", "time_updated"}.issubset(
            columns or database.columns("session")
        )
    return not any(database.rows("SELECT 1 FROM message LIMIT 1"))


def ancestry(id_: str, parents: dict[str, str]) -> list[str]:
    """The session that a person began and the one below it that this is; the session alone if it is that."""
    first = id_
    for _ in range(_DEEPEST):
        if not parents.get(first):
            break
        first = parents[first]
    return [first, id_] if first != id_ else [id_]


def _units(database: ForeignDatabase, columns: dict[str, list[str]], table: str, session: str) -> Iterator[Unit]:
    names = columns[table]
    yield fact("session", "session", ((names, row) for row in database.cells(table, names, "WHERE id = ?", (session,))))
    if columns["todo"]:
        rows = list(database.cells("todo", columns["todo"], "WHERE session_id = ? ORDER BY position", (session,)))
        if rows:
            yield fact("todo", "todo", ((columns["todo"], row) for row in rows), is_list=True)
    if columns["message"]:
        of_parts = dict(
            database.rows(
                "SELECT message_id, max(time_updated) FROM part WHERE session_id = ? GROUP BY message_id", (session,)
            )
        )
        messages = database.rows("SELECT id, time_updated FROM message WHERE session_id = ? ORDER BY id", (session,))
        for id_, updated in list(messages):
            newest = max(int(updated or 0), int(of_parts.get(id_) or 0))
            yield Unit(unit_id(str(id_)), partial(_message, database, columns, id_), newest)
    if columns["session_message"]:
        yield from _session_messages(database, columns, table, session)
    if "revert" in names:
        for (raw,) in list(database.rows(f"SELECT revert FROM {table} WHERE id = ?", (session,))):
            yield from _revert(raw)


def _session_messages(
    database: ForeignDatabase, columns: dict[str, list[str]], table: str, session: str
) -> Iterator[Unit]:
    """The rows of 2.0, except those that it made of messages of 1.0: these have their ids, or their times."""
    made = " AND m.id NOT IN (SELECT id FROM message WHERE session_id = ?1) AND (m.type <> 'synthetic'"
    made += " OR m.time_created NOT IN (SELECT time_created FROM message WHERE session_id = ?1))"
    sql = (
        "SELECT m.id, m.type, m.time_updated, iif(m.type = 'location-switched', m.data, NULL) FROM session_message m"
        f" WHERE m.session_id = ?1{made if columns['message'] else ''} ORDER BY m.seq"
    )
    rows = list(database.rows(sql, (session,)))
    moves = [_decoded(raw) for *_, raw in rows if raw is not None]
    (directory,) = next(database.rows(f"SELECT directory FROM {table} WHERE id = ?", (session,)))
    directory = _directory(moves[0].get("previous") if moves else None) or directory or ""
    for id_, kind, updated, raw in rows:
        directory = _directory(_decoded(raw)) or directory
        read = partial(_session_message, database, columns["session_message"], id_, kind, directory)
        yield Unit(unit_id(str(id_)), read, int(updated or 0))


def _directory(said: Any) -> str:
    """The directory that a session went to, or was in before."""
    return string(table_in(said, "location"), "directory")


def _session_message(database: ForeignDatabase, names: list[str], id_: Any, kind: str, directory: str) -> Content:
    rows = list(database.cells("session_message", names, "WHERE id = ?", (id_,)))
    body = Body().add("session_message", ((names, row) for row in rows)).add_value("directory", directory)
    data = rows[0][names.index("data")][1] if rows else b""
    return Content(body, is_finished(kind, _decoded(data)))


def _revert(raw: Any) -> Iterator[Unit]:
    """That messages were taken back, which are deleted only when the next prompt comes."""
    said = _decoded(raw)
    if isinstance(said.get("messageID"), str):
        shown = {name: said[name] for name in ("messageID", "partID") if isinstance(said.get(name), str)}
        body = Body().add_value("revert", shown)
        yield Unit(unit_id(f"{REVERT}{shown['messageID']}"), lambda: Content(body))


def _decoded(raw: Any) -> dict[str, Any]:
    """An object in a cell; an empty one where it has none."""
    try:
        said = msgspec.json.decode(raw) if isinstance(raw, (str, bytes)) else {}
    except msgspec.DecodeError:
        return {}
    return said if isinstance(said, dict) else {}


def _message(database: ForeignDatabase, columns: dict[str, list[str]], id_: str) -> Content:
    names, part_names = columns["message"], columns["part"]
    rows = list(database.cells("message", names, "WHERE id = ?", (id_,)))
    parts = list(database.cells("part", part_names, "WHERE message_id = ? ORDER BY id", (id_,)))
    body = Body().add("message", ((names, row) for row in rows))
    body.add("part", ((part_names, row) for row in parts), is_list=True)
    data = rows[0][names.index("data")][1] if rows else b""
    return Content(body, is_complete(data))


def is_complete(data: object) -> bool:
    """Whether a message will not change any more, but for what is written about it later."""
    try:
        said = msgspec.json.decode(data) if isinstance(data, bytes) else {}
        return said.get("role") != "assistant" or "completed" in said["time"] or bool(said.get("error"))
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        return True
