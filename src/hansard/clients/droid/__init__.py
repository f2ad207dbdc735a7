"""Sessions of Factory's droid: a log each, and beside it a document with the tokens of the whole session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.entries import Change, Content, Replacement, lines_of
from hansard.clients.generic import CALL, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.imported import ImportedClient, file_name
from hansard.clients.lines import Lines, joined, length_of
from hansard.clients.patches import patch_blocks, patch_input
from hansard.clients.protocol import PathInfo
from hansard.clients.tools import Edit, Read, Search, Shell, ToolInput, Write, text_of, tools_by_kind
from hansard.clients.values import decode_object, milliseconds, string, table, tables, unknown_kinds, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.model.tools import ToolKind

_INJECTED = ("<system-reminder>", "Contents of ")
_SETTINGS = ".settings.json"
_LARGEST = 64 << 20  # bytes of a file beside another one
_PARTS = frozenset("text thinking redacted_thinking image document tool_use tool_result".split())


class Droid(ImportedClient):
    """Reads `~/.factory/sessions/<id>.jsonl` and `<id>.settings.json`."""

    name = "droid"
    speaker = "Droid"
    suffix = ".jsonl"
    known_kinds = frozenset({"session_start", "todo_state", "settings", "compaction_state", "line"})
    tools: Mapping[str, ToolKind] = tools_by_kind(
        {
            "shell": "Execute",
            "read": "Read",
            "write": "Create",
            "edit": "Edit MultiEdit ApplyPatch",
            "search": "Grep Glob LS",
            "spawn": "Task",
            "web_search": "WebSearch",
            "fetch": "FetchUrl",
        }
    )

    def parts(self, name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
        """A log with the settings of its session, or settings alone; these have the session's id in the log beside them only."""
        stem = name.removesuffix(_SETTINGS).removesuffix(".jsonl")
        if session := _session_of(data):
            yield file_name(session), data
            settings = _beside(stem + _SETTINGS)
            if settings and b'"tokenUsage"' in settings:
                yield f"{file_name(session)}.settings", settings
        elif name.endswith(_SETTINGS) and b'"tokenUsage"' in data:
            session = _session_of(_beside(f"{stem}.jsonl")) or stem.replace("\\", "/").rpartition("/")[2]
            yield f"{file_name(session)}.settings", data

    def path_info(self, path: str) -> PathInfo:
        """A file is named after its session."""
        return PathInfo(path.rpartition("/")[2].removesuffix(".jsonl").removesuffix(".settings"))

    def lines(self, pieces: Iterable[bytes], start: int) -> Lines:
        """Lines of a log; settings, which are indented, are one."""
        return _LogLines(pieces, start)

    def decode(self, line: bytes) -> Iterator[Record]:
        given = decode_object(line)
        if "tokenUsage" in given:
            yield _settings(given)
        elif given.get("type") == "message":
            yield _message(given)
        else:
            title = string(given, "sessionTitle")
            kind = string(given, "type") or "line"
            title = string(given, "title") if title in ("", "New Session") else title
            yield Record(kind, ts=milliseconds(given.get("timestamp")), cwd=string(given, "cwd"), title=title)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        path = text_of(given, "file_path")
        match tool:
            case "Execute":
                return Shell(text_of(given, "command"))
            case "Read":
                return Read(path)
            case "Create":
                return Write(path, text_of(given, "content"))
            case "Edit":
                return Edit(path, [(text_of(given, "old_str"), text_of(given, "new_str"))])
            case "ApplyPatch":
                return patch_input(text_of(given, "input"))
            case "Grep" | "Glob":
                return Search(text_of(given, "pattern") or text_of(given, "patterns"))
        return None


def _session_of(log: bytes) -> str:
    """The session id in the first record of a log; empty if the file is not a log."""
    try:
        start = decode_object(log.lstrip().partition(b"\n")[0])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return string(start, "id") if start.get("type") == "session_start" else ""


def _beside(path: str) -> bytes:
    """A file beside one that is imported; members of archives have none."""
    try:
        with open(path if os.path.isabs(path) else "", "rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b""


class _LogLines(Lines):
    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        pieces = iter(self._pieces)
        first = next(pieces, b"")
        if self.offset == 0 and first.lstrip().partition(b"\n")[0].strip() == b"{":
            data = joined(_chained(first, pieces))
            self.offset = length_of(data)
            yield 0, data
            return
        self._pieces = [first, *pieces] if not first else _chained(first, pieces)
        yield from super().__iter__()


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _settings(given: dict[str, Any]) -> Record:
    usage = table(given, "tokenUsage")
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")
    read, wrote, cached, stored = (whole(usage, name) for name in names)
    model = string(given, "model")
    ts = milliseconds(given.get("providerLockTimestamp"))
    return Record("settings", ts=ts, usage=Usage("session", model, read, wrote, cached, stored))


def _message(given: dict[str, Any]) -> Record:
    message = table(given, "message")
    record = Record(
        "user" if message.get("role") == "user" else "assistant",
        ts=milliseconds(given.get("timestamp")),
        uuid=string(given, "id"),
        parent_uuid=string(given, "parentId"),
    )
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else tables(message, "content")
    record.blocks = [block for part in parts for block in _block(part)]
    record.unknown = unknown_kinds(parts, _PARTS)
    if record.kind == "user" and (said := record.text):
        record.role = "note" if said.startswith(_INJECTED) else "prompt"
    return record


def _block(part: dict[str, Any]) -> Iterator[Block]:
    match string(part, "type"):
        case "text" if text := string(part, "text"):
            yield Block(TEXT, text)
        case "thinking" if text := string(part, "thinking"):
            yield Block(THINKING, text)
        case "tool_use":
            given = table(part, "input")
            call = Block(CALL, call_id=string(part, "id"), tool=string(part, "name"), input=part.get("input"))
            call.path, call.change, call.changes = _change(call.tool, given)
            call.command = string(given, "command") or None if call.tool == "Execute" else None
            yield from patch_blocks(call, string(given, "input"), "") if call.tool == "ApplyPatch" else [call]
        case "tool_result":
            content = part.get("content")
            texts = (
                [content] if isinstance(content, str) else [string(item, "text") for item in tables(part, "content")]
            )
            shown = "\n".join(filter(None, texts))
            yield Block(RESULT, shown, call_id=string(part, "tool_use_id"), is_error=part.get("is_error") is True)


def _change(tool: str, given: dict[str, Any]) -> tuple[str, str, list[Change]]:
    path = string(given, "file_path")
    if tool == "Create":
        return path, "create", [Content(lines_of(string(given, "content")))]
    if tool == "Edit":
        return path, "edit", [Replacement(string(given, "old_str"), string(given, "new_str"))]
    return path, "", []
