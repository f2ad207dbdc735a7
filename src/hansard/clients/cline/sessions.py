"""Sessions of Cline's command line from version 3 on: a document with the messages of the API, and another about the session.

A subagent has a document of its own beside that of its session. The input tokens of an answer include what was cached.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hansard.clients.entries import Content, Replacement, lines_of
from hansard.clients.generic import CALL, IMAGE, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.tools import Edit, Fetch, Read, Search, Shell, Spawn, ToolInput, Write, json_of, text_of
from hansard.clients.values import as_object, milliseconds, string, table, tables, unknown_kinds, whole
from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.clients.entries import Change

MESSAGES = ".messages.json"
_PARTS = frozenset("text thinking reasoning redacted_thinking image document file tool_use tool_result".split())
_TYPED = lazy_compile(r'\s*<user_input(?: mode="\w+")?>(.*)</user_input>\s*', re.DOTALL)


def about(facts: dict[str, Any]) -> Record:
    """What a document says before its messages."""
    origin = table(facts, "origin")
    record = Record("session", session_id=string(origin, "parentThreadId") or string(facts, "sessionId"))
    record.agent_id, record.version = string(origin, "subagent"), string(origin, "version")
    return record


def message(said: dict[str, Any], last: str) -> Record:
    """A message, which comes after the one called `last`."""
    record = Record("user", ts=milliseconds(said.get("ts")), uuid=string(said, "id"), parent_uuid=last)
    content = said.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else tables(said, "content")
    record.blocks = [block for part in parts for block in _block(part)]
    record.unknown = unknown_kinds(parts, _PARTS)
    if string(said, "role") == "assistant":
        is_error = string(table(said, "metadata"), "displayRole") == "error"
        record.kind, record.role = "assistant", "error" if is_error else ""
        record.model = string(table(said, "modelInfo"), "id")
        record.usage = _usage(record, table(said, "metrics"))
    elif typed := _TYPED.fullmatch(record.text):
        rest = [block for block in record.blocks if block.kind != TEXT]
        record.role, record.blocks = "prompt", [Block(TEXT, typed[1].strip()), *rest]
    elif record.text:
        record.role = "prompt"
    return record


def _usage(record: Record, metrics: dict[str, Any]) -> Usage | None:
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    given, output, read, written = (whole(metrics, name) for name in names)
    if not (given or output or read or written):
        return None
    usage = Usage(record.uuid, record.model, max(0, given - read - written), output, read, written)
    cost = metrics.get("cost")
    if isinstance(cost, (int, float)) and 0 < cost < 1e6:
        usage.cost = round(cost * 1e9)
    return usage


def _block(part: dict[str, Any]) -> Iterator[Block]:
    match string(part, "type"):
        case "text" if text := string(part, "text"):
            yield Block(TEXT, text)
        case "thinking" | "reasoning" if text := string(part, "thinking", "text"):
            yield Block(THINKING, text)
        case "image":
            source = table(part, "source") or part
            yield Block(IMAGE, string(source, "data"), media_type=string(source, "media_type", "mediaType"))
        case "tool_use":
            yield _call(string(part, "id"), string(part, "name"), part.get("input"))
        case "tool_result":
            results = _results(part.get("content"))
            failed = part.get("is_error") is True or any(result.get("success") is False for result in results)
            shown = "\n".join(string(result, "result", "error", "text") or json_of(result) for result in results)
            yield Block(RESULT, shown, call_id=string(part, "tool_use_id"), is_error=failed)


def _results(content: Any) -> list[dict[str, Any]]:
    """What a tool gave: an object for each of its tasks, or a text, which may be one as JSON."""
    found = as_object(content)
    found = found if isinstance(found, list) else [found]
    return [item if isinstance(item, dict) else {"text": str(item)} for item in found if item not in (None, "")]


def _call(call_id: str, tool: str, given: Any) -> Block:
    call = Block(CALL, call_id=call_id, tool=tool, input=given)
    if tool == "run_commands":
        call.command = "\n".join(_texts(given, "commands")) or None
    elif tool == "editor":
        call.path = string(given, "path")
        call.change, call.changes = _change(given)
    elif tool == "spawn_agent":
        call.task = string(given, "task")
        call.description = call.task.partition("\n")[0]
    elif len(files := tables(given, "files")) == 1:
        call.path = string(files[0], "path")
    return call


def _change(given: Any) -> tuple[str, list[Change]]:
    old, new = string(given, "old_text"), string(given, "new_text")
    if old or whole(given, "insert_line"):
        return "edit", [Replacement(old, new)]
    return "create", [Content(lines_of(new))]


def _texts(given: Any, name: str) -> list[str]:
    value = given.get(name) if isinstance(given, dict) else None
    return [item if isinstance(item, str) else string(item, "command", "query") for item in value or ()]


def tool_input(tool: str, given: Any) -> ToolInput | None:
    """What a call was given in neutral terms."""
    match tool:
        case "run_commands":
            return Shell("\n".join(_texts(given, "commands")))
        case "read_files" if len(files := tables(given, "files")) == 1:
            return Read(string(files[0], "path"))
        case "search_codebase":
            return Search("\n".join(_texts(given, "queries")))
        case "fetch_web_content" if len(pages := tables(given, "requests")) == 1:
            return Fetch(string(pages[0], "url"), string(pages[0], "prompt"))
        case "editor" if "old_text" in given or "insert_line" in given:
            return Edit(text_of(given, "path"), [(text_of(given, "old_text"), text_of(given, "new_text"))])
        case "editor":
            return Write(text_of(given, "path"), text_of(given, "new_text"))
        case "spawn_agent":
            return Spawn(text_of(given, "task"), "", text_of(given, "task").partition("\n")[0])
    return None
