"""Qwen Code's files, and the protocol for them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.gemini.tools import KINDS, bare_output, tool_input
from hansard.clients.generic import GenericClient, Record
from hansard.clients.protocol import PathInfo, SideContent, SideFacts
from hansard.clients.qwen.decode import KNOWN, Memory, decode
from hansard.clients.tools import ToolUse
from hansard.clients.values import string
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hansard.clients.tools import ToolInput

_AGENTS = LayoutFolder(
    patterns=(("agent-", ".jsonl", FileKind.AGENT), ("agent-", ".meta.json", FileKind.AGENT_META)), deeper=None
)
_PROJECT = LayoutFolder(
    folders={"chats": LayoutFolder(log=FileKind.MAIN, deeper=NOT_KEPT), "subagents": LayoutFolder(deeper=_AGENTS)},
    named={"meta.json": FileKind.OTHER},
    deeper=NOT_KEPT,
)
_PROJECTS = LayoutFolder(deeper=_PROJECT)
_SUBAGENT_PARTS = 5  # projects/<project>/subagents/<session>/agent-<id>.jsonl


class QwenCode(GenericClient):
    """Keeps a session in `~/.qwen/projects/<project>/chats/<session>.jsonl`, once in `~/.qwen/tmp/<hash>/chats`."""

    name = "qwen"
    speaker = "Qwen"
    tools = KINDS
    memory = Memory
    known_kinds = KNOWN
    permission_facts = frozenset({"denials"})
    layout = Layout(main="projects", folders={"projects": _PROJECTS, "tmp": _PROJECTS})

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """QWEN_RUNTIME_DIR, QWEN_HOME, or `.qwen` in the home directory, on every system."""
        places = (environ.get("QWEN_RUNTIME_DIR"), environ.get("QWEN_HOME") or os.path.join(home, ".qwen"))
        return [path for path in places if path and _has_chats(path)]

    def open_root(self, path: str) -> Root | None:
        """A directory whose projects have chats."""
        real = os.path.realpath(os.path.expanduser(path))
        if not _has_chats(real):
            return None
        return Root(real, os.path.basename(real), self.name, self.layout, os.path.join(real, "projects"), real)

    def path_info(self, path: str) -> PathInfo:
        """A chat is named after its session; a subagent's file is in a folder named so."""
        parts = path.split("/")
        project = parts[1] if len(parts) > 2 else ""
        name = parts[-1].removesuffix(".jsonl").removesuffix(".meta.json")
        if len(parts) == _SUBAGENT_PARTS and parts[2] == "subagents":
            return PathInfo(parts[3], name.removeprefix("agent-"), project)
        return PathInfo(name if "chats" in parts else "", project_dir=project)

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:  # noqa: ARG002
        """What the file beside a subagent's transcript says about it."""
        if kind != FileKind.AGENT_META:
            return SideContent()
        try:
            meta = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return SideContent()
        return SideContent(
            SideFacts(
                agent_type=string(meta, "agentType", "subagentName"),
                description=string(meta, "description"),
                parent_agent_id=string(meta, "parentAgentId"),
                tool_use_id=string(meta, "toolUseId"),
            )
        )

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
    """Whether a directory has `projects` with chats; Claude Code's have none."""
    for folder in ("projects", "tmp"):
        try:
            with os.scandir(os.path.join(path, folder)) as entries:
                if any(os.path.isdir(os.path.join(entry.path, "chats")) for entry in entries):
                    return os.path.isdir(os.path.join(path, "projects"))
        except OSError:
            continue
    return False
