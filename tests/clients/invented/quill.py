"""Quill, an invented client: a JSON line per event, in an envelope and with tool names of its own."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.generic import (
    CALL,
    RESULT,
    TEXT,
    THINKING,
    Block,
    Content,
    GenericClient,
    Record,
    Replacement,
    Usage,
)
from hansard.clients.tools import Edit, Shell, ToolInput, Write
from hansard.sources.roots import FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hansard.model.tools import ToolKind

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_ROLES = {
    "human": ("user", "prompt"),
    "model": ("assistant", ""),
    "shell": ("user", "bash"),
    "fault": ("system", "error"),
}


class Quill(GenericClient):
    """Keeps a session in `~/.quill/sheets/<session>.jsonl`."""

    name = "quill"
    speaker = "Quill"
    tools: Mapping[str, ToolKind] = {"exec": "shell", "put": "write", "swap": "edit"}
    layout = Layout(main="sheets", folders={"sheets": LayoutFolder(log=FileKind.MAIN)})

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """QUILL_HOME, or ~/.quill."""
        path = environ.get("QUILL_HOME") or os.path.join(home, ".quill")
        return [path] if os.path.isdir(path) else []

    def open_root(self, path: str) -> Root | None:
        """A directory with sheets in it."""
        real = os.path.realpath(os.path.expanduser(path))
        sheets = os.path.join(real, "sheets")
        return (
            Root(real, os.path.basename(real), self.name, self.layout, sheets, real) if os.path.isdir(sheets) else None
        )

    def tool_input(self, tool: str, given: Any) -> ToolInput | None:
        """What the tools that have a view of their own were given."""
        match tool, given:
            case "exec", {"line": str(command)}:
                return Shell(command)
            case "put", {"file": str(path), "body": str(body)}:
                return Write(path, body)
            case "swap", {"file": str(path), "from": str(old), "to": str(new)}:
                return Edit(path, [(old, new)])
        return None

    def decode(self, line: bytes) -> Iterator[Record]:
        """One event."""
        event = _decode(line)
        who, what = event["who"], event.get("payload") or {}
        kind, role = _ROLES.get(who, (who, ""))
        record = Record(
            kind,
            role,
            ts=round(datetime.fromisoformat(event["t"]).timestamp() * 1000) if "t" in event else None,
            uuid=event.get("n", ""),
            parent_uuid=event.get("after", ""),
            cwd=event.get("at", ""),
            branch=event.get("ref", ""),
            version=event.get("quill", ""),
            title=what.get("heading", "") if who == "sheet" else "",
            is_aside=bool(event.get("helper")),
        )
        record.blocks = [block for piece in what.get("pieces", ()) if (block := _block(piece)) is not None]
        if spent := what.get("spent"):
            record.model = what.get("engine", "")
            record.usage = Usage(
                what["turn"],
                record.model,
                spent["in"],
                spent["out"],
                spent.get("warm", 0),
                is_final=spent.get("done", True),
            )
        yield record


def _block(piece: dict[str, Any]) -> Block | None:
    match piece:
        case {"say": str(text)}:
            return Block(TEXT, text)
        case {"muse": str(text)}:
            return Block(THINKING, text)
        case {"do": "exec", "ticket": str(ticket), "line": str(command)}:
            return Block(CALL, call_id=ticket, tool="exec", input={"line": command}, command=command)
        case {"do": "put", "ticket": str(ticket), "file": str(path), "body": str(body)}:
            given, changes = {"file": path, "body": body}, [Content(body.splitlines())]
            return Block(
                CALL, call_id=ticket, tool="put", input=given, path=path, change="create", changes=list(changes)
            )
        case {"do": "swap", "ticket": str(ticket), "file": str(path), "from": str(old), "to": str(new)}:
            given = {"file": path, "from": old, "to": new}
            changed = [Replacement(old, new)]
            return Block(
                CALL, call_id=ticket, tool="swap", input=given, path=path, change="edit", changes=list(changed)
            )
        case {"do": str(tool), "ticket": str(ticket)}:
            return Block(
                CALL, call_id=ticket, tool=tool, input={k: v for k, v in piece.items() if k not in ("do", "ticket")}
            )
        case {"done": str(ticket), **rest}:
            return Block(RESULT, str(rest.get("out", "")), call_id=ticket, is_error=not rest.get("ok", True))
    return None
