"""Tool calls: what they were given and what they changed; also single ones, read from their lines without the thread around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from hansard.errors import NotFound
from hansard.index.lines import items
from hansard.model.threads import ToolCall
from hansard.model.time import from_milliseconds as moment
from hansard.parse import meaning as m
from hansard.parse.decode import ParsedLine
from hansard.query.reader import Reader
from hansard.storage.ids import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.model.calls import Call, CallPage
    from hansard.parse import wire
    from hansard.record.store import Record

_any = msgspec.json.Decoder().decode
_hunks = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_patch = msgspec.json.Decoder(list[dict[str, Any]]).decode

# Deeper than any real tool's input; whoever writes a value out goes down it by recursion.
_MAX_DEPTH = 100

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
_SUBJECT = 400  # characters


class Pending:
    """A tool call that was read, and the line and the block with its result as soon as they were."""

    __slots__ = ("answer", "block", "model", "record")

    def __init__(self, record: ParsedLine, block: wire.Block, model: str | None) -> None:
        self.record = record
        self.block = block
        self.model = model
        self.answer: tuple[ParsedLine, wire.Block] | None = None


def blocks_of(record: ParsedLine) -> list[wire.Block]:
    """The content blocks of a record; none where its content is a text, or where it has none."""
    content = getattr(getattr(record.body, "message", None), "content", None)
    return content if isinstance(content, list) else []


def has_image(result: wire.Block) -> bool:
    """Whether there is an image in a result."""
    return not m.raw_is_string(result.content) and b'"image"' in bytes(result.content)


def given(raw: msgspec.Raw) -> Any:
    """A tool's input; as the JSON text that it is where it is nested too deep to be walked."""
    value = m.lenient(_any, raw)
    data = bytes(raw)
    if data.count(b"{") + data.count(b"[") <= _MAX_DEPTH:
        return value
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return value
    return m.string(raw)


def _inside(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return tuple(value.values())
    return value if isinstance(value, list) else ()


def patch_of(raw: msgspec.Raw) -> str | None:
    """The unified diff that a file-changing result carries."""
    if not raw:
        return None
    outcome = m.lenient(_hunks, raw)
    hunks = m.lenient(_patch, outcome["structuredPatch"]) if outcome and "structuredPatch" in outcome else None
    if not hunks:
        return None
    lines: list[str] = []
    for hunk in hunks:
        numbers = [hunk.get(name) for name in ("oldStart", "oldLines", "newStart", "newLines")]
        lines.append("@@ -{},{} +{},{} @@".format(*numbers))
        stated = hunk.get("lines")
        lines += [line for line in stated if isinstance(line, str)] if isinstance(stated, list) else []
    return "\n".join(lines)


# -- single calls


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


def with_subjects(reader: Reader, record: Record, page: CallPage, *, outputs: bool = False) -> CallPage:
    """The same page with subjects, and with the beginnings of results where they are wanted."""
    return replace(page, calls=tuple(_told(reader, record, call, outputs=outputs) for call in page.calls))


def _told(reader: Reader, record: Record, call: Call, *, outputs: bool) -> Call:
    if call.path is not None and not outputs:
        return replace(call, subject=call.path)
    from hansard.thread.views import output_of, view

    found = read_listed(reader, record, call, result=outputs)
    if found is None:
        return replace(call, subject=call.path or "")
    subject = view(replace(found, output=None, patch=None), "").subject if call.path is None else call.path
    output = _first(output_of(found)) if outputs and found.output is not None else None
    return replace(call, subject=_first(subject), output=output)


def _first(text: str) -> str:
    """The beginning of a text, on one line."""
    return " ".join(text[: _SUBJECT * 4].split())[:_SUBJECT]
