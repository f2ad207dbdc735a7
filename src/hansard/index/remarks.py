"""The user's remarks in the index: a copy of the valid ones, beside what they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hansard.index.tokens import fold_text

if TYPE_CHECKING:
    from collections.abc import Iterable

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
