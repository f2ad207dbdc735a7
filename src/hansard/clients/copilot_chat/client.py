"""Copilot Chat's files, and the protocol for them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients import EDITORS, places_of
from hansard.clients.copilot_chat.decode import Memory, decode
from hansard.clients.copilot_chat.lines import read_lines
from hansard.clients.copilot_chat.tools import KINDS, tool_input
from hansard.clients.generic import Record
from hansard.clients.imported import ImportedClient, json_objects
from hansard.clients.protocol import PathInfo, SideContent
from hansard.clients.values import path_of_uri, string, table, tables
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.lines import Issue, Lines
    from hansard.clients.tools import ToolInput

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
        """The record of one request or entry."""
        return decode(line, memory)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        """What a call was given in neutral terms."""
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
