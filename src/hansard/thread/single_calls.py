"""Single tool calls read back from their lines in the record, without the thread around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.errors import NotFound
from hansard.index.lines import items
from hansard.index.schema import OFFSET_BITS, OFFSET_MASK
from hansard.model.threads import ToolCall
from hansard.parse import meaning as m
from hansard.parse.decode import ParsedLine
from hansard.query.reader import Reader, moment
from hansard.thread.tool_calls import blocks_of, given, patch_of

if TYPE_CHECKING:
    from hansard.model.calls import Call
    from hansard.parse import wire
    from hansard.record.store import Record

_LONGEST = 64 << 20  # bytes of a line that are read
_PLACE = (
    "SELECT t.id FROM transcripts t CROSS JOIN tool_calls c ON c.id = (t.id << 40) + ?1 WHERE {session} t.path = ?2"
    " AND (?3 IS NULL OR t.root = ?3) AND (?4 IS NULL OR t.generation = ?4)"
    " ORDER BY t.current DESC, t.generation DESC, t.root LIMIT 1"
)
_ROW = (
    "SELECT c.tool_use_id, c.tool, c.ts, c.result_ts, c.path, c.change, c.added, c.removed, c.is_error, c.result_id"
    " FROM tool_calls c WHERE c.id = ?"
)


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
    """The call that a block of a line makes, with its result; of the newest generation that has one there.

    The session need not be known, but few transcripts are looked through where it is.
    """
    place = max(offset, 0) + max(block, 0)
    query = _PLACE.format(session="t.session_id = ?5 AND" if session_id is not None else "")
    named = () if session_id is None else (session_id,)
    row = reader.one(query, (min(place, OFFSET_MASK), transcript, root, generation, *named))
    if row is None:
        raise NotFound(f"no tool is called at byte {offset} of {transcript}")
    return _read(reader, record, (row[0] << OFFSET_BITS) + place, result=result)


def read_listed(reader: Reader, record: Record, call: Call, *, result: bool = True) -> ToolCall | None:
    """A call that a list has with its input, and its result where that is wanted; None where it is there no more."""
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
    tool_use_id, tool, ts, result_ts, path, change, added, removed, is_error, result_id = reader.one(_ROW, (call_id,))
    asked = _block(reader, record, call_id)
    answered = _block(reader, record, result_id) if result and result_id is not None else None
    return ToolCall(
        tool_use_id=tool_use_id,
        tool=tool,
        input=given(asked[1].input) if asked is not None else None,
        output=m.result_text(answered[1].content) if answered is not None else None,
        is_error=bool(is_error),
        at=moment(ts),
        duration_ms=None if ts is None or result_ts is None else max(0, result_ts - ts),
        path=path,
        change=change,
        added=added,
        removed=removed,
        patch=patch_of(answered[0].body.tool_use_result) if change and answered is not None else None,
        persisted=False,
        agent_id=None,
        result_offset=answered[0].offset if answered is not None else None,
    )


def _block(reader: Reader, record: Record, id_: int) -> tuple[Any, wire.Block] | None:
    """The record with a block, and the block; None where the record's bytes are damaged."""
    row = reader.one("SELECT b.n, r.length FROM blocks b JOIN records r ON r.id = b.id - b.n WHERE b.id = ?", (id_,))
    if row is None:
        return None
    number, length = row
    offset = (id_ & OFFSET_MASK) - number
    line = record.glimpse(id_ >> OFFSET_BITS, offset, offset + min(length, _LONGEST))
    for item in items(line, offset):
        if isinstance(item, ParsedLine) and item.offset == offset:
            blocks = blocks_of(item)
            return (item, blocks[number]) if number < len(blocks) else None
    return None
