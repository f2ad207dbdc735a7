"""Lines of the record: their bytes, and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from hansard.query.forgetting import Line
    from hansard.record.store import Record

_PIECE = 1 << 16


def read_line(record: Record, line: Line) -> bytes:
    """The bytes of a line, without its break."""
    if line.length is not None:
        return b"".join(record.read(line.transcript, line.offset, line.offset + line.length)).rstrip(b"\r\n")
    data = b""
    start = line.offset
    while b"\n" not in data[-_PIECE:]:
        piece = b"".join(record.read(line.transcript, start, start + _PIECE))
        if not piece:
            break
        data += piece
        start += len(piece)
    return data.partition(b"\n")[0].rstrip(b"\r")


def text_of(line: bytes) -> str:
    """What a line says: the texts in its JSON, or all of it."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line.decode("utf-8", "replace")
    texts: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return "\n".join(texts)
