"""Cursor's directories, and the lines that its rows are kept as.

The tokens of an answer are recorded by versions of 2025 only; later ones write zeros, and nothing is counted for these.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hansard.clients.cursor.bubbles import TOOLS, blocks_of, tool_input
from hansard.clients.generic import CALL, TEXT, Block, GenericClient, Record, Usage
from hansard.clients.row_logs import database_root, milliseconds, moment_of, rows_info, text_of_cell
from hansard.sources.roots import FileKind, Layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.protocol import PathInfo
    from hansard.clients.row_logs import RowLog
    from hansard.clients.tools import ToolInput
    from hansard.sources.foreign import ForeignDatabase
    from hansard.sources.roots import Root

_ROWS = "rows"
_STATE = "state.vscdb"
_GLOBAL = f"globalStorage/{_STATE}"
_QUERY = ("<user_query>", "</user_query>")


class _Memory(Struct):
    """The model that the last prompt was given to."""

    model: str = ""


class Cursor(GenericClient):
    """Cursor, from 2023 on."""

    name = "cursor"
    speaker = "Cursor"
    layout = Layout(main=_ROWS, folders={}, files={_GLOBAL: FileKind.DATABASE}, rows=_ROWS)
    tools = TOOLS
    memory = _Memory

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
        """The `User` directory with the databases, `~/.cursor` with transcripts, or a directory with one database."""
        from hansard.clients.cursor.transcripts import transcript_files

        real = os.path.realpath(os.path.expanduser(path))
        workspaces = os.path.join(real, "workspaceStorage")
        names = [_GLOBAL, _STATE]
        if os.path.isdir(workspaces):
            names += [f"workspaceStorage/{name}/{_STATE}" for name in sorted(os.listdir(workspaces)) if name.isalnum()]
        files = [name for name in names if os.path.isfile(os.path.join(real, *name.split("/")))]
        files += transcript_files(real)
        if not files:
            return None
        layout = Layout(main=_ROWS, folders={}, files=dict.fromkeys(files, FileKind.DATABASE), rows=_ROWS)
        name = "cursor-transcripts" if files[0].startswith("projects/") else "cursor"
        return database_root(self.name, name, real, layout)

    def path_info(self, path: str) -> PathInfo:
        return rows_info(path)

    def database_rank(self, path: str) -> int:
        """The common database has more than those of workspaces, and these more than transcripts."""
        return 0 if path == _GLOBAL else 2 if path.endswith(".jsonl") else 1

    def row_logs(self, path: str, place: str, database: ForeignDatabase | None) -> Iterable[RowLog]:
        if database is None:
            from hansard.clients.cursor.transcripts import transcript_log

            return [transcript_log(path, place)]
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
        else:
            row = said.get("cursorDiskKV") or said["bubble"]
            contents = {item["key"]: item["value"] for item in said.get("contents", ())}
            yield _bubble(said["id"], text_of_cell(row["value"]), contents, memory)


def _model(name: Any) -> str:
    """The name of a model; Cursor says "default" where it chose one itself."""
    return name if isinstance(name, str) and name != "default" else ""


def _other(said: dict[str, Any], memory: _Memory) -> Record:
    kind = str(said.get("fact") or ("update" if "update" in said else "deleted"))
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
        return moment_of(created)
    return milliseconds(created or (bubble.get("timingInfo") or {}).get("clientRpcSendTime"))


def _transcript_line(said: dict[str, Any]) -> Record:
    if "message" not in said:
        return Record(str(said.get("type") or "control"))
    is_user = said["role"] == "user"
    record = Record("user" if is_user else "assistant", "prompt" if is_user else "reply")
    for number, item in enumerate(said["message"]["content"]):
        if item["type"] == "text":
            record.blocks.append(Block(TEXT, _typed(item["text"]) if is_user else item["text"]))
        elif item["type"] == "tool_use":
            given = item.get("input") or {}
            record.blocks.append(Block(CALL, call_id=str(item.get("id") or ""), tool=item["name"], input=given))
            record.blocks[number].path = str(given.get("path") or "") if isinstance(given, dict) else ""
    return record


def _typed(text: str) -> str:
    """What a person typed, without what was put around it."""
    start, end = text.find(_QUERY[0]), text.rfind(_QUERY[1])
    return text[start + len(_QUERY[0]) : end].strip() if 0 <= start < end else text
