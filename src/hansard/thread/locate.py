"""Places in a session's logs: the verbatim line at a byte, and which part of a conversation stands there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hansard.errors import NotFound
from hansard.index.lines import Lines, items
from hansard.parse.decode import ParsedLine
from hansard.storage.ids import OFFSET_BITS, OFFSET_MASK
from hansard.thread.calls import blocks_of

if TYPE_CHECKING:
    from hansard.model.threads import Conversation
    from hansard.query.reader import Reader
    from hansard.record.store import Record
    from hansard.thread.thread import Thread


class RawLine(NamedTuple):
    """A line of a log, or one of several records that are glued together in it."""

    transcript: int
    path: str
    offset: int
    length: int  # without the newline
    kind: str  # of the record; empty where it is none
    uuid: str | None


def find_log(reader: Reader, session_id: str, path: str, generation: int | None = None) -> int:
    """The id of a log of a session by its path, or of a generation of it; no other session's is found."""
    row = reader.one(
        "SELECT t.id FROM transcripts t WHERE t.session_id = ?1 AND t.path = ?2 AND (?3 IS NULL OR t.generation = ?3) ORDER BY"
        " t.id = (SELECT transcript FROM sessions WHERE session_id = ?1) DESC, t.current DESC, t.generation DESC",
        (session_id, path, generation),
    )
    if row is None:
        of = "" if generation is None else f"generation {generation} of "
        raise NotFound(f"session {session_id} has no {of}log {path!r}")
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


# -- entries of a conversation


@dataclass(frozen=True, slots=True)
class MessageLocation:
    """The entries of a conversation that one line of its transcript made."""

    thread: Thread
    conversation: Conversation
    here: range
    offset: int  # that was asked for
    exact: bool  # False: that line is not shown, and this is the one before it


def locate(thread: Thread, record: Record, offset: int) -> MessageLocation:
    """The entries at an offset; a tool's result is part of its call, and a sidechain has a thread of its own."""
    conversation = thread.conversation()
    entries = conversation.entries
    if not entries:
        raise NotFound(f"there is nothing to read in session {thread.session.session_id}")
    if offset >= thread.size:
        raise NotFound(f"there is nothing at byte {offset:,}: {thread.path} ends at {thread.size:,}")
    here = _covering(conversation, offset)
    if here is not None:
        return MessageLocation(thread, conversation, here, offset, exact=True)
    before = [number for number, entry in enumerate(entries) if entry.offset <= offset]
    line = _line_at(record, thread.transcript, entries[before[-1]].offset if before else 0, offset)
    if line is not None:
        calls = {block.tool_use_id for block in blocks_of(line) if block.type == "tool_result" and block.tool_use_id}
        if (here := _calling(conversation, calls)) is not None:
            return MessageLocation(thread, conversation, here, offset, exact=True)
        if thread.agent is None and conversation.not_shown.get("sidechain"):
            for agent in conversation.agents:
                inside = thread.of(agent.agent_id)
                found = inside.conversation()
                if found.entries and inside.path == thread.path:
                    here = _covering(found, offset) or _calling(found, calls)
                    if here is not None:
                        return MessageLocation(inside, found, here, offset, exact=True)
    return MessageLocation(
        thread, conversation, _of_line(conversation, before[-1] if before else 0), offset, exact=False
    )


def _covering(conversation: Conversation, offset: int) -> range | None:
    for number, entry in enumerate(conversation.entries):
        if entry.offset <= offset <= entry.offset + entry.length:
            return _of_line(conversation, number)
    return None


def _of_line(conversation: Conversation, number: int) -> range:
    """All entries of the line that one of them is of, as far as they stand together."""
    entries = conversation.entries
    start = stop = number
    while start and entries[start - 1].offset == entries[number].offset:
        start -= 1
    while stop < len(entries) and entries[stop].offset == entries[number].offset:
        stop += 1
    return range(start, stop)


def _calling(conversation: Conversation, calls: set[str]) -> range | None:
    """The call that a result answers."""
    for number, entry in enumerate(conversation.entries):
        if entry.tool is not None and entry.tool.tool_use_id in calls:
            return range(number, number + 1)
    return None


def _line_at(record: Record, transcript: int, start: int, offset: int) -> ParsedLine | None:
    """The record that covers an offset, looked for from the beginning of an earlier line on."""
    lines = Lines(record.read(transcript, start, mend=True), start)
    line, place = b"", start
    for place, line in lines:
        if place + len(line) >= offset:
            break
    else:
        line, place = lines.rest, lines.offset
    found = [item for item in items(line, place) if isinstance(item, ParsedLine) and item.offset <= offset]
    return found[-1] if found else None
