"""Small files beside the transcripts: what the index takes from them."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable
from typing import Any

import msgspec

from hansard.clients.claude_code import wire
from hansard.clients.claude_code.meaning import lenient
from hansard.index.sql import Sql

_meta = msgspec.json.Decoder(wire.AgentMeta).decode
# Kinds whose content matters to rows; of the others only the fact that they are there.
WITH_CONTENT = frozenset({"agent_meta", "todo", "task", "title"})


_LONGEST_TITLE = 1 << 20


class SideFile(msgspec.Struct, frozen=True):
    """A snapshot in the record as the index sees it."""

    id: int
    root: str
    path: str
    kind: str
    session_id: str
    agent_id: str
    size: int
    mtime: int | None


def put(db: Sql, side: SideFile, data: bytes | None) -> None:
    """Take a new snapshot over: it replaces the one that the same path had."""
    facts: bytes | None = None
    session_id, agent_id = side.session_id, side.agent_id
    if side.kind == "agent_meta" and data is not None:
        meta = lenient(_meta, msgspec.Raw(data))
        facts = msgspec.json.encode(meta) if meta is not None else None
    elif side.kind == "title" and data is not None:
        facts = data if len(data) < _LONGEST_TITLE else None
    db.execute(
        "DELETE FROM todos WHERE side_file IN (SELECT id FROM side_files WHERE root = ? AND path = ?)",
        (side.root, side.path),
    )
    db.execute("UPDATE side_files SET current = 0 WHERE root = ? AND path = ?", (side.root, side.path))
    db.execute(
        "INSERT OR REPLACE INTO side_files VALUES (?,?,?,?,?,?,?,?,1,?)",
        (side.id, side.root, side.path, side.kind, session_id, agent_id, side.size, side.mtime, facts),
    )
    if side.kind in ("todo", "task") and data is not None:
        rows = [(side.id, number, session_id, agent_id, *item) for number, item in enumerate(_todos(side, data))]
        db.executemany("INSERT OR REPLACE INTO todos VALUES (?,?,?,?,?,?)", rows)
    if session_id:
        db.execute("INSERT OR IGNORE INTO dirty VALUES (?)", (session_id,))


def retouch(db: Sql, dates: Iterable[tuple[int, int]]) -> None:
    """Take over the dates of snapshots that were seen again with the same content."""
    db.executemany("UPDATE side_files SET mtime = ?2 WHERE id = ?1 AND mtime IS NOT ?2", dates)


def _todos(side: SideFile, data: bytes) -> list[tuple[str, str]]:
    """(status, text) of each todo in a todos/ or tasks/ file; nothing where it has another shape."""
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError):
        return []
    items = value if isinstance(value, list) else [value]
    found = []
    for item in items:
        if isinstance(item, dict):
            text = item.get("content") or item.get("subject") or posixpath.basename(side.path)
            found.append((storable(str(item.get("status") or "")), storable(str(text))))
    return found


def storable(text: str) -> str:
    """Text as a database takes it: JSON may name half of a surrogate pair, UTF-8 cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def titles(db: Sql, session_id: str) -> str:
    """The title in <session>/custom-title.json, empty when there is none."""
    row = db.execute(
        "SELECT facts FROM side_files WHERE session_id = ? AND kind = 'title' AND current = 1 AND facts IS NOT NULL"
        " ORDER BY path, root",
        (session_id,),
    ).fetchone()
    if row is None:
        return ""
    try:
        value = json.loads(row[0])
    except (ValueError, RecursionError):
        return ""
    title = value.get("customTitle") if isinstance(value, dict) else None
    return storable(title) if isinstance(title, str) else ""


def agent_meta(db: Sql, session_id: str) -> dict[str, wire.AgentMeta]:
    """What meta.json files say of a session's subagents."""
    found = {}
    for agent_id, facts in db.execute(
        "SELECT agent_id, facts FROM side_files WHERE session_id = ? AND kind = 'agent_meta' AND current = 1 AND facts IS NOT NULL"
        " ORDER BY path, root",
        (session_id,),
    ):
        meta = lenient(_meta, msgspec.Raw(facts))
        if meta is not None:
            found[agent_id] = meta
    return found
