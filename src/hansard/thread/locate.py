"""Places in a session's logs: the verbatim line at a byte offset, its part of the conversation, and its tool call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from hansard.clients import client_of
from hansard.clients.entries import Answered, Called, Readable
from hansard.errors import NotFound, StoreCorrupt
from hansard.model.gate import PREVIEW
from hansard.model.threads import ToolCall
from hansard.model.time import from_milliseconds as moment
from hansard.record.database import DAMAGED_TEXT
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.model.calls import Call, CallPage
    from hansard.model.threads import Conversation
    from hansard.query.reader import Reader
    from hansard.record.store import Record
    from hansard.thread.thread import Thread


class RawLine(NamedTuple):
    """A line of a log, or one of several records on one line."""

    transcript: int
    path: str
    offset: int
    length: int  # without the newline
    kind: str  # of the record; empty if the line is not a record
    uuid: str | None


def find_log(reader: Reader, session_id: str, path: str, generation: int | None = None) -> int:
    """The id of a log by its path, or of a generation of it; only logs of this session are found."""
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
    """The line at a byte of a log, from the index; a line that is not a record is found by its first byte only."""
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
    """The offset of the call whose result is at this offset; the same offset if there is no result."""
    low = transcript << OFFSET_BITS
    row = reader.one(
        "SELECT b.id - b.n FROM records r JOIN blocks t ON t.id BETWEEN r.id AND r.id + r.length AND t.kind = 'tool_result'"
        " JOIN tool_calls c ON c.tool_use_id = t.tool_use_id AND c.id BETWEEN ?1 AND ?3 JOIN blocks b ON b.id = c.id"
        " WHERE r.id = (SELECT max(id) FROM records WHERE id BETWEEN ?1 AND ?2) AND r.role = 'result'"
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
    exact: bool  # False: that line is not shown, and this is the one before


def locate(thread: Thread, record: Record, offset: int) -> MessageLocation:
    """The entries at an offset; a tool's result is part of its call, and a sidechain has its own thread."""
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
    line = _line_at(thread, record, entries[before[-1]].offset if before else 0, offset)
    if line is not None:
        calls = {part.call_id for part in line.parts() if isinstance(part, Answered) and part.call_id}
        if (here := _calling(conversation, calls)) is not None:
            return MessageLocation(thread, conversation, here, offset, exact=True)
        if thread.agent is None and line.is_aside:
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
    """All consecutive entries of the line that an entry belongs to."""
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


def _line_at(thread: Thread, record: Record, start: int, offset: int) -> Readable | None:
    """The record that covers an offset, searched from the beginning of an earlier line."""
    lines = thread.client.lines(record.read(thread.transcript, start, mend=True), start)
    line, place = b"", start
    for place, line in lines:
        if place + len(line) >= offset:
            break
    else:
        line, place = lines.rest, lines.offset
    records = thread.client.entry_reader(is_agent=False).line(line, place)
    found = [item for item in records if isinstance(item, Readable) and item.offset <= offset]
    return found[-1] if found else None


# -- single tool calls, read from their lines without the thread

_LONGEST = 64 << 20  # bytes of a line that are read
_PLACE = (
    f"SELECT t.id FROM transcripts t CROSS JOIN tool_calls c ON c.id = (t.id << {OFFSET_BITS}) + ?1"
    " WHERE {session} t.path = ?2"
    " AND (?3 IS NULL OR t.root = ?3) AND (?4 IS NULL OR t.generation = ?4)"
    " ORDER BY t.current DESC, t.generation DESC, t.root LIMIT 1"
)
_ROW = (
    "SELECT t.client, c.tool_use_id, c.tool, c.ts, c.result_ts, c.path, c.change, c.added, c.removed, c.is_error, c.result_id"
    f" FROM tool_calls c JOIN transcripts t ON t.id = c.id >> {OFFSET_BITS} WHERE c.id = ?"
)
_SUBJECT = PREVIEW  # characters


