"""The risky operations of sessions as rows of a lake: what `hansard audit` finds, without what was done to which file."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from hansard.audit.report import find_operations
from hansard.model.time import to_milliseconds
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.query.reader import Reader
    from hansard.record.store import Record

_TRANSCRIPTS = "SELECT root, path, generation, id FROM transcripts WHERE session_id IN (SELECT value FROM json_each(?))"


def risk_rows(reader: Reader, record: Record, sessions: Collection[str]) -> list[tuple[Any, ...]]:
    """A row for each risky operation, as `columns_in_lake` lists its columns."""
    known = {row[:3]: row[3] for row in reader.rows(_TRANSCRIPTS, (to_json(list(sessions)),))}
    return [
        (
            one.session_id,
            one.agent_id,
            known[one.root, one.transcript, one.generation],
            one.offset,
            one.block,
            at := None if one.at is None else to_milliseconds(one.at),
            one.rule,
            one.severity,
            one.outcome,
            at or 0,
        )
        for one in find_operations(reader, record, sessions)
    ]
