"""Gemini CLI's files, and the protocol for them."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.gemini.decode import KNOWN, Memory, decode
from hansard.clients.gemini.lines import read_lines
from hansard.clients.gemini.tools import KINDS, bare_output, tool_input
from hansard.clients.generic import GenericClient, Record
from hansard.clients.protocol import NEVER_DELETED, PathInfo, SideContent
from hansard.clients.tools import ToolUse
from hansard.clients.values import string, table
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hansard.clients.lines import Lines
    from hansard.clients.tools import ToolInput

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
        real = os.path.realpath(os.path.expanduser(path))
        chats = os.path.join(real, "tmp")
        if not _has_chats(chats) or os.path.isdir(os.path.join(real, "projects")):
            return None
        return Root(real, os.path.basename(real), self.name, self.layout, chats, real)

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
        """The record of one line."""
        return decode(line, memory)

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        """What a call was given in neutral terms."""
        return tool_input(tool, given)

    def tool_use(self, tool: str, given: Any, output: str) -> ToolUse:
        """What a call was given and gave, without what the client adds to outputs."""
        return ToolUse(tool_input(tool, given), output, bare_output(output))


def _has_chats(path: str) -> bool:
    """Whether a directory has projects with chats in it."""
    try:
        with os.scandir(path) as entries:
            return any(os.path.isdir(os.path.join(entry.path, "chats")) for entry in entries)
    except OSError:
        return False
