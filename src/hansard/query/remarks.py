"""What the user said about sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.errors import Ambiguous, NotFound
from hansard.model.sessions import Remarks, Tagged
from hansard.query.reader import like
from hansard.query.sessions import find_session

if TYPE_CHECKING:
    from hansard.query.reader import Reader

_UNKNOWN = """
SELECT DISTINCT session_id FROM (
    SELECT session_id FROM prompts WHERE source = 'history' UNION ALL SELECT session_id FROM remarks
) WHERE session_id LIKE ? ESCAPE '\\' AND session_id NOT IN (SELECT session_id FROM sessions) ORDER BY session_id
"""


def find_remarkable(reader: Reader, name: str) -> str:
    """The id of the session that a person means, which may be one that only history.jsonl knows."""
    try:
        return find_session(reader, name).session_id
    except NotFound:
        found = [] if not name else [str(row[0]) for row in reader.rows(_UNKNOWN, (like(name)[1:],))]
        if name in found or len(found) == 1:
            return name if name in found else found[0]
        if not found:
            raise
        shown = "".join(f"\n  {session_id}" for session_id in found[:8])
        more = f"\n  and {len(found) - 8} more" if len(found) > 8 else ""
        raise Ambiguous(f"{len(found)} sessions match {name!r}:{shown}{more}") from None


def read_remarks(reader: Reader, session_id: str) -> Remarks:
    """All that the user said about one session."""
    found: dict[str, list[str]] = {}
    for kind, value in reader.rows("SELECT kind, value FROM remarks WHERE session_id = ? ORDER BY id", (session_id,)):
        found.setdefault(kind, []).append(value)
    known = reader.one("SELECT title FROM sessions WHERE session_id = ?", (session_id,))
    own = found.get("title", [])
    return Remarks(
        session_id,
        known[0] if known is not None else own[-1] if own else "",
        renamed=bool(own),
        pinned="pin" in found,
        tags=tuple(found.get("tag", ())),
        notes=tuple(found.get("note", ())),
    )


def list_tags(reader: Reader) -> list[Tagged]:
    """Every tag and how many sessions have it, the most used first; of several spellings the newest one."""
    return [
        Tagged(tag, sessions)
        for tag, sessions, _ in reader.rows(
            "SELECT value, count(DISTINCT session_id), max(id) FROM remarks WHERE kind = 'tag'"
            " GROUP BY folded ORDER BY 2 DESC, folded"
        )
    ]
