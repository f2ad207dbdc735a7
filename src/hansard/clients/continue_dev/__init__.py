"""Sessions of Continue: a document each, with tokens of the whole session where its command line wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients.entries import Change, Content, Replacement, lines_of
from hansard.clients.generic import CALL, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.imported import ImportedClient, json_objects
from hansard.clients.tools import Edit, Read, Shell, ToolInput, Write, text_of, tools_by_kind
from hansard.clients.values import as_object, decode_object, string, table, tables, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hansard.model.tools import ToolKind


class Memory(Struct, gc=False, omit_defaults=True):
    """How many entries there were, and which model gave the last answer."""

    count: int = 0
    model: str = ""


class Continue(ImportedClient):
    """Reads `~/.continue/sessions/<id>.json`."""

    name = "continue"
    speaker = "Continue"
    list_name = b"history"
    memory = Memory
    known_kinds = frozenset({"session", "message/system", "message/tool", "message/thinking"})
    tools: Mapping[str, ToolKind] = tools_by_kind(
        {
            "shell": "Bash run_terminal_command",
            "read": "Read read_file",
            "write": "Write create_new_file",
            "edit": "Edit MultiEdit edit_existing_file single_find_and_replace",
            "search": "Search grep_search file_glob_search List ls",
        }
    )

    def parts(self, name: str, data: bytes) -> Iterator[tuple[str, bytes]]:  # noqa: ARG002
        """A session."""
        for piece, given in json_objects(data):
            if string(given, "sessionId") and isinstance(given.get("history"), list):
                yield string(given, "sessionId"), piece

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        """One entry, or what is around them."""
        text = line.strip(b", \t\r\n")
        if text.startswith(b"]") or text.endswith(b"["):
            given = decode_object(b'{"":[' + text if text.startswith(b"]") else text + b"]}")
            memory.model = string(given, "chatModelTitle") or memory.model
            yield _session(given, memory.model)
            return
        record = _entry(decode_object(text))
        record.model = record.model or (memory.model if record.kind == "assistant" else "")
        memory.model = record.model or memory.model
        memory.count += 1
        record.uuid = f"entry-{memory.count}"
        record.parent_uuid = f"entry-{memory.count - 1}" if memory.count > 1 else ""
        yield record

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        path = _path(given)
        match self.tools.get(tool):
            case "shell":
                return Shell(text_of(given, "command"))
            case "read":
                return Read(path)
            case "write":
                return Write(path, text_of(given, "content") or text_of(given, "contents"))
            case "edit":
                steps = tables(given, "edits") or [given]
                return Edit(path, [(string(step, "old_string"), string(step, "new_string")) for step in steps])
        return None


def _session(given: dict[str, Any], model: str) -> Record:
    record = Record("session", title=string(given, "title"), cwd=string(given, "workspaceDirectory"))
    usage, details = table(given, "usage"), table(table(given, "usage"), "promptTokensDetails")
    if usage:
        counts = (whole(usage, "promptTokens"), whole(usage, "completionTokens"))
        cached = (whole(details, "cachedTokens"), whole(details, "cacheWriteTokens"))
        record.usage = Usage("session", model, *counts, *cached)
        cost = usage.get("totalCost")
        if isinstance(cost, (int, float)) and 0 <= cost < 1e6:
            record.usage.cost = round(cost * 1e9)
    return record


def _path(given: Any) -> str:
    return string(given, "filepath", "file_path", "path")


def _entry(entry: dict[str, Any]) -> Record:
    message = table(entry, "message")
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [string(part, "text") for part in tables(message, "content")]
    said = "\n".join(filter(None, texts))
    role = string(message, "role")
    if role == "user":
        return Record("user", "prompt", blocks=[Block(TEXT, said)])
    if role != "assistant":
        return Record(f"message/{role}")
    record = Record("assistant", model=next((string(log, "modelTitle") for log in tables(entry, "promptLogs")), ""))
    if thought := string(table(entry, "reasoning"), "text"):
        record.blocks.append(Block(THINKING, thought))
    if said:
        record.blocks.append(Block(TEXT, said))
    states = {string(state, "toolCallId"): state for state in tables(entry, "toolCallStates")}
    for call in tables(message, "toolCalls"):
        record.blocks += _call(call, states.get(string(call, "id"), {}))
    return record


def _call(call: dict[str, Any], state: dict[str, Any]) -> Iterator[Block]:
    function = table(call, "function")
    tool, key = string(function, "name"), string(call, "id")
    given = table(state, "parsedArgs") or as_object(function.get("arguments"))
    block = Block(CALL, call_id=key, tool=tool, input=given, path=_path(given))
    block.change, block.changes = _change(tool, given)
    block.command = string(given, "command") or None
    yield block
    if "output" in state:
        shown = "\n".join(filter(None, (string(item, "content") for item in tables(state, "output"))))
        yield Block(RESULT, shown, call_id=key, is_error=string(state, "status") in ("errored", "canceled"))


def _change(tool: str, given: Any) -> tuple[str, list[Change]]:
    match Continue.tools.get(tool):
        case "write":
            return "create", [Content(lines_of(string(given, "content", "contents")))]
        case "edit":
            steps = tables(given, "edits") or [given]
            return "edit", [Replacement(string(step, "old_string"), string(step, "new_string")) for step in steps]
    return "", []
