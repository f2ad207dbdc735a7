"""The verbatim lines of a session's logs, by where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from hansard.errors import NotFound
from hansard.index.schema import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record


class RawLine(NamedTuple):
    """A line of a log, or one of several records that are glued together in it."""

    transcript: int
    path: str
    offset: int
    length: int  # without the newline
    kind: str  # of the record; empty where it is none
    uuid: str | None


def find_transcript_of(reader: Reader, session_id: str, path: str | None = None, agent_id: str | None = None) -> int:
    """The id of a log of a session: of its own thread, of a subagent, or by its path; no other session's is found."""
    if path is not None:
        row = reader.one(
            "SELECT t.id FROM transcripts t WHERE t.session_id = ?1 AND t.path = ?2 ORDER BY"
            " t.id = (SELECT transcript FROM sessions WHERE session_id = ?1) DESC, t.current DESC, t.generation DESC",
            (session_id, path),
        )
        named = f"log {path!r}"
    elif agent_id is not None:
        row = reader.one("SELECT transcript FROM agents WHERE session_id = ? AND agent_id = ?", (session_id, agent_id))
        named = f"subagent {agent_id!r}"
    else:
        row = reader.one(
            "SELECT transcript FROM sessions WHERE session_id = ? AND transcript IS NOT NULL", (session_id,)
        )
        named = "log of its own; only subagents are left of it"
    if row is None:
        raise NotFound(f"session {session_id} has no {named}")
    return int(row[0])


def find_raw_line(reader: Reader, record: Record, transcript: int, offset: int) -> RawLine:
    """The line that holds a byte of a log, by the index; a line that is no record is only found by its first byte."""
    low = transcript << OFFSET_BITS
    path, size = reader.one("SELECT path, size FROM transcripts WHERE id = ?", (transcript,))
    row = reader.one(
        "SELECT id, length, kind, uuid FROM records WHERE id BETWEEN ? AND ? ORDER BY id DESC", (low, low + offset)
    )
    if row is not None and offset < row[0] - low + row[1]:
        return RawLine(transcript, path, row[0] - low, row[1], row[2], row[3])
    if not 0 <= offset < size or (offset and b"".join(record.read(transcript, offset - 1, offset)) != b"\n"):
        raise NotFound(f"no line begins at byte {offset:,} of {path}")
    return RawLine(transcript, path, offset, _length(record.read(transcript, offset)), "", None)


def read_raw_line(record: Record, line: RawLine, limit: int | None = None) -> Iterator[bytes]:
    """The bytes of a line, or the first of them, in pieces."""
    length = line.length if limit is None else min(limit, line.length)
    return record.read(line.transcript, line.offset, line.offset + length)


def call_of_result(reader: Reader, transcript: int, offset: int) -> int:
    """Where the call stands whose result is at a place; the place itself where it holds no result."""
    low = transcript << OFFSET_BITS
    row = reader.one(
        "SELECT b.id - b.n FROM records r JOIN blocks t ON t.id BETWEEN r.id AND r.id + r.length AND t.kind = 'tool_result'"
        " JOIN tool_calls c ON c.tool_use_id = t.tool_use_id AND c.id BETWEEN ?1 AND ?3 JOIN blocks b ON b.id = c.id"
        " WHERE r.id = (SELECT max(id) FROM records WHERE id BETWEEN ?1 AND ?2) AND r.says = 'result'"
        " ORDER BY c.result_id IS t.id DESC, c.id LIMIT 1",
        (low, low + offset, low + OFFSET_MASK),
    )
    return int(row[0]) - low if row is not None else offset


def _length(pieces: Iterator[bytes]) -> int:
    length = 0
    for piece in pieces:
        end = piece.find(b"\n")
        if end >= 0:
            return length + end
        length += len(piece)
    return length
