"""Which part of a conversation stands at a byte of its transcript."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hansard.errors import Ambiguous, NotFound
from hansard.index.lines import Lines, items
from hansard.parse.decode import ParsedLine

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Session
    from hansard.model.threads import Conversation


@dataclass(frozen=True, slots=True)
class MessageLocation:
    """The entries of a conversation that one line of its transcript made."""

    conversation: Conversation
    here: range
    offset: int  # that was asked for
    exact: bool  # False: that line is not shown, and this is the one before it


def find_place(
    h: Hansard, about: Session, conversation: Conversation, offset: int, agent: str | None
) -> MessageLocation:
    """The entries at an offset; a tool's result is part of its call, and a sidechain has a thread of its own."""
    entries = conversation.entries
    if not entries:
        raise NotFound(f"there is nothing to read in session {about.session_id}")
    path = entries[0].transcript
    transcript, size = _transcript(h, about, path)
    if offset >= size:
        raise NotFound(f"there is nothing at byte {offset:,}: {path} ends at {size:,}")
    here = _covering(conversation, offset)
    if here is not None:
        return MessageLocation(conversation, here, offset, exact=True)
    before = [number for number, entry in enumerate(entries) if entry.offset <= offset]
    record = _record_at(h, transcript, entries[before[-1]].offset if before else 0, offset)
    if record is not None:
        calls = _answered(record)
        if (here := _calling(conversation, calls)) is not None:
            return MessageLocation(conversation, here, offset, exact=True)
        if agent is None and conversation.not_shown.get("sidechain"):
            for inside in conversation.agents:
                thread = h.conversation(about.session_id, agent=inside.agent_id)
                if thread.entries and thread.entries[0].transcript == path:
                    here = _covering(thread, offset) or _calling(thread, calls)
                    if here is not None:
                        return MessageLocation(thread, here, offset, exact=True)
    return MessageLocation(conversation, _of_line(conversation, before[-1] if before else 0), offset, exact=False)


def _transcript(h: Hansard, about: Session, path: str) -> tuple[int, int]:
    """The id of a transcript in the record, and its size."""
    try:
        number, transcript = h.find_transcript(path)
    except Ambiguous:  # several roots have it
        number, transcript = h.find_transcript(f"{about.root}/{path}")
    return number, transcript.size


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


def _record_at(h: Hansard, transcript: int, start: int, offset: int) -> ParsedLine | None:
    """The record that covers an offset, looked for from the beginning of an earlier line on."""
    lines = Lines(h.record.read(transcript, start, mend=True), start)
    line, place = b"", start
    for place, line in lines:
        if place + len(line) >= offset:
            break
    else:
        line, place = lines.rest, lines.offset
    found = [item for item in items(line, place) if isinstance(item, ParsedLine) and item.offset <= offset]
    return found[-1] if found else None


def _answered(record: ParsedLine) -> set[str]:
    """The calls whose results a record holds."""
    message = getattr(record.body, "message", None)
    content = getattr(message, "content", None)
    blocks = content if isinstance(content, list) else []
    return {block.tool_use_id for block in blocks if block.type == "tool_result" and block.tool_use_id}
