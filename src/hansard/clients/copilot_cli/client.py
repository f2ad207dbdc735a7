"""Copilot CLI's files, and the protocol for them."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from hansard.clients.copilot_cli.decode import KNOWN, Memory, decode
from hansard.clients.copilot_cli.tools import KINDS, tool_input
from hansard.clients.copilot_cli.usage import Tokens
from hansard.clients.generic import RESULT, GenericClient, Record, Usage, stated
from hansard.clients.lines import ParsedLine
from hansard.clients.protocol import PathInfo, SideContent, SideFacts
from hansard.clients.usage import Answer, dated
from hansard.lazy_regex import lazy_compile
from hansard.sources.roots import NOT_KEPT, FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hansard.clients.tools import ToolInput

_SESSION = LayoutFolder(
    named={"events.jsonl": FileKind.MAIN, "workspace.yaml": FileKind.TITLE, "plan.md": FileKind.PLAN},
    folders={"checkpoints": LayoutFolder(suffixes={".md": FileKind.OTHER})},
    deeper=NOT_KEPT,  # rewind snapshots, which are copies of the user's files, and a database that is made from the events
)
_SESSIONS = LayoutFolder(log=FileKind.MAIN, deeper=_SESSION)
_TITLE = lazy_compile(rb"(?m)^(name|summary):[ \t]*+(\S[^\r\n]*)")
_LONGEST = 1 << 16  # bytes of a workspace.yaml
_NOTICE = lazy_compile(r"</?system_notification>")


class CopilotCli(GenericClient):
    """Keeps a session in `~/.copilot/session-state/<session>/events.jsonl`, once in `session-state/<session>.jsonl`."""

    name = "copilot-cli"
    speaker = "Copilot"
    tools = KINDS
    memory = Memory
    known_kinds = KNOWN
    layout = Layout(main="session-state", folders={"session-state": _SESSIONS, "history-session-state": _SESSIONS})

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """COPILOT_HOME, or `.copilot` in the home directory, on every system."""
        path = environ.get("COPILOT_HOME") or os.path.join(home, ".copilot")
        return [path] if os.path.isdir(os.path.join(path, "session-state")) else []

    def open_root(self, path: str) -> Root | None:
        """A directory with `session-state` in it."""
        real = os.path.realpath(os.path.expanduser(path))
        sessions = os.path.join(real, "session-state")
        if not os.path.isdir(sessions):
            return None
        return Root(real, os.path.basename(real), self.name, self.layout, sessions, real)

    def path_info(self, path: str) -> PathInfo:
        """The session is the folder, or the name of the file."""
        parts = path.split("/")
        return PathInfo(parts[1].removesuffix(".jsonl") if len(parts) > 1 else "")

    def side_file(self, kind: str, path: str, data: bytes) -> SideContent:  # noqa: ARG002
        """The name that a workspace.yaml gives to its session."""
        if kind != FileKind.TITLE or len(data) > _LONGEST:
            return SideContent()
        found = dict(_TITLE.findall(data))
        title = (found.get(b"name") or found.get(b"summary") or b"").decode("utf-8", "replace").strip()
        if title[:1] in ("'", '"') and title[-1:] == title[:1]:
            title = title[1:-1]
        return SideContent(SideFacts(title=title)) if title and title not in ("|", ">", "|-", ">-") else SideContent()

    def decode_next(self, line: bytes, memory: Memory) -> Iterator[Record]:
        """The record of one event."""
        return decode(line, memory)

    def answer(self, line: bytes) -> Answer | None:
        """The answer of the model that a line has; a message by itself often does not say which model gave it."""
        for item in self.items(line, 0, Memory(Tokens(model="(not stated)"))):
            if not isinstance(item, ParsedLine):
                continue
            record: Record = item.body
            if record.usage is None and any(block.kind == RESULT for block in record.blocks):
                record.usage = Usage("", is_final=False)  # it says which model gave the messages before it
            if record.usage is not None:
                reason = "end" if record.usage.is_final else None
                stating = partial(stated, record)
                return Answer(record.uuid or None, dated(record.ts), reason, "", record.is_aside, stating)
        return None

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        """What a call was given in neutral terms."""
        return tool_input(tool, given)

    def notice(self, text: str) -> str:
        """A notification without the tags around it."""
        return _NOTICE.sub("", text).strip()
