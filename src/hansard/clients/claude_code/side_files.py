"""Small files beside Claude Code's transcripts: titles, what is known of subagents, todos and tasks."""

from __future__ import annotations

import json
import posixpath
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.meaning import lenient, milliseconds
from hansard.clients.protocol import ListedSession, SideContent, SideFacts
from hansard.sources.names import storable

if TYPE_CHECKING:
    from collections.abc import Iterator

_meta = msgspec.json.Decoder(wire.AgentMeta).decode
_LONGEST_TITLE = 1 << 20


def read_side_file(kind: str, path: str, data: bytes) -> SideContent:
    """What one says; nothing where it has another shape."""
    if kind == "agent_meta":
        meta = lenient(_meta, msgspec.Raw(data))
        return SideContent(_agent(meta) if meta is not None else None)
    if kind == "title":
        return _titles(path, data) if len(data) < _LONGEST_TITLE else SideContent()
    return SideContent(todos=_todos(path, data) if kind in ("todo", "task") else [])


def _agent(meta: wire.AgentMeta) -> SideFacts:
    return SideFacts(
        agent_type=meta.agent_type or "",
        description=meta.description or meta.name or "",
        parent_agent_id=meta.parent_agent_id or "",
        tool_use_id=meta.tool_use_id or "",
    )


def _titles(path: str, data: bytes) -> SideContent:
    about = _decoded(data)
    if posixpath.basename(path).startswith("local_"):  # the desktop app's; its name is not the session's
        session, title = _text(about, "cliSessionId"), _text(about, "title")
        return SideContent(titles={session: title} if session and title else {})
    title = _text(about, "customTitle")
    return SideContent(SideFacts(title=title) if title else None)


def _todos(path: str, data: bytes) -> list[tuple[str, str]]:
    value = _decoded(data)
    found = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            text = item.get("content") or item.get("subject") or posixpath.basename(path)
            found.append((storable(str(item.get("status") or "")), storable(str(text))))
    return found


def session_list(data: bytes) -> Iterator[ListedSession]:
    """The sessions that a sessions-index.json lists, without subagents."""
    value = _decoded(data)
    entries = value.get("entries") if isinstance(value, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        session_id = _text(entry, "sessionId")
        if session_id and entry.get("isSidechain") is not True:
            times = (milliseconds(_text(entry, "created")), milliseconds(_text(entry, "modified")))
            yield ListedSession(
                session_id,
                _text(entry, "projectPath"),
                _text(entry, "gitBranch"),
                _text(entry, "firstPrompt"),
                _text(entry, "customTitle") or _text(entry, "summary"),
                [ts for ts in times if ts is not None],
            )


def listed_sessions(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Where the entries of a sessions-index.json are."""
    from hansard.clients.blanking import objects_naming

    return objects_naming(data, b'"sessionId"')


def pasted(line: bytes) -> dict[str, Any]:
    """What a line of history.jsonl says of pastes, by their numbers."""
    value = _decoded(line)
    found = value.get("pastedContents") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except (ValueError, RecursionError):
        return None


def _text(value: Any, key: str) -> str:
    found = value.get(key) if isinstance(value, dict) else None
    return storable(found) if isinstance(found, str) else ""
