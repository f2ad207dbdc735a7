"""Moved projects in the index: a copy of what the record knows of them, for the projects of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.model.moves import moved_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hansard.index.sql import Sql


def read_moves(db: Sql) -> dict[str, str]:
    """Where each folder was moved to."""
    return {str(path): str(target) for path, target in db.execute("SELECT path, target FROM moves")}


def put_moves(db: Sql, known: Mapping[str, str]) -> None:
    """Make the table equal to what is known; sessions that were or are in a folder of which something else is known are to be derived again."""
    before = read_moves(db)
    changed = [path for path in {**before, **known} if before.get(path) != known.get(path)]
    if not changed:
        return
    places = {*changed, *(moves[path] for moves in (before, known) for path in changed if path in moves)}
    db.executemany("DELETE FROM moves WHERE path = ?", ((path,) for path in changed))
    db.executemany("INSERT INTO moves VALUES (?, ?)", ((path, known[path]) for path in changed if path in known))
    stale = [
        (session_id,)
        for session_id, cwd, project in db.execute("SELECT session_id, cwd, project FROM sessions").fetchall()
        if any(moved_path(path, place, place) is not None for place in places for path in (cwd, project))
    ]
    db.executemany("INSERT OR IGNORE INTO dirty VALUES (?)", stale)
