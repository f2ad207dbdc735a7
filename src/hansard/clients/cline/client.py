"""Files of Cline and of the extensions that were made from it, and the protocol for them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hansard.clients import EDITORS, places_of
from hansard.clients.cline.decode import SHELL, Memory, decode
from hansard.clients.cline.lines import TaskLines
from hansard.clients.generic import GenericClient, Record
from hansard.clients.protocol import PathInfo
from hansard.clients.tools import Read, Search, Shell, ToolInput, Write, facts_of, text_of
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.documents import DocumentLines
    from hansard.model.tools import ToolKind

_TASK = LayoutFolder(
    named={
        "ui_messages.json": FileKind.MAIN,
        "claude_messages.json": FileKind.MAIN,  # its name once
        "api_conversation_history.json": FileKind.OTHER,
        "task_metadata.json": FileKind.OTHER,
        "context_history.json": FileKind.OTHER,
        "history_item.json": FileKind.OTHER,
    },
    deeper=NOT_KEPT,  # checkpoints
)


class Cline(GenericClient):
    """Keeps a task in `tasks/<id>/ui_messages.json` of its extension's folder, or of `~/.cline/data`."""

    name = "cline"
    speaker = "Cline"
    extension = "saoudrizwan.claude-dev"
    memory = Memory
    layout = Layout(
        main="tasks",
        folders={
            "tasks": LayoutFolder(named={"_index.json": FileKind.OTHER}, deeper=_TASK),
            "state": LayoutFolder(named={"taskHistory.json": FileKind.OTHER}, deeper=NOT_KEPT),
        },
    )
    tools: Mapping[str, ToolKind] = {
        SHELL: "shell",
        "readFile": "read",
        "newFileCreated": "write",
        "editedExistingFile": "edit",
        "appliedDiff": "edit",
        "insertContent": "edit",
        "searchAndReplace": "edit",
        "searchFiles": "search",
        "codebaseSearch": "search",
        "listFilesTopLevel": "search",
        "listFilesRecursive": "search",
        "listCodeDefinitionNames": "search",
        "webFetch": "fetch",
        "webSearch": "web_search",
        "newTask": "spawn",
        "updateTodoList": "todo",
    }

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """The extension's folder in every editor that is built from VS Code."""
        found = [os.path.join(user, "globalStorage", self.extension) for user in places_of(EDITORS, environ, home)]
        places = dict.fromkeys([*self._own(environ, home), *found])
        return [path for path in places if os.path.isdir(os.path.join(path, "tasks"))]

    def _own(self, environ: Mapping[str, str], home: str) -> list[str]:
        """CLINE_DATA_DIR, CLINE_DIR, or `~/.cline`."""
        given = environ.get("CLINE_DATA_DIR")
        return [given or os.path.join(environ.get("CLINE_DIR") or os.path.join(home, ".cline"), "data")]

    def open_root(self, path: str) -> Root | None:
        """A directory with tasks; one of another extension is known by its name."""
        real = os.path.realpath(os.path.expanduser(path))
        tasks, name = os.path.join(real, "tasks"), os.path.basename(real)
        others = {kind.extension for kind in (Cline, Roo, Kilo)} - {self.extension}
        if name in others or (name != self.extension and self.name != "cline") or not _has_task(tasks):
            return None
        return Root(real, name, self.name, self.layout, tasks, real)

    def path_info(self, path: str) -> PathInfo:
        """The session is the task's folder."""
        parts = path.split("/")
        return PathInfo(parts[1] if parts[0] == "tasks" and len(parts) > 2 else "")

    def lines(self, pieces: Iterable[bytes], start: int) -> DocumentLines:
        """Each message of the list, with the outputs that follow it."""
        return TaskLines(pieces, start)

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        """The record of one message."""
        return decode(line, memory)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        """What a call was given in neutral terms."""
        match self.tools.get(tool):
            case "shell":
                return Shell(text_of(given, "command"))
            case "read":
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


def _has_task(path: str) -> bool:
    """Whether a folder has tasks in it."""
    try:
        with os.scandir(path) as entries:
            return any(
                os.path.isfile(os.path.join(entry.path, name))
                for entry in entries
                for name in ("ui_messages.json", "claude_messages.json")
            )
    except OSError:
        return False