def read_call(
    reader: Reader,
    record: Record,
    transcript: str,
    offset: int,
    block: int = 0,
    *,
    session_id: str | None = None,
    root: str | None = None,
    generation: int | None = None,
    result: bool = True,
) -> ToolCall:
    """The call in a block of a line, with its result, from the newest generation that has one there.

    The session may be unknown, but if it is known few transcripts are searched.
    """
    place = max(offset, 0) + max(block, 0)
    query = _PLACE.format(session="t.session_id = ?5 AND" if session_id is not None else "")
    named = () if session_id is None else (session_id,)
    row = reader.one(query, (min(place, OFFSET_MASK), transcript, root, generation, *named))
    if row is None:
        raise NotFound(f"no tool call at byte {offset} of {transcript}")
    return _read(reader, record, (row[0] << OFFSET_BITS) + place, result=result)


def read_listed(reader: Reader, record: Record, call: Call, *, result: bool = True) -> ToolCall | None:
    """A listed call with its input and, if wanted, its result; None if it no longer exists."""
    try:
        return read_call(
            reader,
            record,
            call.transcript,
            call.offset,
            call.block,
            session_id=call.session_id,
            root=call.root,
            generation=call.generation,
            result=result,
        )
    except NotFound:
        return None


def _read(reader: Reader, record: Record, call_id: int, *, result: bool) -> ToolCall:
    client, tool_use_id, tool, ts, result_ts, path, change, added, removed, is_error, result_id = reader.one(
        _ROW, (call_id,)
    )
    asked = _block(reader, record, call_id)
    answered = _block(reader, record, result_id) if result and result_id is not None else None
    answer = answered[1] if answered is not None and isinstance(answered[1], Answered) else None
    return ToolCall(
        client=client,
        tool_use_id=tool_use_id,
        tool=tool,
        input=asked[1].input() if asked is not None and isinstance(asked[1], Called) else None,
        output=answer.text() if answer is not None else None,
        is_error=bool(is_error),
        at=moment(ts),
        duration_ms=None if ts is None or result_ts is None else max(0, result_ts - ts),
        path=path,
        change=change,
        added=added,
        removed=removed,
        patch=answer.patch() if change and answer is not None else None,
        persisted=False,
        agent_id=None,
        result_offset=answered[0].offset if answered is not None else None,
    )


def _block(reader: Reader, record: Record, id_: int) -> tuple[Readable, Called | Answered] | None:
    """The record with a block, and the block; None if the line has no such block."""
    row = reader.one(
        "SELECT b.n, r.length, t.client FROM blocks b JOIN records r ON r.id = b.id - b.n"
        f" JOIN transcripts t ON t.id = b.id >> {OFFSET_BITS} WHERE b.id = ?",
        (id_,),
    )
    if row is None:
        return None
    number, length, client = row
    offset = (id_ & OFFSET_MASK) - number
    line = record.glimpse_line(id_ >> OFFSET_BITS, offset, min(length, _LONGEST))
    for item in client_of(client).entry_reader(is_agent=False).line(line, offset):
        if isinstance(item, Readable) and item.offset == offset:
            for part in item.parts():
                if isinstance(part, Called | Answered) and part.number == number:
                    return item, part
    return None


def with_subjects(reader: Reader, record: Record, page: CallPage, *, outputs: bool = False) -> CallPage:
    """The same page with subjects, and with the beginnings of results if requested."""
    return replace(page, calls=tuple(_told(reader, record, call, outputs=outputs) for call in page.calls))


def _told(reader: Reader, record: Record, call: Call, *, outputs: bool) -> Call:
    if call.path is not None and not outputs:
        return replace(call, subject=call.path)
    from hansard.thread.tool_views import view

    try:
        found = read_listed(reader, record, call, result=outputs)
    except StoreCorrupt:
        return replace(call, subject=call.path or DAMAGED_TEXT, output=DAMAGED_TEXT if outputs else None)
    if found is None:
        return replace(call, subject=call.path or "")
    subject = view(replace(found, output=None, patch=None), "").subject if call.path is None else call.path
    output = None
    if outputs and found.output is not None:
        output = _first(client_of(found.client).tool_use(found.tool, found.input, found.output).output)
    return replace(call, subject=_first(subject), output=output)


def _first(text: str) -> str:
    return " ".join(text[: _SUBJECT * 4].split())[:_SUBJECT]
