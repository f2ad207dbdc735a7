"""Zed keeps the threads of its own agent in `threads.db`, each as one JSON document, mostly compressed.

Each message of a document becomes a line, and the rest of it a fact. Zed counts the tokens of a thread as a whole, and notes no times
of messages. The threads of other agents in Zed are stored by these.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.database_client import DatabaseClient
from hansard.clients.entries import hunks_of
from hansard.clients.generic import CALL, IMAGE, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.lines import REFUSED
from hansard.clients.row_logs import (
    Body,
    Content,
    RowLog,
    Unit,
    by_time,
    log_path,
    unit_id,
)
from hansard.clients.tools import Fetch, Query, Read, Search, Shell, text_of, tools_by_kind
from hansard.clients.values import milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.tools import ToolInput
    from hansard.model.tools import ToolKind
    from hansard.sources.foreign import ForeignDatabase

_FACTS = "id parent_id summary updated_at created_at folder_paths folder_paths_order data_type".split()
_LARGEST = 256 << 20  # bytes of a document
_TOOLS: Mapping[str, ToolKind] = tools_by_kind(
    {
        "shell": "terminal",
        "read": "read_file",
        "edit": "edit_file",
        "write": "write_file create_file",
        "search": "grep find_path list_directory",
        "fetch": "fetch",
        "web_search": "web_search",
        "spawn": "spawn_agent",
        "todo": "update_plan",
    }
)
_WRITES = frozenset({"edit_file", "write_file", "create_file"})


_PARTS = frozenset("Text Image Mention Thinking RedactedThinking ToolUse".split())


class Zed(DatabaseClient):
    """Zed's own agent."""

    name = "zed"
    speaker = "Zed"
    database = "threads.db"
    tables = ("threads",)
    tools = _TOOLS
    known_kinds = frozenset({"thread", "resume", "update", "deleted"})

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        data = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
        places = [os.path.join(data, "zed"), os.path.join(home, "Library", "Application Support", "Zed")]
        if environ.get("LOCALAPPDATA"):
            places.append(os.path.join(environ["LOCALAPPDATA"], "Zed"))
        return [path for place in places if self.open_root(path := os.path.join(place, "threads")) is not None]

    def row_logs(self, path: str, place: str, database: ForeignDatabase | None) -> Iterator[RowLog]:  # noqa: ARG002
        if database is None:
            return
        columns = database.columns("threads")
        if not {"id", "updated_at", "data_type", "data"} <= set(columns):
            database.require(("threads",))
            return
        parent = "parent_id" if "parent_id" in columns else "NULL"
        logs = []
        names = [name for name in _FACTS if name in columns]
        for id_, updated, above, size in database.rows(
            f"SELECT id, updated_at, {parent}, octet_length(data) FROM threads"
        ):
            ids = (str(above), str(id_)) if above and above != id_ else (str(id_),)
            units = partial(_units, database, names, str(id_))
            stamp = repr((updated, size))
            logs.append(RowLog(log_path(*ids), milliseconds(str(updated)) or 0, stamp, units, len(ids) > 1))
        yield from by_time(logs)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        kind = _TOOLS.get(tool)
        if kind == "shell":
            return Shell(given["command"])
        if kind == "read":
            return Read(given["path"])
        if kind == "search":
            return Search(next(given[name] for name in ("regex", "glob", "path") if given.get(name)))
        if kind == "fetch":
            return Fetch(given["url"])
        return Query(given["query"]) if kind == "web_search" else None

    def decode(self, line: bytes) -> Iterator[Record]:
        said = msgspec.json.decode(line)
        if "id" in said:
            yield _message(said["id"], said["message"]["value"])
        elif "threads" in said:
            if "thread" not in said:
                raise ValueError("the content of the thread cannot be read")
            yield _facts(said["threads"], said["thread"]["value"])
        else:
            yield Record("update" if "update" in said else "deleted")


def _units(database: ForeignDatabase, names: list[str], id_: str) -> Iterator[Unit]:
    document = _document(database, id_)
    names = names if document is not None else [*names, "data"]
    row = next(database.cells("threads", names, "WHERE id = ?", (id_,)))
    facts = Body().add("threads", [(names, row)])
    messages: list[msgspec.Raw] = []
    if document is not None:
        messages = msgspec.json.decode(document.pop("messages", b"[]"), type=list[msgspec.Raw])
        facts.add("thread", [(("value",), [("text", msgspec.json.encode(document))])])
    yield Unit("thread", partial(Content, facts), is_fact=True)
    for number, raw in enumerate(messages):
        said = msgspec.json.decode(raw)
        own = said.get("User", said).get("id") if isinstance(said, dict) and "Agent" not in said else None
        body = Body().add("message", [(("value",), [("text", bytes(raw))])])
        is_complete = number < len(messages) - 1 or _is_answered(said)
        yield Unit(unit_id(f"{number}-{own}" if own is not None else str(number)), partial(Content, body, is_complete))


