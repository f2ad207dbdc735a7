"""Gemini CLI's files and messages as neutral records.

A log has a message again whenever it grows, and all of them again after a resume, then without tool calls and tokens. So a block counts
where it is first: what a file said of a message at any time is joined, and nothing that a later snapshot leaves out is lost.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from hansard.clients.documents import BETWEEN, DocumentLines, SplitLines, around, first_line, is_in_document, list_start
from hansard.clients.gemini.tools import (
    KINDS,
    bare_output,
    change_of,
    denied_by,
    output_of,
    path_of,
    tool_input,
    tool_name,
    written,
)
from hansard.clients.generic import CALL, IMAGE, NOTHING, RESULT, TEXT, THINKING, Block, GenericClient, Record, Usage
from hansard.clients.protocol import NEVER_DELETED, PathInfo, SideContent
from hansard.clients.state import NAME_LENGTH, digest
from hansard.clients.tools import ToolUse
from hansard.clients.values import decode_object, milliseconds, string, table, tables, whole
from hansard.lazy_regex import lazy_compile
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.lines import Lines
    from hansard.clients.tools import ToolInput

_NAME = b"messages"
_SNAPSHOT = lazy_compile(rb'\s*+\{\s*+"\$set"\s*+:\s*+\{')
_SESSION = lazy_compile(rb'\s*+\{\s*+"(?:sessionId|projectHash|startTime|messages)"\s*+:')


def read_lines(pieces: Iterable[bytes], start: int) -> Lines:
    """The records of a document up to 0.38, or of a log, where a snapshot of all messages is one line."""
    first, pieces = first_line(pieces)
    if is_in_document(first) if start else _is_document(first):
        return DocumentLines(pieces, start, _opening)
    return SplitLines(pieces, start, _opening_in_line)


def _is_document(first: bytes) -> bool:
    """Whether a file does not begin with a line that is an object by itself."""
    line, newline, _ = first.lstrip().partition(b"\n")
    return line.strip() == b"{" or (not newline and _opening(line) > 0)


def _opening(data: bytes) -> int:
    return list_start(data, _NAME, 1)


def _opening_in_line(line: bytes) -> int:
    if _SNAPSHOT.match(line):
        return list_start(line, _NAME, 2)
    return _opening(line) if _SESSION.match(line) else 0


_MOST_SEEN = 50_000  # blocks that are remembered
_MOST_LIVE = 2_000  # messages that can be rewound to
_KEY = 12  # characters of a digest
_WORKSPACE = lazy_compile(r"Workspace Director(?:y|ies):\**\s+-\s+(\S[^\n]*)|current working directory:? *(\S[^\n]*)")
_CONTEXT = ("<session_context>", "<hook_context>")
KNOWN = frozenset({"session", "$set", "$set.messages", "repeated", "session_context"})
_FIELDS = frozenset("id sessionId timestamp type content displayContent thoughts tokens model toolCalls".split())
_ROLES = {"info": "note", "warning": "note", "error": "error"}


class Memory(Struct, gc=False, omit_defaults=True):
    """Which blocks a file had already, and which messages are part of the conversation now."""

    seen: dict[str, None] = {}
    live: list[str] = []
    rewinds: int = 0
    count: int = 0  # messages so far: of those without ids, the number tells them apart

    def is_new(self, *parts: str) -> bool:
        """Note a block; False if it was there before."""
        key = digest("\n".join(parts))[:_KEY]
        if key in self.seen:
            return False
        self.seen[key] = None
        if len(self.seen) > _MOST_SEEN:
            del self.seen[next(iter(self.seen))]
        return True

    def follow(self, message: str) -> str:
        """Add a message to the conversation; returns the one before it."""
        last = self.live[-1] if self.live else ""
        if message:
            self.live.append(message)
            del self.live[:-_MOST_LIVE]
        return last

    def rewind(self, message: str) -> None:
        """Take back a message and everything after it; everything if it is unknown."""
        self.live = self.live[: self.live.index(message)] if message in self.live else []


def decode(line: bytes, memory: Memory) -> Iterator[Record]:
    """The record of one line: a message, or something about the session."""
    text = line.strip(BETWEEN)
    if (facts := around(text)) is not None:  # what is before or after the messages of a document or a snapshot
        yield _session(table(facts, "$set"), "$set.messages") if "$set" in facts else _session(facts)
        return
    message = decode_object(text)
    if "$set" in message:
        yield _session(table(message, "$set"), "$set")
    elif "$rewindTo" in message:
        memory.rewind(string(message, "$rewindTo")[:NAME_LENGTH])
        memory.rewinds += 1
        yield Record(
            "system",
            "rewind",
            uuid=f"rewind-{memory.rewinds}",
            parent_uuid=memory.live[-1] if memory.live else "",
            blocks=[Block(TEXT, "Rewound: what was said after this place was taken back")],
        )
    elif "type" in message:
        yield _message(message, memory)
    else:
        yield _session(message)


def _session(facts: dict[str, Any], kind: str = "session") -> Record:
    record = Record(kind, session_id=string(facts, "sessionId"), title=string(facts, "summary"))
    times = (milliseconds(facts.get("startTime")), milliseconds(facts.get("lastUpdated")))
    record.ts = next((time for time in times if time is not None), None)
    folders = facts.get("directories")
    if isinstance(folders, list) and folders and isinstance(folders[0], str):
        record.cwd = folders[0]
    return record


def _message(message: dict[str, Any], memory: Memory) -> Record:
    kind, key = string(message, "type"), string(message, "id")[:NAME_LENGTH]
    record = Record(kind, ts=milliseconds(message.get("timestamp")), uuid=key)
    record.unknown = [(kind, name) for name in message if name not in _FIELDS]
    memory.count += 1
    parts = list(_parts(message.get("content")))
    if kind == "gemini":
        record.kind, record.model = "assistant", string(message, "model")
        record.blocks = _answer(message, parts)
        record.usage = _usage(message, key or f"#{memory.count}")
    elif kind == "user":
        record.kind = "user"
        record.blocks = [block for part in parts for block in _given(part)]
        shown = list(_parts(message.get("displayContent")))
        if shown and not any(block.kind == RESULT for block in record.blocks):
            images = [block for block in record.blocks if block.kind == IMAGE]
            record.blocks = [*(block for part in shown for block in _given(part)), *images]
        said = record.text.lstrip()
        if said.startswith(_CONTEXT):
            found = _WORKSPACE.search(said[:20_000])
            return Record("session_context", ts=record.ts, cwd=(found[1] or found[2]).strip() if found else "")
        record.role = "" if not said else "command" if said[0] in "/?" else "prompt"
    elif kind in _ROLES:
        record.kind, record.role = "system", _ROLES[kind]
        record.blocks = [Block(TEXT, said) for part in parts if (said := string(part, "text"))]
    else:
        return record
    numbers: dict[str, int] = {}
    is_first = not key or memory.is_new("message", kind, key)
    for block in record.blocks:
        name = block.call_id
        if block.kind not in (CALL, RESULT):
            number = numbers[block.kind] = numbers.get(block.kind, -1) + 1
            name = f"{kind} {key} {number}"
        if key and not memory.is_new(block.kind, name):
            block.kind = NOTHING
    if record.blocks and record.usage is None and all(block.kind == NOTHING for block in record.blocks):
        return Record("repeated", ts=record.ts)
    if is_first:
        record.parent_uuid = memory.follow(key)
    else:  # the rest of a message that was there before
        record.uuid, record.parent_uuid = "", key
    return record


def _parts(content: Any) -> Iterator[dict[str, Any]]:
    for part in content if isinstance(content, list) else (content,):
        if isinstance(part, str):
            yield {"text": part}
        elif isinstance(part, dict):
            yield part


def _given(part: dict[str, Any]) -> Iterator[Block]:
    """The blocks of a user's part."""
    if response := table(part, "functionResponse"):
        yield Block(
            RESULT,
            output_of(response, None),
            call_id=string(response, "id"),
            is_error="error" in table(response, "response"),
        )
    elif data := table(part, "inlineData"):
        yield Block(IMAGE, string(data, "data"), media_type=string(data, "mimeType"))
    elif text := string(part, "text"):
        yield Block(TEXT, text)


