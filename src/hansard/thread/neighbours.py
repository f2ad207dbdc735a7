"""What surrounds a session: the sessions it hangs together with, and the files it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hansard.query.transcripts import FORK_TURN

if TYPE_CHECKING:
    from hansard.query.reader import Reader


class Neighbour(NamedTuple):
    """Another session that is kept, and how this one is linked with it."""

    relation: str
    leads: bool  # the link goes from this session to the other
    session_id: str
    title: str
    turn: int | None  # of a fork or branch: the last turn that it copied


class ChangedFile(NamedTuple):
    """A file that a session changed."""

    path: str
    changes: int
    added: int  # lines
    removed: int


def list_neighbours(reader: Reader, session_id: str) -> list[Neighbour]:
    """The sessions that one is linked with."""
    rows = reader.rows(
        f"SELECT l.relation, l.source = ?1, s.session_id, s.title, {FORK_TURN} FROM links l JOIN sessions s"
        " ON s.session_id = iif(l.source = ?1, l.target, l.source)"
        " WHERE (l.source = ?1 OR l.target = ?1) AND s.session_id <> ?1 ORDER BY l.relation, s.started_at, s.session_id",
        (session_id,),
    )
    return [Neighbour(relation, bool(leads), other, title, turn) for relation, leads, other, title, turn in rows]


def list_changed_files(reader: Reader, session_id: str, limit: int) -> list[ChangedFile]:
    """The files that a session changed, the most changed first."""
    rows = reader.rows(
        "SELECT path, changes, added, removed FROM session_files WHERE session_id = ? AND changes > 0"
        " ORDER BY added + removed DESC, path LIMIT ?",
        (session_id, limit),
    )
    return [ChangedFile(*row) for row in rows]
