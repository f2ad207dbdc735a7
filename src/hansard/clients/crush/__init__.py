"""Crush keeps the sessions of a project in `.crush/crush.db` in it; a list of projects says where these are.

Tables that are read: `sessions` and `messages`. The tokens of a session are those of its last request, not a sum, so they are not
counted; what a session cost is a sum.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hansard.clients.database_client import ROWS, DatabaseClient
from hansard.clients.entries import Change, lines_of
from hansard.clients.generic import (
    CALL,
    IMAGE,
    RESULT,
    TEXT,
    THINKING,
    Block,
    Record,
    Replacement,
    Usage,
)
from hansard.clients.generic import Content as Written
from hansard.clients.row_logs import (
    Body,
    Content,
    RowLog,
    Unit,
    by_time,
    log_path,
    rows_info,
    text_of_cell,
    unit_id,
)
from hansard.clients.tools import Edit, Fetch, Read, Search, Shell, Spawn, Write, facts_of, text_of, tools_by_kind
from hansard.clients.values import milliseconds, unknown_kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.tools import ToolInput
    from hansard.model.tools import ToolKind
    from hansard.sources.foreign import ForeignDatabase

_SESSION = (
    "id parent_session_id title message_count prompt_tokens completion_tokens cost updated_at created_at summary_message_id"
    " todos"
).split()
_MESSAGE = ("id session_id role parts model provider created_at updated_at finished_at is_summary_message").split()
_STATE = (
    "WITH brief AS MATERIALIZED (SELECT session_id, updated_at AS time, octet_length(parts) AS size FROM messages)"
    " SELECT session_id, count(*), max(time), sum(size) FROM brief GROUP BY session_id"
)
_MOST_AGENTS = 200

_TOOLS: Mapping[str, ToolKind] = tools_by_kind(
    {
        "shell": "bash",
        "shell_output": "job_output job_kill",
        "read": "view",
        "write": "write",
        "edit": "edit multiedit",
        "search": "glob grep ls",
        "web_search": "sourcegraph",
        "fetch": "fetch agentic_fetch download",
        "spawn": "agent",
        "todo": "todos",
    }
)


class _Memory(Struct):
    """Calls that start subagents: their ids, with those of their messages."""

    agents: dict[str, str] = {}


_PARTS = frozenset("text reasoning binary image_url tool_call tool_result finish".split())


class Crush(DatabaseClient):
    """Crush."""

    name = "crush"
    speaker = "Crush"
    database = "crush.db"
    tables = ("sessions", "messages")
    other_tables = ("files", "read_files", "goose_db_version", "stats")
    memory = _Memory
    known_kinds = frozenset({"session", "update", "deleted"})
    tools = _TOOLS

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        data = environ.get("CRUSH_GLOBAL_DATA") or os.path.join(
            environ.get("XDG_DATA_HOME") or environ.get("LOCALAPPDATA") or os.path.join(home, ".local", "share"),
            "crush",
        )
        try:
            with open(os.path.join(data, "projects.json"), "rb") as file:
                listed = msgspec.json.decode(file.read(1 << 24))["projects"]
            places = [str(project["data_dir"]) for project in listed]
        except (OSError, msgspec.DecodeError, KeyError, TypeError):
            return []
        return [path for path in dict.fromkeys(places) if os.path.isabs(path) and self.open_root(path) is not None]

    def root_name(self, path: str) -> str:
        return f"crush-{os.path.basename(_project(path))}"

    def row_logs(self, path: str, place: str, database: ForeignDatabase | None) -> Iterator[RowLog]:  # noqa: ARG002
        if database is None:
            return
        columns = {
            table: [name for name in wanted if name in database.columns(table)]
            for table, wanted in (("sessions", _SESSION), ("messages", _MESSAGE))
        }
        if not all(columns.values()):
            database.require(tuple(columns))
            return
        states = {row[0]: row[1:] for row in database.rows(_STATE)}
        found = list(database.rows("SELECT id, parent_session_id, updated_at, title, cost FROM sessions"))
        ids = {row[0] for row in found}
        logs = []
        for id_, parent, *facts in found:
            state = states.get(id_, (0, 0, 0))
            is_agent = parent in ids and parent != id_
            updated = max(milliseconds(facts[0]) or 0, milliseconds(state[1]) or 0)
            units = partial(_units, database, columns, id_, place)
            names = (str(parent), str(id_)) if is_agent else (str(id_),)
            logs.append(RowLog(log_path(*names), updated, repr((facts, state)), units, is_agent))
        yield from by_time(logs)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        return _tool_input(tool, given)

    def decode(self, line: bytes) -> Iterable[Record]:
        return self.decode_next(line, _Memory())

    def decode_next(self, line: bytes, memory: Any) -> Iterator[Record]:
        said = msgspec.json.decode(line)
        if "sessions" in said:
            yield _session(said)
        elif "id" in said:
            yield _message(said["messages"], memory)
        else:
            yield Record("update" if "update" in said else "deleted")


def _units(database: ForeignDatabase, columns: dict[str, list[str]], session: str, place: str) -> Iterator[Unit]:
    names = columns["sessions"]
    row = next(database.cells("sessions", names, "WHERE id = ?", (session,)))
    body = Body().add("sessions", [(names, row)]).add_value("database", place)
    yield Unit("session", lambda: Content(body), is_fact=True)
    listed = "SELECT id, updated_at FROM messages WHERE session_id = ? ORDER BY created_at, rowid"
    for id_, _ in list(database.rows(listed, (session,))):
        yield Unit(unit_id(str(id_)), partial(_content, database, columns["messages"], id_))


def _content(database: ForeignDatabase, names: list[str], id_: str) -> Content:
    row = next(database.cells("messages", names, "WHERE id = ?", (id_,)))
    values = dict(zip(names, (value for _, value in row), strict=True))
    is_complete = values.get("role") != b"assistant" or values.get("finished_at") is not None
    return Content(Body().add("messages", [(names, row)]), is_complete)


def _project(data: str) -> str:
    """The directory of the project whose data this directory has."""
    return os.path.dirname(data) if os.path.basename(data) == ".crush" else data


def _session(said: dict[str, Any]) -> Record:
    row = said["sessions"]
    record = Record("session", title=row.get("title") or "", cwd=_project(os.path.dirname(said["database"])))
    if row.get("parent_session_id"):
        record.description = record.title
    elif row.get("cost"):  # which has that of its subagents
        record.usage = Usage("session", cost=round(row["cost"] * 1e9))
        record.ts = milliseconds(row.get("updated_at"))
    return record


def _message(row: dict[str, Any], memory: _Memory) -> Record:
    role, parts = row["role"], text_of_cell(row["parts"])
    record = Record("assistant" if role == "assistant" else "user", uuid=row["id"], ts=milliseconds(row["created_at"]))
    record.model = row.get("model") or ""
    if row.get("is_summary_message"):
        record.kind, record.role = "system", "summary"
    elif role == "assistant":
        record.role, record.ts = "reply", milliseconds(row.get("finished_at")) or record.ts
    elif role == "user":
        record.role = "prompt"
    record.unknown = unknown_kinds(parts, _PARTS)
    for part in parts:
        kind, data = part["type"], part["data"]
        if kind == "text" and data["text"]:
            record.blocks.append(Block(TEXT, data["text"]))
        elif kind == "reasoning" and data.get("thinking"):
            record.blocks.append(Block(THINKING, data["thinking"]))
        elif kind == "binary":
            record.blocks.append(Block(IMAGE, data.get("Data") or "", media_type=data.get("MIMEType") or ""))
        elif kind == "tool_call":
            record.blocks.append(_call(data))
            if data["name"] == "agent" and len(memory.agents) < _MOST_AGENTS:
                memory.agents[data["id"]] = row["id"]
        elif kind == "tool_result":
            record.blocks.append(_result(data, memory))
        elif kind == "finish" and data.get("reason") in ("error", "canceled") and not record.blocks:
            is_error = data["reason"] == "error"
            record.kind, record.role = ("assistant", "error") if is_error else ("system", "interruption")
            record.blocks.append(Block(TEXT, data.get("details") or data.get("message") or data["reason"]))
    return record


def _call(data: dict[str, Any]) -> Block:
    tool = data["name"]
    try:
        given = msgspec.json.decode(data["input"]) if data.get("input") else {}
    except msgspec.DecodeError:
        given = data["input"]
    block = Block(CALL, call_id=data["id"], tool=tool, input=given)
    if not isinstance(given, dict):
        return block
    block.path = text_of(given, "file_path")
    block.command = text_of(given, "command") if tool == "bash" else None
    block.description = text_of(given, "prompt")[:200] if tool == "agent" else ""
    changes: list[Change] = []
    if tool == "write":
        block.change, changes = "update", [Written(lines_of(text_of(given, "content")))]
    elif tool == "edit":
        block.change, changes = "edit", [Replacement(text_of(given, "old_string"), text_of(given, "new_string"))]
    elif tool == "multiedit":
        edits = given.get("edits") or ()
        block.change = "edit"
        changes = [Replacement(text_of(edit, "old_string"), text_of(edit, "new_string")) for edit in edits]
    block.changes = changes
    return block


def _result(data: dict[str, Any], memory: _Memory) -> Block:
    call = data["tool_call_id"]
    patch = ""
    if data.get("metadata"):
        try:
            patch = text_of(msgspec.json.decode(data["metadata"]), "diff")
        except (msgspec.DecodeError, AttributeError):
            patch = ""
    message = memory.agents.pop(call, "")
    agent = rows_info(f"{ROWS}/-/{log_path(f'{message}$${call}')}").agent_id if message else ""
    return Block(
        RESULT,
        data.get("content") or "",
        call_id=call,
        is_error=bool(data.get("is_error")),
        patch=patch,
        agent_id=agent,
    )


def _tool_input(tool: str, given: Any) -> ToolInput | None:
    if tool == "bash":
        return Shell(given["command"], text_of(given, "description"))
    if tool == "view":
        return Read(given["file_path"], facts_of(given, "offset", "limit"))
    if tool == "write":
        return Write(given["file_path"], given["content"])
    if tool == "edit":
        return Edit(given["file_path"], [(given["old_string"], given["new_string"])], facts_of(given, "replace_all"))
    if tool == "multiedit":
        return Edit(given["file_path"], [(edit["old_string"], edit["new_string"]) for edit in given["edits"]])
    if tool in ("glob", "grep", "ls"):
        return Search(text_of(given, "pattern") or text_of(given, "path"), facts_of(given, "path", "include"))
    if tool in ("fetch", "agentic_fetch", "download"):
        return Fetch(text_of(given, "url"), text_of(given, "prompt"))
    return Spawn(given["prompt"]) if tool == "agent" else None