def _answer(message: dict[str, Any], parts: Iterable[dict[str, Any]]) -> list[Block]:
    """The blocks of an answer; newer files have thoughts and calls in the content too."""
    thoughts = [
        "\n\n".join(filter(None, (string(thought, "subject"), string(thought, "description"))))
        for thought in tables(message, "thoughts")
    ]
    calls = tables(message, "toolCalls")
    texts: list[Block] = []
    in_content = []
    for part in parts:
        if part.get("thought") is True:
            if not message.get("thoughts"):
                thoughts.append(string(part, "text"))
        elif call := table(part, "functionCall"):
            in_content.append(call)
        elif text := string(part, "text"):
            texts.append(Block(TEXT, text))
    blocks = [Block(THINKING, thought) for thought in thoughts if thought] + texts
    for number, call in enumerate(calls or in_content):
        blocks += _call(call, string(call, "id") or f"{string(message, 'id')}-{number}")
    return blocks


def _call(call: dict[str, Any], call_id: str) -> Iterator[Block]:
    """A call, and its result if it has one."""
    tool, given, display = string(call, "name"), call.get("args"), call.get("resultDisplay")
    block = Block(CALL, call_id=call_id, tool=tool_name(tool, string(call, "displayName")), input=given)
    if isinstance(given, dict):
        block.path = string(display, "filePath") or path_of(given)
        block.change, block.changes = change_of(tool, given)
        block.command = string(given, "command") or None if tool in ("run_shell_command", "run_command") else None
    status, results = string(call, "status"), tables(call, "result")
    diff, made, changes = written(display)
    block.change = made or block.change
    yield block
    if results or (display is not None and status):
        response = table(results[0], "functionResponse") if results else {}
        yield Block(
            RESULT,
            output_of(response, display),
            call_id=call_id,
            is_error=status in ("error", "cancelled") or "error" in table(response, "response"),
            denied_by=denied_by(output_of(response, display)) if status == "cancelled" else "",
            patch=diff,
            written=changes or None,
            agent_id=string(call, "agentId"),
            ts=milliseconds(call.get("timestamp")),
        )


