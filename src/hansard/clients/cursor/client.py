"""Cursor's directories, and the lines that its rows are kept as.

The tokens of an answer are recorded by versions of 2025 only; later ones write zeros, and nothing is counted for these.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hansard.clients.cursor.bubbles import TOOLS, blocks_of, call_block, result_block, tool_input
from hansard.clients.cursor.chats import chat_facts, names_in, workspace_in
from hansard.clients.database_client import DatabaseClient
from hansard.clients.generic import TEXT, THINKING, Block, Record, Usage
from hansard.clients.row_logs import Body, Content, RowLog, Unit, fact, log_path, text_of_cell
from hansard.clients.values import milliseconds, string, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.tools import ToolInput
    from hansard.sources.foreign import ForeignDatabase
    from hansard.sources.roots import Root

FOLDER = "agent-transcripts"


def transcript_files(root: str) -> Iterator[str]:
    """The transcripts below `projects`, relative to the directory around it."""
    for project in names_in(os.path.join(root, "projects")):
        folder = f"projects/{project}/{FOLDER}"
        for session in names_in(os.path.join(root, *folder.split("/"))):
            for name in names_in(os.path.join(root, *folder.split("/"), session)):
                if name.endswith(".jsonl"):
                    yield f"{folder}/{session}/{name}"
            for name in names_in(os.path.join(root, *folder.split("/"), session, "subagents")):
                if name.endswith(".jsonl"):
                    yield f"{folder}/{session}/subagents/{name}"


def transcript_log(path: str, place: str) -> RowLog:
    """A transcript as a log: each of its lines is a unit."""
    _, project, _, session, *_, name = path.split("/")
    own = name.removesuffix(".jsonl")
    status = os.stat(place)
    ids = (session, own) if own != session else (session,)
    root = place[: -len(path)]
    return RowLog(
        log_path(*ids),
        status.st_mtime_ns // 1_000_000,
        repr((status.st_size, status.st_mtime_ns)),
        partial(_units, place, project, root, session),
        is_agent=len(ids) > 1,
    )


def _units(place: str, project: str, root: str, session: str) -> Iterator[Unit]:
    folder = string(chat_facts(root, session), "cwd")
    yield fact("project", "project", [(("name", "folder"), [("text", project), ("text", folder)])])
    with open(place, "rb") as file:
        for number, line in enumerate(file):
            if line.strip() and line.endswith((b"\n", b"}")):  # else it is being written
                body = Body().add("line", [(("value",), [("text", line.rstrip(b"\n"))])])
                yield Unit(str(number), partial(Content, body))


_STATE = "state.vscdb"
_GLOBAL = f"globalStorage/{_STATE}"
_QUERY = ("<user_query>", "</user_query>")
_CONTEXT = ("<user_info>", "<system_reminder>", "<git_status>", "<project_layout>", "<rules>")
_NO_TITLE = "New Agent"


class _Memory(Struct):
    """The model that the last prompt was given to."""

    model: str = ""


class Cursor(DatabaseClient):
    """Cursor, from 2023 on."""

    name = "cursor"
    speaker = "Cursor"
    database = _GLOBAL
    tables = ("ItemTable", "cursorDiskKV", "blobs", "meta")
    tools = TOOLS
    memory = _Memory
    known_kinds = frozenset({"composer", "project", "prompts", "chat", "context", "leftover", "update", "deleted"})

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        places = [
            os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "Cursor", "User"),
            os.path.join(home, "Library", "Application Support", "Cursor", "User"),
            os.path.join(home, ".cursor"),
        ]
        if environ.get("APPDATA"):
            places.append(os.path.join(environ["APPDATA"], "Cursor", "User"))
        return [place for place in places if self.open_root(place) is not None]

    def open_root(self, path: str) -> Root | None:
        """The `User` directory with the databases, `~/.cursor` with chats and transcripts, or a directory with one database."""
        from hansard.clients.cursor.chats import chat_files

        real = os.path.realpath(os.path.expanduser(path))
        workspaces = os.path.join(real, "workspaceStorage")
        names = [_GLOBAL, _STATE]
        if os.path.isdir(workspaces):
            names += [f"workspaceStorage/{name}/{_STATE}" for name in sorted(os.listdir(workspaces)) if name.isalnum()]
        files = [name for name in names if os.path.isfile(os.path.join(real, *name.split("/")))]
        files += [*chat_files(real), *transcript_files(real)]
        if not files:
            return None
        root = self.root_of(real, self.layout_of(files))
        return replace(root, name="cursor-agent") if files[0].startswith(("projects/", "chats/")) else root

    def database_rank(self, path: str) -> int:
        """The common database has more than those of workspaces and chats, and these more than transcripts."""
        return 0 if path == _GLOBAL else 2 if path.endswith(".jsonl") else 1

    def row_logs(self, path: str, place: str, database: ForeignDatabase | None) -> Iterable[RowLog]:
        if database is None:
            return [transcript_log(path, place)]
        if path.startswith("chats/"):
            from hansard.clients.cursor.chats import chat_logs

            return chat_logs(place, database)
        from hansard.clients.cursor.databases import database_logs

        return database_logs(place, database)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        return tool_input(tool, given)

    def decode(self, line: bytes) -> Iterable[Record]:
        return self.decode_next(line, _Memory())

    def decode_next(self, line: bytes, memory: Any) -> Iterator[Record]:
        said = msgspec.json.decode(line)
        if "id" not in said:
            yield _other(said, memory)
        elif "line" in said:
            yield _transcript_line(text_of_cell(said["line"]["value"]))
        elif "blobs" in said:
            yield _chat_message(said["id"], text_of_cell(said["blobs"]["data"]), memory)
        else:
            row = said.get("cursorDiskKV") or said["bubble"]
            contents = {item["key"]: item["value"] for item in said.get("contents", ())}
            yield _bubble(said["id"], text_of_cell(row["value"]), contents, memory)


def _model(name: Any) -> str:
    """The name of a model; Cursor says "default" where it chose one itself."""
    return name if isinstance(name, str) and name != "default" else ""


def _other(said: dict[str, Any], memory: _Memory) -> Record:
    kind = str(said.get("fact") or ("update" if "update" in said else "deleted"))
    if kind == "chat":
        return _chat(said["chat"], memory)
    if kind == "project":
        return Record("project", cwd=string(said["project"], "folder"))
    if kind != "composer":
        return Record("leftover" if kind.startswith("leftover-") else kind)
    header = text_of_cell((said.get("header") or {}).get("value")) or {}
    own = text_of_cell((said.get("cursorDiskKV") or {}).get("value")) or {}
    facts = {**header, **{name: value for name, value in own.items() if value}}
    memory.model = _model((facts.get("modelConfig") or {}).get("modelName")) or memory.model
    place = (facts.get("workspaceIdentifier") or {}).get("uri") or {}
    repositories = facts.get("trackedGitRepos") or [{}]
    branches = repositories[0].get("branches") or [{}]
    return Record(
        "composer",
        title=facts.get("name") or facts.get("chatTitle") or "",
        cwd=place.get("fsPath") or said.get("folder") or "",
        branch=branches[0].get("branchName") or "",
        ts=milliseconds(facts.get("createdAt") or facts.get("lastSendTime")),
    )


def _bubble(id_: str, bubble: dict[str, Any], contents: dict[str, Any], memory: _Memory) -> Record:
    is_user = bubble.get("type") in (1, "user")
    record = Record("user" if is_user else "assistant", "prompt" if is_user else "reply", uuid=id_)
    record.ts = _time(bubble)
    memory.model = _model((bubble.get("modelInfo") or {}).get("modelName") or bubble.get("modelType")) or memory.model
    record.model = memory.model
    record.blocks = list(blocks_of(id_, bubble, contents))
    tokens = bubble.get("tokenCount") or {}
    given, made = tokens.get("inputTokens") or 0, tokens.get("outputTokens") or 0
    if not is_user and (given or made):
        record.usage = Usage(id_, record.model, given, made)
    return record


def _time(bubble: dict[str, Any]) -> int | None:
    created = bubble.get("createdAt")
    if isinstance(created, str):
        return milliseconds(created)
    return milliseconds(created or (bubble.get("timingInfo") or {}).get("clientRpcSendTime"))


def _transcript_line(said: dict[str, Any]) -> Record:
    if "message" not in said:
        return Record(str(said.get("type") or "control"))
    is_user = said["role"] == "user"
    record = Record("user" if is_user else "assistant", "prompt" if is_user else "reply")
    for item in said["message"]["content"]:
        if item["type"] == "text":
            record.blocks.append(Block(TEXT, _typed(item["text"]) if is_user else item["text"]))
        elif item["type"] == "tool_use":
            record.blocks.append(call_block(str(item.get("id") or ""), item["name"], item.get("input") or {}))
    return record


def _chat(facts: dict[str, Any], memory: _Memory) -> Record:
    memory.model = _model(facts.get("lastUsedModel"))
    title = string(facts, "title", "name")
    cwd = string(facts, "cwd", "workspace")
    return Record(
        "chat",
        title="" if title == _NO_TITLE else title,
        cwd=cwd,
        ts=milliseconds(facts.get("createdAt")),
    )


def _chat_message(id_: str, said: dict[str, Any], memory: _Memory) -> Record:
    """A message of the command line; those of the system and about the machine are context."""
    role, content = said["role"], said["content"]
    items = [{"type": "text", "text": content}] if isinstance(content, str) else content
    memory.model = _model(_options(said).get("modelName")) or memory.model
    record = Record("assistant" if role == "assistant" else "user", uuid=id_, model=memory.model)
    for item in items:
        kind = item["type"]
        memory.model = record.model = _model(_options(item).get("modelName")) or memory.model
        if kind == "text" and item["text"].strip():
            record.blocks.append(Block(TEXT, _typed(item["text"]) if role == "user" else item["text"]))
        elif kind == "reasoning" and item.get("text"):
            record.blocks.append(Block(THINKING, item["text"]))
        elif kind == "tool-call":
            record.blocks.append(call_block(item["toolCallId"], item["toolName"], item.get("args") or {}))
        elif kind == "tool-result":
            record.blocks.append(
                result_block(item["toolCallId"], item.get("result"), is_error=bool(item.get("isError")))
            )
    if role == "user":
        is_context = record.text.startswith(_CONTEXT)
        if is_context:
            return Record("context", cwd=workspace_in(record.text))
        record.role = "prompt"
    elif role not in ("assistant", "tool"):
        return Record("context")
    return record


def _options(of: dict[str, Any]) -> dict[str, Any]:
    return table(table(of, "providerOptions"), "cursor")


def _typed(text: str) -> str:
    """What a person typed, without what was put around it."""
    start, end = text.find(_QUERY[0]), text.rfind(_QUERY[1])
    return text[start + len(_QUERY[0]) : end].strip() if 0 <= start < end else text
