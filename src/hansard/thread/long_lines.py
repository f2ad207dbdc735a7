"""A record in which lines that are too long to be read are short: they say so instead of what they hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hansard.index.schema import OFFSET_BITS
from hansard.query.reader import Reader, moment
from hansard.thread.windows import LONGEST

if TYPE_CHECKING:
    from hansard.record.store import Record


class Abridged:
    """Reads like the record, except at the beginning of a line that is too long.

    Windows begin and end at such lines, and results are looked up by where their lines begin, so a long line is only ever
    asked for by its first byte. What stands in for it is made of the index: the same record with the same blocks, without text.
    """

    def __init__(self, reader: Reader, record: Record) -> None:
        self._reader = reader
        self._record = record

    def read(self, generation: int, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes from `start` to `end`."""
        row = self._reader.one(
            "SELECT id, length, kind, sub, says, uuid, parent_uuid, ts, sidechain FROM records WHERE id = ? AND length > ?",
            ((generation << OFFSET_BITS) + start, LONGEST),
        )
        if row is not None:
            yield self._stand_in(row)
            start += row[1] + 1
        if end is None or start < end:
            yield from self._record.read(generation, start, end)

    def read_snapshot(self, snapshot: int) -> bytes:
        """A file that is kept whole."""
        return self._record.read_snapshot(snapshot)

    def _stand_in(self, row: Any) -> bytes:
        record_id, length, kind, sub, says, uuid, parent_uuid, ts, sidechain = row
        note = f"This line has {length:,} bytes, too many to be shown here; its raw form has them all."
        blocks = [
            _block(note, *block)
            for block in self._reader.rows(
                "SELECT kind, tool_use_id, tool, is_error FROM blocks WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 1000",
                (record_id, record_id + length),
            )
        ]
        at = moment(ts)
        line: dict[str, Any] = {
            "type": kind,
            "subtype": sub,
            "uuid": uuid,
            "parentUuid": parent_uuid,
            "isSidechain": bool(sidechain),
            "timestamp": at.isoformat().replace("+00:00", "Z") if at is not None else None,
            "isMeta": True if says == "meta" else None,
            "isCompactSummary": True if says == "compact_summary" else None,
        }
        if kind in ("user", "assistant"):
            line["message"] = {"role": kind, "content": blocks or note}
        else:
            line["content"] = note
        return json.dumps({name: value for name, value in line.items() if value is not None}).encode() + b"\n"


def _block(note: str, kind: str, tool_use_id: str | None, tool: str | None, is_error: int) -> dict[str, Any]:
    if kind == "tool_result":
        return {"type": kind, "tool_use_id": tool_use_id, "content": note, "is_error": bool(is_error)}
    if kind.endswith("tool_use"):
        return {"type": kind, "id": tool_use_id, "name": tool or "", "input": {"note": note}}
    if kind == "thinking":
        return {"type": kind, "thinking": note}
    return {"type": "text", "text": note}
