"""Copies of facts that the record has besides transcripts: small files, remarks, worktrees and moved projects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import starmap
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from hansard.clients import client_of
from hansard.clients.protocol import SideContent, SideFacts
from hansard.index.sql import Sql
from hansard.index.tokens import fold_text
from hansard.model.names import moved_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hansard.index.sql import Sql


_SEPARATOR = re.compile(r"(?<=.)[/\\]|$")
_facts = msgspec.json.Decoder(SideFacts).decode
# Kinds whose content becomes rows; of the others only their existence matters.
WITH_CONTENT = frozenset({"agent_meta", "todo", "task", "title", "project"})


class Remarked(Struct, frozen=True):
    """A remark of the record; `set_at` in milliseconds."""

    id: int
    session_id: str
    kind: str
    value: str
    set_at: int


def put_remarks(db: Sql, valid: Iterable[Remarked]) -> None:
    """Replace the remarks by the valid ones, and mark sessions whose own title changed."""
    wanted = {remark.id: remark for remark in valid}
    rows = db.execute("SELECT id, session_id, kind, value, set_at FROM remarks")
    known = {remark.id: remark for remark in starmap(Remarked, rows)}
    stale = [remark for id_, remark in known.items() if wanted.get(id_) != remark]
    fresh = [remark for id_, remark in wanted.items() if known.get(id_) != remark]
    db.executemany("DELETE FROM remarks WHERE id = ?", ((remark.id,) for remark in stale))
    db.executemany(
        "INSERT INTO remarks VALUES (?,?,?,?,?,?)",
        (
            (remark.id, remark.session_id, remark.kind, remark.value, fold_text(remark.value), remark.set_at)
            for remark in fresh
        ),
    )
    db.executemany(
        "INSERT OR IGNORE INTO dirty VALUES (?)",
        ((remark.session_id,) for remark in stale + fresh if remark.kind == "title"),
    )


def own_title(db: Sql, session_id: str) -> str:
    """The title that the user gave a session, or an empty string."""
    row = db.execute(
        "SELECT value FROM remarks WHERE session_id = ? AND kind = 'title' ORDER BY id DESC LIMIT 1", (session_id,)
    ).fetchone()
    return str(row[0]) if row is not None else ""


def put_worktrees(db: Sql, known: Mapping[str, str]) -> None:
    """Replace the known worktrees, and mark the sessions in folders whose repository changed."""
    before = dict(db.execute("SELECT path, repository FROM worktrees").fetchall())
    changed = _put_pairs(db, "worktrees", before, known)
    db.executemany(
        "INSERT OR IGNORE INTO dirty SELECT session_id FROM sessions WHERE cwd = ?1"
        " OR substr(cwd, 1, length(?1) + 1) IN (?1 || '/', ?1 || '\\')",
        ((path,) for path in changed),
    )


def repository_of(db: Sql, cwd: str) -> str:
    """The repository of the worktree that contains a folder; empty if it is in no known worktree, or in a repository of its own."""
    folders = [cwd[: end.start()] for end in _SEPARATOR.finditer(cwd)]
    row = db.execute(
        "SELECT repository FROM json_each(?) f JOIN worktrees w ON w.path = f.value ORDER BY length(w.path) DESC LIMIT 1",
        (json.dumps(folders),),
    ).fetchone()
    return str(row[0]) if row is not None else ""


def read_moves(db: Sql) -> dict[str, str]:
    """Where each folder was moved to."""
    return {str(path): str(target) for path, target in db.execute("SELECT path, target FROM moves")}


def put_moves(db: Sql, known: Mapping[str, str]) -> None:
    """Replace the known moves, and mark the sessions in folders whose moves changed."""
    before = read_moves(db)
    changed = _put_pairs(db, "moves", before, known)
    if not changed:
        return
    places = {*changed, *(moves[path] for moves in (before, known) for path in changed if path in moves)}
    stale = [
        (session_id,)
        for session_id, cwd, project in db.execute("SELECT session_id, cwd, project FROM sessions").fetchall()
        if any(moved_path(path, place, place) is not None for place in places for path in (cwd, project))
    ]
    db.executemany("INSERT OR IGNORE INTO dirty VALUES (?)", stale)


def _put_pairs(db: Sql, table: str, before: Mapping[str, str], known: Mapping[str, str]) -> list[str]:
    """Replace the rows of a table of two columns; returns the keys that changed."""
    changed = [path for path in {**before, **known} if before.get(path) != known.get(path)]
    db.executemany(f"DELETE FROM {table} WHERE path = ?", ((path,) for path in changed))
    db.executemany(f"INSERT INTO {table} VALUES (?, ?)", ((path, known[path]) for path in changed if path in known))
    return changed


class SideFile(Struct, frozen=True):
    """A snapshot of the record, for the index."""

    id: int
    root: str
    client: str
    path: str
    kind: str
    session_id: str
    agent_id: str
    size: int
    mtime: int | None


def put_side_file(db: Sql, side: SideFile, data: bytes | None) -> None:
    """Store a new snapshot: it replaces the former one of the same path."""
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
    if content.titles:
        _put_titles(db, side, content.titles)
    if content.folders:
        _put_folders(db, side, content.folders)


def _put_titles(db: Sql, side: SideFile, titles: Mapping[str, str]) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO listed_titles VALUES (?,?,?)",
        ((session_id, side.id, title) for session_id, title in titles.items()),
    )
    db.executemany(
        "INSERT OR IGNORE INTO dirty SELECT session_id FROM sessions WHERE session_id = ?",
        ((session_id,) for session_id in titles),
    )


def _put_folders(db: Sql, side: SideFile, folders: Mapping[str, str]) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO project_folders VALUES (?,?,?,?)",
        ((side.root, name, side.id, path) for name, path in folders.items()),
    )
    db.executemany(
        "INSERT OR IGNORE INTO dirty SELECT session_id FROM transcripts WHERE root = ? AND project_dir = ? AND session_id <> ''",
        ((side.root, name) for name in folders),
    )


def project_folder(db: Sql, root: str, project_dir: str) -> str:
    """The working directory of the sessions in a folder, as a file beside them says, or an empty string."""
    row = db.execute(
        "SELECT p.path FROM project_folders p CROSS JOIN side_files f ON f.id = p.side_file"
        " WHERE p.root = ? AND p.project_dir = ? AND f.current = 1 ORDER BY f.path",
        (root, project_dir),
    ).fetchone()
    return str(row[0]) if row is not None else ""


def retouch_side_files(db: Sql, dates: Iterable[tuple[int, int]]) -> None:
    """Update the dates of snapshots that were seen again with the same content."""
    db.executemany("UPDATE side_files SET mtime = ?2 WHERE id = ?1 AND mtime IS NOT ?2", dates)


def file_title(db: Sql, session_id: str) -> str:
    """The title in a session's own file, or an empty string."""
    row = db.execute(
        "SELECT facts FROM side_files WHERE session_id = ? AND kind = 'title' AND current = 1 AND facts IS NOT NULL"
        " ORDER BY path, root",
        (session_id,),
    ).fetchone()
    if row is not None:
        return _facts(row[0]).title
    row = db.execute(
        "SELECT l.title FROM listed_titles l CROSS JOIN side_files f ON f.id = l.side_file"
        " WHERE l.session_id = ? AND f.current = 1 ORDER BY f.path, f.root",
        (session_id,),
    ).fetchone()
    return str(row[0]) if row is not None else ""


def agent_facts(db: Sql, session_id: str) -> dict[str, SideFacts]:
    """What files beside the transcripts say about a session's subagents."""
    return {
        agent_id: _facts(facts)
        for agent_id, facts in db.execute(
            "SELECT agent_id, facts FROM side_files WHERE session_id = ? AND kind = 'agent_meta' AND current = 1"
            " AND facts IS NOT NULL ORDER BY path, root",
            (session_id,),
        )
    }
