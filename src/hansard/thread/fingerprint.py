"""Whether anything about a session has changed, without reading it."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.model.sessions import Session
    from hansard.query.reader import Reader


def fingerprint(reader: Reader, session: Session) -> str:
    """A few letters that are others when anything is new in a session, its subagents' logs or what was said about it."""
    key = (session.session_id,)
    logs = list(
        reader.rows("SELECT id, size, indexed, current, state FROM transcripts WHERE session_id = ? ORDER BY id", key)
    )
    files = reader.one("SELECT count(*), max(id), total(size) FROM side_files WHERE session_id = ?", key)
    return sha256(repr((session, logs, files)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
