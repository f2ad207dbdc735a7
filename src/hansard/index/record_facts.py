"""Copies of what only the record knows: the user's remarks, worktrees and moved projects, which sessions are derived from."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from hansard.index.tokens import fold_text
from hansard.model.moves import moved_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hansard.index.sql import Sql


class Remarked(NamedTuple):
    """One remark as the record has it; `set_at` in milliseconds."""

    id: int
    session_id: str
    kind: str
    value: str
    set_at: int


def put_remarks(db: Sql, valid: Iterable[Remarked]) -> None:
    """Make the table equal to what is valid; sessions whose own title changed are to be derived again."""
    wanted = {remark.id: remark for remark in valid}
    known = {
        remark.id: remark
        for remark in map(Remarked._make, db.execute("SELECT id, session_id, kind, value, set_at FROM remarks"))
    }
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
    """The title that the user gave a session; empty where there is none."""
    row = db.execute(
        "SELECT value FROM remarks WHERE session_id = ? AND kind = 'title' ORDER BY id DESC LIMIT 1", (session_id,)
    ).fetchone()
    return str(row[0]) if row is not None else ""


_SEPARATOR = re.compile(r"(?<=.)[/\\]|$")


def put_worktrees(db: Sql, known: Mapping[str, str]) -> None:
    """Make the table equal to what is known, and mark the sessions in folders whose repository changed."""
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
    """Make the table equal to what is known, and mark the sessions in folders whose moves changed."""
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
    """Make a table of two columns equal to what is known; returns the keys that changed."""
    changed = [path for path in {**before, **known} if before.get(path) != known.get(path)]
    db.executemany(f"DELETE FROM {table} WHERE path = ?", ((path,) for path in changed))
    db.executemany(f"INSERT INTO {table} VALUES (?, ?)", ((path, known[path]) for path in changed if path in known))
    return changed
