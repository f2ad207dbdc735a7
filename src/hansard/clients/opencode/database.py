"""OpenCode's database: the sessions in it, their messages with parts, and nothing else.

Tables that are read: `session`, `message`, `part`, `todo`. Never read: `account`, `control_account`, `credential`, `session_share`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.row_logs import Body, Content, RowLog, Unit, by_time, fact, log_path, unit_id

if TYPE_CHECKING:
    from hansard.sources.foreign import ForeignDatabase

_SESSION = (
    "id project_id workspace_id parent_id slug directory path title version share_url summary_additions summary_deletions"
    " summary_files summary_diffs metadata cost tokens_input tokens_output tokens_reasoning tokens_cache_read"
    " tokens_cache_write revert permission agent model time_created time_updated time_compacting time_archived"
).split()
_MESSAGE = "id session_id time_created time_updated data".split()
_PART = "id message_id session_id time_created time_updated data".split()
_TODO = "session_id content status priority position time_created time_updated".split()
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
        table: [name for name in wanted if name in database.columns(table)]
        for table, wanted in (("session", _SESSION), ("message", _MESSAGE), ("part", _PART), ("todo", _TODO))
    }
    if not all(columns[table] for table in _NEEDED):
        database.require(_NEEDED)
        return
    states = [{row[0]: row[1:] for row in database.rows(_STATE.format(table))} for table in ("message", "part")]
    found = list(database.rows("SELECT id, parent_id, time_updated, title FROM session"))
    parents = {str(row[0]): str(row[1] or "") for row in found}
    logs = []
    for id_, _, updated, title in found:
        of_rows = [state.get(id_, (0, 0, 0)) for state in states]
        newest = max(int(updated or 0), *(int(state[1] or 0) for state in of_rows))
        ids = ancestry(str(id_), parents)
        logs.append(
            RowLog(
                log_path(*ids),
                newest,
                repr((updated, title, of_rows)),
                partial(_units, database, columns, str(id_)),
                is_agent=len(ids) > 1,
            )
        )
    yield from by_time(logs)


def ancestry(id_: str, parents: dict[str, str]) -> list[str]:
    """The session that a person began and the one below it that this is; the session alone if it is that."""
    first = id_
    for _ in range(_DEEPEST):
        if not parents.get(first):
            break
        first = parents[first]
    return [first, id_] if first != id_ else [id_]


def _units(database: ForeignDatabase, columns: dict[str, list[str]], session: str) -> Iterator[Unit]:
    names = columns["session"]
    yield fact(
        "session", "session", ((names, row) for row in database.cells("session", names, "WHERE id = ?", (session,)))
    )
    if columns["todo"]:
        rows = list(database.cells("todo", columns["todo"], "WHERE session_id = ? ORDER BY position", (session,)))
        if rows:
            yield fact("todo", "todo", ((columns["todo"], row) for row in rows), is_list=True)
    of_parts = dict(
        database.rows(
            "SELECT message_id, max(time_updated) FROM part WHERE session_id = ? GROUP BY message_id", (session,)
        )
    )
    messages = database.rows("SELECT id, time_updated FROM message WHERE session_id = ? ORDER BY id", (session,))
    for id_, updated in list(messages):
        newest = max(int(updated or 0), int(of_parts.get(id_) or 0))
        yield Unit(unit_id(str(id_)), partial(_message, database, columns, id_), newest)
    if "revert" in names:
        for (raw,) in list(database.rows("SELECT revert FROM session WHERE id = ?", (session,))):
            yield from _revert(raw)


def _revert(raw: Any) -> Iterator[Unit]:
    """That messages were taken back, which are deleted only when the next prompt comes."""
    try:
        said = msgspec.json.decode(raw) if isinstance(raw, str) else {}
    except msgspec.DecodeError:
        return
    if isinstance(said, dict) and isinstance(said.get("messageID"), str):
        shown = {name: said[name] for name in ("messageID", "partID") if isinstance(said.get(name), str)}
        body = Body().add_value("revert", shown)
        yield Unit(unit_id(f"{REVERT}{shown['messageID']}"), lambda: Content(body))


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
