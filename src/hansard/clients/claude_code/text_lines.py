"""Lines decoded for their text alone: fewer fields than `decode` reads, and none of them counted.

Whatever is not one intact record goes the way of `decode.items`, so that both find the same texts.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import Struct, defstruct, field

from hansard.clients.claude_code import wire
from hansard.clients.lines import is_ordinary
from hansard.clients.records import REFUSED, ParsedLine

_TEXT_FIELDS = frozenset(
    """
    attachment content is_api_error is_compact_summary is_meta is_sidechain message origin prompt_source
    repeats_compact_summary stream_parent_tool subtype type version
    """.split()
)


class _Message(Struct, gc=False):
    content: str | list[wire.Block] | None = None


class _Versioned(Struct, gc=False):
    version: str | None = None


class _Bare(Struct, gc=False):
    pass


def _entry_shape() -> type[wire.Entry]:
    """A struct of those fields of an entry that tell of its texts, in the order in which clients write them."""
    fields = [known for known in msgspec.structs.fields(wire.Entry) if known.name in _TEXT_FIELDS]
    shape = defstruct(
        "TextEntry",
        [
            (
                known.name,
                _Message | None if known.name == "message" else known.type,
                field(default=known.default, name=known.encode_name),
            )
            for known in fields
        ],
        gc=False,
    )
    return cast("type[wire.Entry]", shape)


_entry = msgspec.json.Decoder(_entry_shape()).decode
_SHAPES: dict[type[Any], type[Any]] = {
    wire.Title: wire.Title,
    wire.Summary: wire.Summary,
    wire.QueueOperation: wire.QueueOperation,
    wire.Bare: _Versioned,
}
_side_records = {
    kind.encode(): (kind, msgspec.json.Decoder(_SHAPES.get(shape, _Bare)).decode)
    for kind, shape in wire.METADATA.items()
}
_TAGGED = b'{"type":"'


def text_line(line: bytes, offset: int) -> ParsedLine | None:
    """Decode what tells of the texts of an intact line; None for one that `items` must look at."""
    if not is_ordinary(line):
        return None
    try:
        if line.startswith(_TAGGED):
            side_record = _side_records.get(line[9 : line.find(b'"', 9)])
            if side_record is not None:
                return ParsedLine(offset, len(line), side_record[0], side_record[1](line))
        body = _entry(line)
    except REFUSED:
        return None
    kind = body.type
    if kind not in wire.ENTRY_KINDS or (body.message is not None and body.message.content is None):
        return None
    return ParsedLine(offset, len(line), kind, body)
