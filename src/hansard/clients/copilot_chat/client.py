"""Copilot Chat's files, and its requests as neutral records.

A request has its answer inside, and calls twice: as they were shown, and as the model made them in rounds, with results. The rounds count
where they are known.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hansard.clients import EDITORS, places_of
from hansard.clients.copilot_chat.lines import changed, read_lines, session_of
from hansard.clients.copilot_chat.tools import KINDS, change_of, path_of, tool_input
from hansard.clients.documents import BETWEEN, around
from hansard.clients.generic import CALL, FILE, RESULT, TEXT, THINKING, Block, Record, Usage
from hansard.clients.imported import ImportedClient, json_objects
from hansard.clients.lines import Issue
from hansard.clients.patches import patch_blocks, patch_in
from hansard.clients.protocol import PathInfo, SideContent
from hansard.clients.state import NAME_LENGTH
from hansard.clients.values import (
    as_object,
    decode_object,
    milliseconds,
    path_of_uri,
    string,
    table,
    tables,
    unknown_kinds,
    whole,
)
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.lines import Lines
    from hansard.clients.tools import ToolInput

_MOST = 2000  # requests that are remembered
_MAX_DEPTH = 40
_RESPONSES = frozenset(
    "markdownContent markdownVuln inlineReference thinking toolInvocation toolInvocationSerialized prepareToolInvocation textEditGroup"
    " notebookEditGroup codeblockUri undoStop progressMessage progressTask progressTaskSerialized progressTaskResult mcpServersStarting"
    " confirmation elicitation elicitationSerialized elicitation2 questionCarousel command warning treeData contentReference codeCitation"
    " reference references extensions pullRequest multiDiffData clearToPreviousToolInvocation hook workspaceEdit move".split()
)


class Memory(Struct, gc=False, omit_defaults=True):
    """The requests so far, by their numbers."""

    requests: list[str] = []


def decode(line: bytes, memory: Memory) -> Iterator[Record | Issue]:
    """A request with what is wrong with its changes, or what is around requests."""
    text = line.strip(BETWEEN)
    if (facts := around(text)) is not None:
        yield _session(table(facts, "v") if "kind" in facts else facts)
    elif b"\n" in text or not text.endswith(b"}") or b'"requestId"' in text:
        request, entries = changed(text, len(memory.requests))
        if "requestId" not in request:
            yield _session(session_of(request))
            return
        cut = entries[0].get("i") if entries and isinstance(entries[0], dict) and "kind" not in entries[0] else None
        memory.requests = memory.requests[: cut if isinstance(cut, int) else None]
        yield _request(request, memory)
        for entry in entries:
            if isinstance(entry, Issue):
                yield entry
            elif "customTitle" in (found := session_of(entry)) or "sessionId" in found:
                yield _session(found)
    else:
        yield _session(session_of(decode_object(text)))


def _session(given: dict[str, Any]) -> Record:
    ts = milliseconds(given.get("creationDate"))
    return Record("session", ts=ts, session_id=string(given, "sessionId"), title=string(given, "customTitle"))


def _request(given: dict[str, Any], memory: Memory) -> Record:
    """A prompt with its answer."""
    message = given.get("message")
    said = message if isinstance(message, str) else string(message, "text")
    record = Record(
        "user", "prompt", ts=milliseconds(given.get("timestamp")), uuid=string(given, "requestId")[:NAME_LENGTH]
    )
    record.model = _model(given)
    record.version = string(table(given, "agent"), "extensionVersion")
    record.blocks = [Block(TEXT, said)]
    calls = list(_rounds(table(given, "result")))
    response = given.get("response")
    record.unknown = unknown_kinds(tables(given, "response"), _RESPONSES, "kind")
    for block in _shown(response if isinstance(response, list) else []):
        if block.kind != CALL:
            record.blocks.append(block)
        elif calls:  # as the model made it, with its result
            record.blocks.append(calls.pop(0))
            while calls and calls[0].kind in (FILE, RESULT):
                record.blocks.append(calls.pop(0))
        elif not table(given, "result").get("metadata"):
            record.blocks.append(block)
    record.blocks += calls
    record.usage = _usage(given)
    record.cwd = next((cwd for part in tables(given, "response") if (cwd := _folder(part.get("baseUri")))), "")
    if memory.requests:
        record.parent_uuid = memory.requests[-1]
    if len(memory.requests) < _MOST:
        memory.requests.append(record.uuid)
    return record


def _model(given: dict[str, Any]) -> str:
    known = string(table(table(given, "result"), "metadata"), "resolvedModel")
    return known or string(given, "modelId").rpartition("/")[2]


def _folder(uri: Any) -> str:
    """The folder of a workspace, which links in an answer are relative to."""
    return path_of_uri(f"file://{string(uri, 'path')}").rstrip("/")


def _shown(parts: list[Any]) -> Iterator[Block]:
    """The blocks of an answer as it was shown; texts and references between them are one."""
    said: list[str] = []
    for part in parts:
        kind = string(part, "kind")
        if isinstance(part, str):
            said.append(part)
        elif kind in ("", "markdownContent"):
            said.append(string(part, "value") or string(table(part, "content"), "value"))
        elif kind == "inlineReference":
            said.append(_reference(part))
        elif kind in ("thinking", "toolInvocationSerialized"):
            yield from _reply(said)
            said = []
            if kind == "thinking":
                value = part.get("value")
                thought = "\n".join(map(str, value)) if isinstance(value, list) else string(part, "value")
                if thought:
                    yield Block(THINKING, thought)
            else:
                yield _invocation(part)
    yield from _reply(said)


def _reply(said: list[str]) -> Iterator[Block]:
    text = "".join(said)
    if text.strip(" \t\r\n`"):
        yield Block(TEXT, text.strip(), is_reply=True)


def _reference(part: dict[str, Any]) -> str:
    place = table(part, "inlineReference")
    path = string(place, "fsPath", "path") or string(table(place, "uri"), "fsPath", "path")
    return f"`{string(part, 'name') or path.replace(chr(92), '/').rpartition('/')[2]}`"


def _invocation(part: dict[str, Any]) -> Block:
    data = table(part, "toolSpecificData")
    command = string(data, "command") or string(table(data, "commandLine"), "original")
    message = part.get("pastTenseMessage") or part.get("invocationMessage")
    given = (
        {"command": command}
        if command
        else {"message": message if isinstance(message, str) else string(message, "value")}
    )
    return Block(
        CALL, call_id=string(part, "toolCallId"), tool=string(part, "toolId"), input=given, command=command or None
    )


def _rounds(result: dict[str, Any]) -> Iterator[Block]:
    """The calls that the model made, each with its result."""
    metadata = table(result, "metadata")
    results = table(metadata, "toolCallResults")
    for step in tables(metadata, "toolCallRounds"):
        for call in tables(step, "toolCalls"):
            key, tool, given = string(call, "id"), string(call, "name"), as_object(call.get("arguments"))
            block = Block(CALL, call_id=key, tool=tool, input=given)
            if isinstance(given, dict):
                block.path = path_of(given)
                block.change, block.changes = change_of(tool, given)
                block.command = string(given, "command") or None if KINDS.get(tool) == "shell" else None
            patch = patch_in(given) if block.tool == "apply_patch" else ""
            yield from patch_blocks(block, patch, "") if patch else [block]
            if key in results:
                texts: list[str] = []
                _leaves(results[key], texts, 0)
                yield Block(RESULT, "\n".join(texts), call_id=key)


def _leaves(value: Any, found: list[str], depth: int) -> None:
    """The texts of a result, which may be a tree of rendered elements."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            _leaves(item, found, depth + 1)
    elif isinstance(value, dict):
        for name in ("content", "value", "node", "children", "text"):
            item = value.get(name)
            if isinstance(item, str):
                found.append(item)
            elif item is not None:
                _leaves(item, found, depth + 1)


