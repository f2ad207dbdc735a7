"""Messages by their uuids."""

from __future__ import annotations

from typing import NamedTuple

from hansard.errors import Ambiguous, NotFound
from hansard.query.reader import Reader
from hansard.storage.ids import OFFSET_BITS, OFFSET_MASK

_SHORTEST = 8  # letters of a uuid that are looked for


class MessagePlace(NamedTuple):
    """Where a message stands."""

    uuid: str
    session_id: str
    agent_id: str | None
    transcript: str
    offset: int


def find_message(reader: Reader, uuid: str) -> MessagePlace:
    """The message with that uuid, or with one that begins so; one of the transcript that wrote it goes before its copies."""
    if len(uuid) < _SHORTEST:
        raise NotFound(f"no message matches {uuid!r}: give at least {_SHORTEST} characters of its uuid")
    rows = list(
        reader.rows(
            "SELECT r.uuid, t.session_id, t.agent_id, t.path, r.id & ?3 FROM records r"
            f" JOIN transcripts t ON t.id = r.id >> {OFFSET_BITS} WHERE r.uuid >= ?1 AND r.uuid < ?2"
            " ORDER BY r.uuid, t.current DESC, r.id & ?3 < t.copied, r.id LIMIT 200",
            (uuid, uuid + "\U0010ffff", OFFSET_MASK),
        )
    )
    if not rows:
        raise NotFound(f"no message matches {uuid!r}")
    if len({row[0] for row in rows}) > 1 and rows[0][0] != uuid:
        raise Ambiguous(f"several messages match {uuid!r}: give more of the uuid")
    found, session_id, agent_id, path, offset = rows[0]
    return MessagePlace(found, session_id, agent_id or None, path, offset)
