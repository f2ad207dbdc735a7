"""Messages that the user pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.errors import NotFound
from hansard.model.sessions import PinnedMessage
from hansard.model.time import from_milliseconds
from hansard.query.search.blocks import Texts, describe
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_LONGEST = 300  # characters of a message
_SHORTEST = 8  # of the beginning of a uuid
# The line that is shown: of the current generation, and before the repetition of it in a progress record.
_LINES = (
    "SELECT r.uuid, r.id, coalesce(r.agent_id, t.agent_id), t.path FROM records r"
    f" JOIN transcripts t ON t.id = r.id >> {OFFSET_BITS} WHERE r.uuid {{}} AND t.session_id = ?"
    " ORDER BY t.current, r.agent_id IS NULL, r.id DESC"
)


def message_of(reader: Reader, session_id: str, uuid: str) -> str:
    """The uuid of a session's message, given by itself or by its beginning."""
    found = {row[0] for row in reader.rows(_LINES.format("BETWEEN ? AND ? || '~'"), (uuid, uuid, session_id))}
    if uuid in found:
        return uuid
    if len(uuid) < _SHORTEST:
        found.clear()
    if len(found) != 1:
        problem = "several messages match" if found else "no message of the session matches"
        raise NotFound(f"{problem} {uuid!r}: give its uuid, as `hansard show --json` has it")
    return str(found.pop())


def list_pins(reader: Reader, record: Record, session_id: str) -> list[PinnedMessage]:
    """A session's pinned messages, in the order of its transcripts; those that the index does not have are left out."""
    rows = reader.rows(
        _LINES.format("IN (SELECT value FROM remarks WHERE kind = 'pin' AND session_id = ?)"), (session_id, session_id)
    )
    lines = {uuid: (id_, agent_id, path) for uuid, id_, agent_id, path in rows}  # the last row of each wins
    blocks = describe(reader, [id_ for id_, _, _ in lines.values()])
    texts = Texts(reader, record)
    return [
        PinnedMessage(
            session_id,
            uuid,
            agent_id or None,
            path,
            id_ & OFFSET_MASK,
            blocks[id_].kind,
            from_milliseconds(blocks[id_].at),
            texts.of(blocks[id_])[:_LONGEST],
        )
        for uuid, (id_, agent_id, path) in sorted(lines.items(), key=lambda line: line[1][0])
        if id_ in blocks
    ]