def _usage(message: dict[str, Any], key: str) -> Usage | None:
    tokens = table(message, "tokens")
    if not tokens:
        return None
    cached, thought = whole(tokens, "cached"), whole(tokens, "thoughts")
    given = whole(tokens, "input") + whole(tokens, "tool")
    return Usage(
        key,
        string(message, "model"),
        max(0, given - cached),
        whole(tokens, "output") + thought,
        cached,
    )


_AGENTS = LayoutFolder(log=FileKind.AGENT, suffixes={".json": FileKind.AGENT})
_CHATS = LayoutFolder(log=FileKind.MAIN, suffixes={".json": FileKind.MAIN}, deeper=_AGENTS)
_PROJECT = LayoutFolder(
    named={"logs.json": FileKind.OTHER, ".project_root": FileKind.PROJECT}, folders={"chats": _CHATS}, deeper=NOT_KEPT
)
_DAYS = 30  # after which sessions are deleted by default
_UNITS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}


class GeminiCli(GenericClient):
    """Keeps a session in `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, up to 0.38 in a `.json` document."""

    name = "gemini"
    speaker = "Gemini"
    tools = KINDS
    memory = Memory
    known_kinds = KNOWN
    permission_facts = frozenset({"denials"})
    cleans_by_records = True
    layout = Layout(
        main="tmp",
        folders={"tmp": LayoutFolder(deeper=_PROJECT)},
        files={"projects.json": FileKind.PROJECT},  # oauth_creds.json and the like are beside it
    )

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """`.gemini` in GEMINI_CLI_HOME, or in the home directory, on every system."""
        path = os.path.join(environ.get("GEMINI_CLI_HOME") or home, ".gemini")
        return [path] if os.path.isdir(os.path.join(path, "tmp")) else []

    def open_root(self, path: str) -> Root | None:
        """A directory whose `tmp` has projects with chats; Qwen Code's once had `tmp` too, and has `projects`."""
        return None if os.path.isdir(os.path.join(os.path.expanduser(path), "projects")) else super().open_root(path)

    def cleanup_days(self, root: Root) -> int:
        """`general.sessionRetention` of the settings; 30 days unless it says otherwise."""
        try:
            with open(os.path.join(root.config or "", "settings.json"), "rb") as file:
                settings = msgspec.json.decode(file.read())
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _DAYS if root.config else NEVER_DELETED
        retention = table(table(settings, "general"), "sessionRetention")
        if retention.get("enabled") is False:
            return NEVER_DELETED
        age = string(retention, "maxAge")
        if age[:-1].isdecimal() and age[-1] in _UNITS:
            return max(1, round(int(age[:-1]) * _UNITS[age[-1]]))
        return _DAYS

    def path_info(self, path: str) -> PathInfo:
        """The project's folder; subagents are in a folder with the id of their session."""
        parts = path.split("/")
        project = parts[1] if len(parts) > 2 else ""
        stem = parts[-1].rpartition(".")[0]
        if len(parts) == 5:
            return PathInfo(parts[3], stem, project)
        return PathInfo(project_dir=project, stem=stem) if "chats" in parts else PathInfo(project_dir=project)

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:
        """The directories of projects: their folders are named by a word, or by a hash of the directory."""
        if kind != FileKind.PROJECT:
            return SideContent()
        if path.endswith(".project_root"):
            return SideContent(folders={path.split("/")[1]: data.decode("utf-8", "replace").strip()})
        try:
            listed = table(msgspec.json.decode(data), "projects")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return SideContent()
        words = {name: place for place, name in listed.items() if isinstance(name, str)}
        return SideContent(folders=words | {sha256(place.encode()).hexdigest(): place for place in listed})

    def lines(self, pieces: Iterable[bytes], start: int) -> Lines:
        """Lines of a log, or messages of a document."""
        return read_lines(pieces, start)

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        return decode(line, memory)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        return tool_input(tool, given)

    def tool_use(self, tool: str, given: Any, output: str) -> ToolUse:
        """What a call was given and gave, without what the client adds to outputs."""
        return ToolUse(tool_input(tool, given), output, bare_output(output))