def _usage(given: dict[str, Any]) -> Usage | None:
    """Tokens of the last model call of a request: a lower bound for all of its rounds."""
    result = table(given, "result")
    usage, metadata = table(result, "usage"), table(result, "metadata")
    prompt = whole(usage, "promptTokens") or whole(metadata, "promptTokens")
    output = whole(usage, "completionTokens") or whole(metadata, "outputTokens") or whole(given, "completionTokens")
    if not prompt and not output:
        return None
    request = string(given, "requestId")
    # A window that is opened as a workspace copies its sessions, and an exported one has another name.
    return Usage(request or "result", _model(given), prompt, output, is_final=False, is_shared=bool(request))


_CHATS = LayoutFolder(log=FileKind.MAIN, suffixes={".json": FileKind.MAIN}, deeper=NOT_KEPT)
_WORKSPACE = LayoutFolder(
    named={"workspace.json": FileKind.PROJECT}, folders={"chatSessions": _CHATS}, deeper=NOT_KEPT
)  # the database beside it holds other extensions' state


class CopilotChat(ImportedClient):
    """Keeps a session in `User/workspaceStorage/<workspace>/chatSessions`; without a workspace, in `globalStorage`.

    What its command "Chat: Export Chat..." writes is a session without an id, which can be imported.
    """

    name = "copilot-chat"
    speaker = "Copilot"
    tools = KINDS
    memory = Memory
    known_kinds = frozenset({"session"})

    def __init__(self) -> None:
        super().__init__()
        windows = {"emptyWindowChatSessions": _CHATS, "transferredChatSessions": _CHATS}
        self.layout = Layout(
            main="workspaceStorage",
            folders={
                "workspaceStorage": LayoutFolder(deeper=_WORKSPACE),
                "globalStorage": LayoutFolder(folders=windows, deeper=NOT_KEPT),
                **self.layout.folders,
            },
        )

    def parts(self, name: str, data: bytes) -> Iterator[tuple[str, bytes]]:  # noqa: ARG002
        """A log of a session, or sessions as documents; one without an id is named by its first request."""
        for piece, given in json_objects(data):
            if given.get("kind") == 0 and (session := string(table(given, "v"), "sessionId")):
                yield session, data
                return
            first = next((string(request, "requestId") for request in tables(given, "requests")), "")
            if first:
                yield string(given, "sessionId") or first, piece

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """The `User` folder of every editor that is built from VS Code and has chats."""
        return [path for path in dict.fromkeys(places_of(EDITORS, environ, home)) if _has_chats(path)]

    def open_root(self, path: str) -> Root | None:
        """A `User` folder with chats, or a folder that an import made."""
        real = os.path.realpath(os.path.expanduser(path))
        if not _has_chats(real):
            return super().open_root(path)
        name = os.path.basename(os.path.dirname(real)) if os.path.basename(real) == "User" else os.path.basename(real)
        return Root(real, name, self.name, self.layout, os.path.join(real, "workspaceStorage"), real)

    def path_info(self, path: str) -> PathInfo:
        """The workspace; the session is named inside of the file, and the file after it."""
        parts = path.split("/")
        if parts[0] in (self.folder, self.earlier):
            return super().path_info(path)
        project = parts[1] if parts[0] == "workspaceStorage" and len(parts) > 2 else ""
        return PathInfo(project_dir=project, stem=parts[-1].rpartition(".")[0])

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:
        """The folder of a workspace; of one with several folders, the file that lists them is stated instead."""
        if kind != FileKind.PROJECT:
            return SideContent()
        try:
            folder = path_of_uri(string(msgspec.json.decode(data), "folder"))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return SideContent()
        return SideContent(folders={path.split("/")[1]: folder} if folder else {})

    def lines(self, pieces: Iterable[bytes], start: int) -> Lines:
        """Each request of a document or of a log."""
        return read_lines(pieces, start)

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record | Issue]:
        return decode(line, memory)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        return tool_input(tool, given)


def _has_chats(path: str) -> bool:
    """Whether a `User` folder has chat sessions."""
    if os.path.isdir(os.path.join(path, "globalStorage", "emptyWindowChatSessions")):
        return True
    try:
        with os.scandir(os.path.join(path, "workspaceStorage")) as entries:
            return any(os.path.isdir(os.path.join(entry.path, "chatSessions")) for entry in entries)
    except OSError:
        return False
