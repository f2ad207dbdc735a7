"""Small files beside the transcripts: what the index takes from them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from hansard.clients import client_of
from hansard.clients.protocol import SideContent, SideFacts
from hansard.index.sql import Sql

_facts = msgspec.json.Decoder(SideFacts).decode
# Kinds whose content matters to rows; of the others only the fact that they are there.
WITH_CONTENT = frozenset({"agent_meta", "todo", "task", "title"})


class SideFile(msgspec.Struct, frozen=True):
    """A snapshot in the record as the index sees it."""

    id: int
    root: str
    client: str
    path: str
    kind: str
    session_id: str
    agent_id: str
    size: int
    mtime: int | None


def put(db: Sql, side: SideFile, data: bytes | None) -> None:
    """Take a new snapshot over: it replaces the one that the same path had."""
    content = client_of(side.client).side_file(side.kind, side.path, data) if data is not None else SideContent()
    facts = msgspec.json.encode(content.facts) if content.facts is not None else None
    db.execute(
        "DELETE FROM todos WHERE side_file IN (SELECT id FROM side_files WHERE root = ? AND path = ?)",
        (side.root, side.path),
    )
    db.execute("UPDATE side_files SET current = 0 WHERE root = ? AND path = ?", (side.root, side.path))
    db.execute(
        "INSERT OR REPLACE INTO side_files VALUES (?,?,?,?,?,?,?,?,1,?)",
        (side.id, side.root, side.path, side.kind, side.session_id, side.agent_id, side.size, side.mtime, facts),
    )
    rows = [(side.id, number, side.session_id, side.agent_id, *item) for number, item in enumerate(content.todos)]
    db.executemany("INSERT OR REPLACE INTO todos VALUES (?,?,?,?,?,?)", rows)
    if side.session_id:
        db.execute("INSERT OR IGNORE INTO dirty VALUES (?)", (side.session_id,))


def retouch(db: Sql, dates: Iterable[tuple[int, int]]) -> None:
    """Take over the dates of snapshots that were seen again with the same content."""
    db.executemany("UPDATE side_files SET mtime = ?2 WHERE id = ?1 AND mtime IS NOT ?2", dates)


def titles(db: Sql, session_id: str) -> str:
    """The title in a session's own file, empty when there is none."""
    row = db.execute(
        "SELECT facts FROM side_files WHERE session_id = ? AND kind = 'title' AND current = 1 AND facts IS NOT NULL"
        " ORDER BY path, root",
        (session_id,),
    ).fetchone()
    return _facts(row[0]).title if row is not None else ""


def agent_facts(db: Sql, session_id: str) -> dict[str, SideFacts]:
    """What files beside the transcripts say of a session's subagents."""
    return {
        agent_id: _facts(facts)
        for agent_id, facts in db.execute(
            "SELECT agent_id, facts FROM side_files WHERE session_id = ? AND kind = 'agent_meta' AND current = 1"
            " AND facts IS NOT NULL ORDER BY path, root",
            (session_id,),
        )
    }
