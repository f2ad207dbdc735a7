"""Small files beside Claude Code's transcripts: titles, what is known of subagents, todos and tasks."""

from __future__ import annotations

import json
import posixpath
from typing import Any

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.meaning import lenient
from hansard.clients.side_files import SideContent, SideFacts
from hansard.sources.names import storable

_meta = msgspec.json.Decoder(wire.AgentMeta).decode
_LONGEST_TITLE = 1 << 20


def read_side_file(kind: str, path: str, data: bytes) -> SideContent:
    """What one says; nothing where it has another shape."""
    if kind == "agent_meta":
        meta = lenient(_meta, msgspec.Raw(data))
        return SideContent(_agent(meta) if meta is not None else None)
    if kind == "title":
        return SideContent(_title(data) if len(data) < _LONGEST_TITLE else None)
    return SideContent(todos=_todos(path, data) if kind in ("todo", "task") else [])


def _agent(meta: wire.AgentMeta) -> SideFacts:
    return SideFacts(
        agent_type=meta.agent_type or "",
        description=meta.description or meta.name or "",
        parent_agent_id=meta.parent_agent_id or "",
        tool_use_id=meta.tool_use_id or "",
    )


def _title(data: bytes) -> SideFacts | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    title = value.get("customTitle") if isinstance(value, dict) else None
    return SideFacts(title=storable(title)) if isinstance(title, str) else None


def _todos(path: str, data: bytes) -> list[tuple[str, str]]:
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError):
        return []
    found = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            text = item.get("content") or item.get("subject") or posixpath.basename(path)
            found.append((storable(str(item.get("status") or "")), storable(str(text))))
    return found