def _document(database: ForeignDatabase, id_: str) -> dict[str, msgspec.Raw] | None:
    """A thread; None if it cannot be read."""
    for (kind, data_type), (_, value) in database.cells("threads", ["data_type", "data"], "WHERE id = ?", (id_,)):
        if kind != "text" or value is None or isinstance(value, (int, float)):
            continue
        data = value if isinstance(value, bytes) else b"".join(value)
        if data_type == b"zstd":
            import io

            import zstandard

            try:
                data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read(_LARGEST)
            except zstandard.ZstdError:
                return None
        try:
            return msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        except REFUSED:
            return None
    return None


def _is_answered(said: Any) -> bool:
    """Whether all calls of a message have their results."""
    agent = said.get("Agent") if isinstance(said, dict) else None
    if not isinstance(agent, dict):
        return True
    calls = {part["ToolUse"].get("id") for part in agent.get("content") or () if "ToolUse" in part}
    return calls <= set(agent.get("tool_results") or ())


def _facts(row: dict[str, Any], thread: dict[str, Any]) -> Record:
    title = thread.get("title") or row.get("summary") or ""
    record = Record("thread", title=title, cwd=str(row.get("folder_paths") or "").split("\n")[0])
    record.ts = milliseconds(row.get("updated_at") or "")
    tokens = thread.get("cumulative_token_usage") or {}
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    given, made, read, written = (tokens.get(name) or 0 for name in names)
    if given or made or read or written:
        record.usage = Usage("thread", (thread.get("model") or {}).get("model") or "", given, made, read, written)
    if row.get("parent_id"):
        record.description = title
    return record


def _message(id_: str, said: Any) -> Record:
    if isinstance(said, str) or not isinstance(said, dict):
        return Record(str(said).strip('"').lower())  # "Resume"
    if "role" in said:
        return _older(id_, said)
    if "User" in said:
        record = Record("user", "prompt", uuid=f"zed-{id_}")
        record.blocks = [block for part in said["User"]["content"] if (block := _user_block(part)) is not None]
        record.unknown = _unknown(said["User"]["content"])
        return record
    if "Agent" in said:
        record = Record("assistant", "reply", uuid=f"zed-{id_}")
        results = said["Agent"].get("tool_results") or {}
        record.blocks = [block for part in said["Agent"]["content"] for block in _agent_blocks(part, results)]
        record.unknown = _unknown(said["Agent"]["content"])
        return record
    if "Compaction" in said:
        return Record("system", "compaction", blocks=[Block(TEXT, "Conversation compacted")])
    return Record(next(iter(said), "message").lower())


def _unknown(parts: Iterable[Any]) -> list[tuple[str, str]]:
    """Parts that are no object with a known key."""
    names = dict.fromkeys(str(next(iter(part), "")) for part in parts if isinstance(part, dict))
    return [(f"part/{name}", "") for name in names if name not in _PARTS]


def _user_block(part: dict[str, Any]) -> Block | None:
    if "Text" in part:
        return Block(TEXT, part["Text"])
    if "Image" in part:
        return Block(IMAGE, str(part["Image"].get("source") or ""), media_type="image/png")
    return None  # a file that was mentioned; the text names it


def _agent_blocks(part: Any, results: dict[str, Any]) -> Iterator[Block]:
    if not isinstance(part, dict):
        return
    if "Text" in part:
        yield Block(TEXT, part["Text"])
    elif "Thinking" in part:
        yield Block(THINKING, part["Thinking"].get("text") or "")
    elif "ToolUse" in part:
        use = part["ToolUse"]
        yield from _call(use["id"], use["name"], use.get("input") or {}, results.get(use["id"]))


def _call(id_: str, name: str, given: Any, result: dict[str, Any] | None) -> Iterable[Block]:
    known = given if isinstance(given, dict) else {}
    call = Block(CALL, call_id=id_, tool=name, input=given, path=text_of(known, "path"))
    call.command = text_of(known, "command") if name == "terminal" else None
    if result is None:
        return [call]
    output = result.get("output")
    diff = text_of(output, "diff") if isinstance(output, dict) else ""
    if name in _WRITES:
        call.change = "create" if known.get("mode") == "create" else "edit"
        call.changes = list(hunks_of(diff))
    return [
        call,
        Block(
            RESULT, _text(result.get("content")), call_id=id_, is_error=bool(result.get("is_error")), patch=diff, ts=0
        ),
    ]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return str(content.get("Text") or content.get("text") or "")
    return "\n".join(filter(None, map(_text, content))) if isinstance(content, list) else ""


def _older(id_: str, said: dict[str, Any]) -> Record:
    """A message of the versions before 0.3.0."""
    role = said["role"]
    record = Record("assistant" if role == "assistant" else "user", uuid=f"zed-{id_}")
    record.role = {"assistant": "reply", "user": "prompt"}.get(role, "note")
    for part in said.get("segments") or ():
        if part.get("text"):
            record.blocks.append(Block(THINKING if part.get("type") == "thinking" else TEXT, part["text"]))
    results = {result["tool_use_id"]: result for result in said.get("tool_results") or ()}
    for use in said.get("tool_uses") or ():
        record.blocks += _call(use["id"], use["name"], use.get("input") or {}, results.get(use["id"]))
    return record
