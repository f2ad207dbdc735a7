"""Files of Cline and of the extensions that were made from it, and the protocol for them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients import EDITORS, places_of
from hansard.clients.cline import sessions
from hansard.clients.cline.decode import KNOWN, SHELL, Memory, decode
from hansard.clients.cline.sessions import MESSAGES
from hansard.clients.documents import DocumentLines, list_start
from hansard.clients.generic import GenericClient, Record
from hansard.clients.protocol import PathInfo, SideContent, SideFacts
from hansard.clients.tools import Read, Search, Shell, ToolInput, Write, facts_of, text_of, tools_by_kind
from hansard.clients.values import decode_object, string, table
from hansard.lazy_regex import lazy_compile
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.model.tools import ToolKind

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_LIST = lazy_compile(rb"\s*+\[")
_KIND = lazy_compile(rb'"(?:ask|say)"\s*+:\s*+"(\w++)"(?!\s*:)')
_CALLS = frozenset({b"command", b"use_mcp_server", b"browser_action_launch", b"browser_action"})
_OUTPUTS = frozenset({b"command_output", b"mcp_server_response", b"browser_action_result"})
_SEARCHED = 300  # bytes: the kind is one of the first values of a message


class TaskLines(DocumentLines):
    """Messages, one at a time."""

    def __init__(self, pieces: Iterable[bytes], offset: int) -> None:
        super().__init__(pieces, offset, _opening, is_list=True)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        held: tuple[int, bytes] | None = None
        held_kind = b""
        for offset, line in super().__iter__():
            found = _KIND.search(line[:_SEARCHED])
            kind = found[1] if found else b""
            if held is not None:
                if kind in _OUTPUTS or (kind == held_kind and _is_repeated(held[1], line)):
                    held = held[0], self.between(held[0], offset + len(line))
                    continue
                yield held
                held = None
            if kind in _CALLS:
                held, held_kind = (offset, line), kind
            else:
                yield offset, line
        if held is not None:
            yield held


def _opening(data: bytes) -> int:
    """The end of the bracket that opens the messages: those of a task are a list by themselves."""
    found = _LIST.match(data)
    return found.end() if found is not None else list_start(data, b"messages", 1)


def _is_repeated(asked: bytes, said: bytes) -> bool:
    """Whether a call is the one that the user was asked about just before, and approved."""
    try:
        one, two = _decode(asked), _decode(said)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return "ask" in one and "say" in two and one.get("text") == two.get("text")


_TASK = LayoutFolder(
    named={
        "ui_messages.json": FileKind.MAIN,
        "claude_messages.json": FileKind.MAIN,  # its name once
        "api_conversation_history.json": FileKind.LOG,  # the same conversation, with the results of tools
        "task_metadata.json": FileKind.OTHER,
        "context_history.json": FileKind.OTHER,
        "history_item.json": FileKind.OTHER,
    },
    deeper=NOT_KEPT,  # checkpoints
)
_SESSION = LayoutFolder(
    patterns=(("agent_", MESSAGES, FileKind.AGENT), ("", MESSAGES, FileKind.MAIN)), suffixes={".json": FileKind.TITLE}
)


class Cline(GenericClient):
    """Keeps a task in `tasks/<id>/ui_messages.json` of its extension's folder, or of `~/.cline/data`."""

    name = "cline"
    speaker = "Cline"
    is_usage_first = True
    extension = "saoudrizwan.claude-dev"
    memory = Memory
    known_kinds = KNOWN
    layout = Layout(
        main="tasks",
        folders={
            "tasks": LayoutFolder(named={"_index.json": FileKind.OTHER}, deeper=_TASK),
            "sessions": LayoutFolder(deeper=_SESSION),
            "state": LayoutFolder(named={"taskHistory.json": FileKind.OTHER}, deeper=NOT_KEPT),
        },
    )
    tools: Mapping[str, ToolKind] = tools_by_kind(
        {
            "shell": f"{SHELL} run_commands",
            "read": "read_files readFile",
            "edit": "editor editedExistingFile appliedDiff insertContent searchAndReplace",
            "search": "search_codebase searchFiles codebaseSearch listFilesTopLevel listFilesRecursive listCodeDefinitionNames",
            "fetch": "fetch_web_content webFetch",
            "spawn": "spawn_agent newTask",
            "ask": "ask_question",
            "write": "newFileCreated",
            "web_search": "webSearch",
            "todo": "updateTodoList",
        }
    )

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """The extension's folder in every editor that is built from VS Code."""
        found = [os.path.join(user, "globalStorage", self.extension) for user in places_of(EDITORS, environ, home)]
        places = dict.fromkeys([*self._own(environ, home), *found])
        return [
            path for path in places if any(os.path.isdir(os.path.join(path, name)) for name in ("tasks", "sessions"))
        ]

    def _own(self, environ: Mapping[str, str], home: str) -> list[str]:
        """CLINE_DATA_DIR, CLINE_DIR, or `~/.cline`."""
        given = environ.get("CLINE_DATA_DIR")
        return [given or os.path.join(environ.get("CLINE_DIR") or os.path.join(home, ".cline"), "data")]

    def open_root(self, path: str) -> Root | None:
        """A directory with tasks; one of another extension is known by its name."""
        name = os.path.basename(os.path.realpath(os.path.expanduser(path)))
        others = {kind.extension for kind in (Cline, Roo, Kilo)} - {self.extension}
        if name in others or (name != self.extension and self.name != "cline"):
            return None
        return super().open_root(path)

    def path_info(self, path: str) -> PathInfo:
        """The session is the folder of the task or of the session."""
        top, *parts = path.split("/")
        if top not in ("tasks", "sessions") or len(parts) < 2:
            return PathInfo()
        session, name = parts[0], parts[-1]
        if top == "tasks":
            return PathInfo(session)
        return PathInfo(session, name.removesuffix(MESSAGES) if name.startswith("agent_") else "", session)

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:
        """The title and the directory of a session."""
        if kind != FileKind.TITLE:
            return SideContent()
        try:
            facts = decode_object(data)
        except ValueError:
            return SideContent()
        title, cwd = string(table(facts, "metadata"), "title"), string(facts, "cwd", "workspace_root")
        return SideContent(SideFacts(title=title), folders={path.split("/")[1]: cwd} if cwd else {})

    def lines(self, pieces: Iterable[bytes], start: int) -> DocumentLines:
        """Each message of the list, with the outputs that follow it."""
        return TaskLines(pieces, start)

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        return decode(line, memory)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        if isinstance(given, dict) and (known := sessions.tool_input(tool, given)) is not None:
            return known
        match self.tools.get(tool):
            case "shell":
                return Shell(text_of(given, "command"))
            case "read" if "path" in given:
                return Read(text_of(given, "path"))
            case "write":
                return Write(text_of(given, "path"), text_of(given, "content"))
            case "search":
                return Search(text_of(given, "regex") or text_of(given, "path"), facts_of(given, "path", "filePattern"))
        return None


class Roo(Cline):
    """Roo Code."""

    name = "roo"
    speaker = "Roo"
    extension = "rooveterinaryinc.roo-cline"

    def _own(self, environ: Mapping[str, str], home: str) -> list[str]:  # noqa: ARG002
        return []


class Kilo(Roo):
    """Kilo Code."""

    name = "kilo"
    speaker = "Kilo"
    extension = "kilocode.kilo-code"
