"""Threads of Amp: a document each, with the tokens of every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.clients import tools as t
from hansard.clients.entries import Change, Content, Replacement, lines_of
from hansard.clients.generic import CALL, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.imported import ImportedClient, json_objects
from hansard.clients.tools import json_of, text_of, tools_by_kind
from hansard.clients.values import decode_object, milliseconds, path_of_uri, string, table, tables, unknown_kinds, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hansard.model.tools import ToolKind

_PARTS = frozenset("text thinking redacted_thinking image tool_use tool_result manual_bash_invocation summary".split())


class Amp(ImportedClient):
    """Reads `~/.local/share/amp/threads/T-<id>.json`."""

    name = "amp"
    speaker = "Amp"
    permission_facts = frozenset({"denials"})
    list_name = b"messages"
    known_kinds = frozenset({"thread"})
    tools: Mapping[str, ToolKind] = tools_by_kind(
        {
            "shell": "Bash",
            "read": "Read",
            "write": "create_file",
            "edit": "edit_file",
            "search": "Grep glob finder",
            "spawn": "Task oracle",
            "web_search": "web_search",
            "fetch": "read_web_page",
        }
    )

    def parts(self, name: str, data: bytes) -> Iterator[tuple[str, bytes]]:  # noqa: ARG002
        """A thread."""
        for piece, given in json_objects(data):
            if string(given, "id").startswith("T-") and isinstance(given.get("messages"), list):
                yield string(given, "id"), piece

    def decode(self, line: bytes) -> Iterator[Record]:
        """One message, or what is around them."""
        text = line.strip(b", \t\r\n")
        if text.startswith(b"]") or text.endswith(b"["):
            yield _thread(decode_object(b'{"":[' + text if text.startswith(b"]") else text + b"]}"))
        else:
            yield _message(decode_object(text))

    def tool_input(self, tool: str, given: Any) -> t.ToolInput | None:
        match self.tools.get(tool):
            case "shell":
                return t.Shell(text_of(given, "cmd") or text_of(given, "command"))
            case "read":
                return t.Read(text_of(given, "path"))
            case "write":
                return t.Write(text_of(given, "path"), text_of(given, "content"))
            case "edit":
                return t.Edit(text_of(given, "path"), [(text_of(given, "old_str"), text_of(given, "new_str"))])
            case "search":
                return t.Search(text_of(given, "pattern") or text_of(given, "filePattern") or text_of(given, "query"))
        return None


def _thread(given: dict[str, Any]) -> Record:
    record = Record("thread", ts=milliseconds(given.get("created")), title=string(given, "title"))
    for tree in tables(table(table(given, "env"), "initial"), "trees")[:1]:
        record.cwd = path_of_uri(string(tree, "uri"))
        record.branch = string(table(tree, "repository"), "ref").removeprefix("refs/heads/")
    return record


def _message(message: dict[str, Any]) -> Record:
    number, usage = message.get("messageId"), table(message, "usage")
    record = Record("user" if message.get("role") == "user" else "assistant", uuid=f"message-{number}")
    if isinstance(number, int) and number > 0:
        record.parent_uuid = f"message-{number - 1}"
    record.ts = milliseconds(table(message, "meta").get("sentAt")) or milliseconds(usage.get("timestamp"))
    record.blocks = [block for part in tables(message, "content") for block in _block(part)]
    record.unknown = unknown_kinds(tables(message, "content"), _PARTS)
    if record.kind == "user" and record.text:
        record.role = "prompt"
    if usage:
        counts = (
            whole(usage, name)
            for name in ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
        )
        given, output, read, write = counts
        record.model = string(usage, "model")
        record.usage = Usage(record.uuid, record.model, given, output, read, write)
    return record


def _block(part: dict[str, Any]) -> Iterator[Block]:
    match string(part, "type"):
        case "text" if text := string(part, "text").strip():
            yield Block(TEXT, text)
        case "thinking" if text := string(part, "thinking"):
            yield Block(THINKING, text)
        case "tool_use":
            given = table(part, "input")
            call = Block(CALL, call_id=string(part, "id"), tool=string(part, "name"), input=part.get("input"))
            call.path = string(given, "path")
            call.command = string(given, "cmd", "command") or None
            call.change, call.changes = _change(call.tool, given)
            yield call
        case "tool_result":
            run = table(part, "run")
            result = run.get("result")
            shown = (
                result if isinstance(result, str) else string(result, "output", "content", "diff") or json_of(result)
            )
            status = string(run, "status")
            is_error = status in ("error", "cancelled", "rejected-by-user")
            denied_by = {"rejected-by-user": "user", "cancelled": "interrupted"}.get(status, "")
            yield Block(RESULT, shown, call_id=string(part, "toolUseID"), is_error=is_error, denied_by=denied_by)


def _change(tool: str, given: dict[str, Any]) -> tuple[str, list[Change]]:
    if tool == "create_file":
        return "create", [Content(lines_of(string(given, "content")))]
    if tool == "edit_file":
        return "edit", [Replacement(string(given, "old_str"), string(given, "new_str"))]
    return "", []
