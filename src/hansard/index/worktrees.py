"""Worktrees in the index: a copy of what the record knows of them, for the projects of sessions."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hansard.index.sql import Sql

_SEPARATOR = re.compile(r"(?<=.)[/\\]|$")


def put_worktrees(db: Sql, known: Mapping[str, str]) -> None:
    """Make the table equal to what is known; sessions in folders of which something else is known are to be derived again."""
    before = dict(db.execute("SELECT path, repository FROM worktrees").fetchall())
    changed = [path for path in {**before, **known} if before.get(path) != known.get(path)]
    db.executemany("DELETE FROM worktrees WHERE path = ?", ((path,) for path in changed))
    db.executemany("INSERT INTO worktrees VALUES (?, ?)", ((path, known[path]) for path in changed if path in known))
    db.executemany(
        "INSERT OR IGNORE INTO dirty SELECT session_id FROM sessions WHERE cwd = ?1"
        " OR substr(cwd, 1, length(?1) + 1) IN (?1 || '/', ?1 || '\\')",
        ((path,) for path in changed),
    )


def repository_of(db: Sql, cwd: str) -> str:
    """The repository of the worktree that a folder lies in; empty where it lies in none that is known, or in a repository of its own."""
    folders = [cwd[: end.start()] for end in _SEPARATOR.finditer(cwd)]
    row = db.execute(
        "SELECT repository FROM json_each(?) f JOIN worktrees w ON w.path = f.value ORDER BY length(w.path) DESC LIMIT 1",
        (json.dumps(folders),),
    ).fetchone()
    return str(row[0]) if row is not None else ""
