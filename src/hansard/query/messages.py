"""Messages by their uuids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hansard.errors import Ambiguous, NotFound
from hansard.model.handles import is_handle, shown_id
from hansard.query.reader import Reader
from hansard.query.sessions import in_folder
from hansard.storage import OFFSET_BITS, OFFSET_MASK

_SHORTEST = 8  # letters of a uuid that are looked for
_UUID = "-".join("[0-9A-Fa-f]" * length for length in (8, 4, 4, 4, 12))


class MessagePlace(NamedTuple):
    """Where a message stands."""

    uuid: str
    session_id: str
    agent_id: str | None
    transcript: str
    offset: int


def find_message(reader: Reader, uuid: str, folder: str | None = None) -> MessagePlace:
    """The message with that uuid, a unique beginning of one, or a handle, in the projects of a folder; originals go before copies."""
    if len(uuid) < _SHORTEST:
        raise NotFound(f"no message matches {uuid!r}: give at least {_SHORTEST} characters of its uuid")
    inside, values = in_folder(folder)
    for where, wanted in _readings(reader, uuid):
        rows = list(
            reader.rows(
                f"SELECT r.uuid, t.session_id, t.agent_id, t.path, r.id & ? FROM records r"
                f" JOIN transcripts t ON t.id = r.id >> {OFFSET_BITS}"
                f" WHERE {where} AND t.session_id IN (SELECT session_id FROM sessions WHERE {inside})"
                " ORDER BY r.uuid, t.current DESC, r.id & ? < t.copied, r.id LIMIT 200",
                (OFFSET_MASK, *wanted, *values, OFFSET_MASK),
            )
        )
        if rows:
            break
    else:
        raise NotFound(f"no message matches {uuid!r}")
    if len({row[0] for row in rows}) > 1 and rows[0][0] != uuid:
        raise Ambiguous(f"several messages match {uuid!r}: give more of the uuid")
    found, session_id, agent_id, path, offset = rows[0]
    return MessagePlace(found, session_id, agent_id or None, path, offset)


def _readings(reader: Reader, uuid: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a name can mean, as conditions over `records r`."""
    if is_handle(uuid):
        # Nearly all uuids are well-formed: SQLite leaves those out by itself, from the index alone.
        reader.teach("shown_id", shown_id)
        yield f"r.uuid NOT GLOB '{_UUID}' AND shown_id(r.uuid) = ? AND r.uuid <> ?", (uuid, uuid)
    yield "r.uuid >= ? AND r.uuid < ?", (uuid, uuid + "\U0010ffff")
