"""Goose keeps sessions in `sessions.db`, and kept them in `NAME.jsonl` before, which stay when they were taken over.

Tables that are read: `sessions` and `messages`. Goose counts the tokens of a session as a whole.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.database_client import DatabaseClient
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
from hansard.clients.lines import REFUSED
from hansard.clients.row_logs import (
    Body,
    Content,
    RowLog,
    Unit,
    by_time,
    fact,
    log_path,
    text_of_cell,
)
from hansard.clients.state import digest
from hansard.clients.tools import Edit, Read, Shell, Write, text_of, tools_by_kind
from hansard.clients.values import milliseconds, unknown_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hansard.clients.tools import ToolInput
    from hansard.model.tools import ToolKind
    from hansard.sources.foreign import ForeignDatabase
    from hansard.sources.roots import Root

_DATABASE = "sessions.db"
_SESSION = (
    "id name description user_set_name session_type working_dir created_at updated_at total_tokens input_tokens"
    " output_tokens accumulated_total_tokens accumulated_input_tokens accumulated_output_tokens accumulated_cost"
    " schedule_id recipe_json user_recipe_values_json provider_name model_config_json archived_at project_id"
).split()
_MESSAGE = "id message_id session_id role content_json created_timestamp timestamp tokens metadata_json".split()
_STATE = (
    "WITH brief AS MATERIALIZED (SELECT session_id, id, octet_length(content_json) AS size FROM messages)"
    " SELECT session_id, count(*), max(id), sum(size) FROM brief GROUP BY session_id"
)
_EDITOR = "developer__text_editor"

_TOOLS: Mapping[str, ToolKind] = tools_by_kind(
    {
        "shell": "developer__shell shell",
        "edit": f"{_EDITOR} developer__edit edit",
        "write": "developer__write write",
        "todo": "todo__todo_write todo__todo_read",
        "spawn": "subagent__execute_task dynamic_task__create_task",
    }
)


_PARTS = frozenset(
    "text thinking reasoning redactedThinking image toolRequest frontendToolRequest toolResponse toolConfirmationRequest"
    " contextLengthExceeded summarizationRequested conversationCompacted systemNotification actionRequired".split()
)


class Goose(DatabaseClient):
    """Goose."""

    name = "goose"
    speaker = "Goose"
    database = _DATABASE
    tables = ("sessions", "messages")
    other_tables = ("schema_version",)
    tools = _TOOLS
    known_kinds = frozenset({"session", "update", "deleted"})

    def tool_kind(self, tool: str) -> ToolKind:
        """Tools of other extensions are called EXTENSION__TOOL."""
        return self.tools.get(tool, "other")

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        own = environ.get("GOOSE_PATH_ROOT")
        places = [os.path.join(own, "data")] if own else []
        if not own:
            data = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
            places.append(os.path.join(data, "goose"))
            if environ.get("APPDATA"):
                places.append(os.path.join(environ["APPDATA"], "Block", "goose", "data"))
        return [path for place in places if self.open_root(path := os.path.join(place, "sessions")) is not None]

    def open_root(self, path: str) -> Root | None:
        real = os.path.realpath(os.path.expanduser(path))
        is_usual = os.path.basename(real) == "sessions" and "goose" in os.path.dirname(real).lower()
        has_database = os.path.isfile(os.path.join(real, _DATABASE))
        try:
            names = sorted(name for name in os.listdir(real) if name.endswith(".jsonl") and name[0] != ".")
        except OSError:
            return None
        if not has_database and not (is_usual and names):
            return None
        return self.root_of(real, self.layout_of([*([_DATABASE] if has_database else ()), *names]))

    def database_rank(self, path: str) -> int:
        """The database has taken over the files."""
        return int(path != _DATABASE)

    def row_logs(self, path: str, place: str, database: ForeignDatabase | None) -> Iterator[RowLog]:
        if database is None:
            yield _file_log(path, place)
            return
        columns = {
            table: [name for name in wanted if name in database.columns(table)]
            for table, wanted in (("sessions", _SESSION), ("messages", _MESSAGE))
        }
        if not all(columns.values()):
            database.require(tuple(columns))
            return
        states = {row[0]: row[1:] for row in database.rows(_STATE)}
        names = columns["sessions"]
        logs = []
        for row in database.cells("sessions", names):
            values = dict(zip(names, (value for _, value in row), strict=True))
            id_ = (values["id"] or b"").decode(errors="replace")
            updated = milliseconds(_text(values.get("updated_at"))) or 0
            stamp = repr((values, states.get(id_)))
            logs.append(RowLog(log_path(id_), updated, stamp, partial(_units, database, columns, id_, row)))
        yield from by_time(logs)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        return _tool_input(tool, given)

    def decode(self, line: bytes) -> Iterator[Record]:
        said = msgspec.json.decode(line)
        if "sessions" in said:
            yield _session(said["sessions"])
        elif "id" in said:
            yield _message(said["messages"])
        else:
            yield Record("update" if "update" in said else "deleted")


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def _units(database: ForeignDatabase, columns: dict[str, list[str]], session: str, row: Any) -> Iterator[Unit]:
    yield fact("session", "sessions", [(columns["sessions"], row)])
    names = columns["messages"]
    rest = "WHERE session_id = ? ORDER BY created_timestamp, id"
    seen: dict[str, int] = {}
    for cells in database.cells("messages", names, rest, (session,)):
        values = dict(zip(names, (value for _, value in cells), strict=True))
        yield Unit(_unique(_identity(values), seen), _reader(Body().add("messages", [(names, cells)])))


def _reader(body: Body) -> Callable[[], Content]:
    return lambda: Content(body)


def _identity(row: Mapping[str, Any]) -> str:
    """What a message has in common with itself when Goose writes the session anew, with new numbers."""
    if row.get("message_id"):
        return _text(row["message_id"])
    content = row.get("content_json")
    said = content if isinstance(content, bytes) else b"".join(content or ())
    return digest(f"{row.get('role')!r} {row.get('created_timestamp')!r} {said!r}")


def _unique(id_: str, seen: dict[str, int]) -> str:
    seen[id_] = number = seen.get(id_, 0) + 1
    return id_ if number == 1 else f"{id_}#{number}"


def _file_log(path: str, place: str) -> RowLog:
    status = os.stat(place)
    return RowLog(
        log_path(path.removesuffix(".jsonl")),
        status.st_mtime_ns // 1_000_000,
        repr((status.st_size, status.st_mtime_ns)),
        partial(_file_units, place),
    )


def _file_units(place: str) -> Iterator[Unit]:
    """The lines of an older session: what is known of it, and its messages."""
    seen: dict[str, int] = {}
    with open(place, "rb") as file:
        for number, line in enumerate(file):
            try:
                said = msgspec.json.decode(line)
            except REFUSED:
                if not line.endswith(b"\n"):  # the next one is being written
                    return
                said = {"id": f"line-{number}", "role": ""}
            if isinstance(said, dict) and "role" not in said:
                names = ("description", "working_dir", "accumulated_input_tokens", "accumulated_output_tokens", "data")
                cells = [("text", said.get(name)) for name in names[:-1]]
                yield fact("session", "sessions", [(names, [*cells, ("text", line.rstrip(b"\n"))])])
            else:
                id_ = said.get("id") if isinstance(said, dict) else None
                body = Body().add("messages", [(("data",), [("text", line.rstrip(b"\n"))])])
                yield Unit(_unique(str(id_ or digest(repr(said))), seen), _reader(body))


def _session(row: dict[str, Any]) -> Record:
    record = Record("session", title=row.get("name") or row.get("description") or "", cwd=row.get("working_dir") or "")
    given = row.get("accumulated_input_tokens") or 0
    made = row.get("accumulated_output_tokens") or 0
    if given or made:
        config = text_of_cell(row.get("model_config_json") or "{}")
        record.usage = Usage("session", config.get("model_name") or "", given, made)
        record.ts = milliseconds(row.get("updated_at") or "")
    return record


def _message(row: dict[str, Any]) -> Record:
    if "data" in row:
        said = text_of_cell(row["data"])
        role, items, created = said["role"], said["content"], said.get("created")
    else:
        role, items, created = row["role"], text_of_cell(row["content_json"]), row["created_timestamp"]
    record = Record("assistant" if role == "assistant" else "user", ts=milliseconds(created))
    record.uuid = f"goose-{digest(repr((role, created, items)))}"
    record.blocks = [block for item in items if (block := _block(item)) is not None]
    record.unknown = unknown_kinds(items, _PARTS)
    if role == "assistant":
        record.role = "reply"
    elif any(block.kind in (TEXT, IMAGE) for block in record.blocks):
        record.role = "prompt"
    return record


def _block(item: dict[str, Any]) -> Block | None:
    kind = item["type"]
    if kind == "text":
        return Block(TEXT, item["text"])
    if kind in ("thinking", "reasoning"):
        return Block(THINKING, item.get("thinking") or item.get("text") or "")
    if kind == "image":
        return Block(IMAGE, item["data"], media_type=item.get("mimeType") or "")
    if kind in ("toolRequest", "frontendToolRequest"):
        return _call(item)
    if kind == "toolResponse":
        result = item["toolResult"]
        value = result.get("value")
        contents = value.get("content") or () if isinstance(value, dict) else value or ()
        text = "\n".join(part["text"] for part in contents if isinstance(part, dict) and part.get("type") == "text")
        is_error = result.get("status") == "error" or (isinstance(value, dict) and bool(value.get("isError")))
        return Block(RESULT, text or str(result.get("error") or ""), call_id=item["id"], is_error=is_error)
    return None


def _call(item: dict[str, Any]) -> Block:
    call = item["toolCall"]
    value = call.get("value") or {}
    tool, given = value.get("name") or "invalid", value.get("arguments") or {}
    block = Block(CALL, call_id=item["id"], tool=tool, input=given)
    block.path = text_of(given, "path") or text_of(given, "file_path")
    block.command = text_of(given, "command") if tool.endswith("shell") else None
    changes: list[Change] = []
    command = text_of(given, "command") if tool == _EDITOR else tool.rpartition("__")[2]
    if command == "write":
        block.change, changes = "update", [Written(lines_of(text_of(given, "file_text") or text_of(given, "content")))]
    elif command in ("str_replace", "edit_file", "edit"):
        old = text_of(given, "old_str") or text_of(given, "before")
        block.change, changes = "edit", [Replacement(old, text_of(given, "new_str") or text_of(given, "after"))]
    elif command == "insert":
        block.change, changes = "edit", [Replacement("", text_of(given, "new_str"))]
    block.changes = changes
    return block


def _tool_input(tool: str, given: Any) -> ToolInput | None:
    if tool.endswith("shell"):
        return Shell(given["command"])
    command = given.get("command") if tool == _EDITOR else tool.rpartition("__")[2]
    if command == "view":
        return Read(given["path"])
    if command == "write":
        return Write(given["path"], text_of(given, "file_text") or text_of(given, "content"))
    if command in ("str_replace", "edit"):
        pair = (
            text_of(given, "old_str") or text_of(given, "before"),
            text_of(given, "new_str") or text_of(given, "after"),
        )
        return Edit(given["path"], [pair])
    return None
