"""How much happened in a stretch of time."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from hansard.model.sessions import Activity
from hansard.model.time import to_milliseconds
from hansard.query.duplicates import find_copies, find_prompt_copies
from hansard.storage.ids import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader


def count_activity(reader: Reader, since: datetime | None = None, until: datetime | None = None) -> Activity:
    """Count what falls between two times, by the time of each thing and not of its session."""
    low = to_milliseconds(since) if since is not None else -(1 << 62)
    high = to_milliseconds(until) if until is not None else 1 << 62
    # CROSS JOIN keeps the order: few transcripts are recent, and each one's rows are a range of ids.
    inside = (
        "SELECT count(*) FROM transcripts t CROSS JOIN {table} x WHERE coalesce(t.last_ts, 0) >= ?1"
        f" AND x.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
        " AND coalesce(x.ts, 0) >= ?1 AND coalesce(x.ts, 0) < ?2 AND x.id NOT IN (SELECT value FROM json_each(?3))"
    )
    copies = json.dumps([id_ for id_, count in find_prompt_copies(reader).items() if count < 0])
    prompts = reader.one(
        f"{inside.format(table='prompts')} AND t.current = 1 AND x.source IN ('prompt', 'queued')", (low, high, copies)
    )
    calls = reader.one(inside.format(table="tool_calls"), (low, high, json.dumps(find_copies(reader))))
    usage = reader.one(
        "SELECT count(*), coalesce(sum(input), 0), coalesce(sum(output), 0), coalesce(sum(cache_read), 0),"
        " coalesce(sum(cache_write), 0) FROM usage WHERE ts >= ?1 AND ts < ?2",
        (low, high),
    )
    active = reader.one(
        "SELECT count(*), count(DISTINCT project) FROM sessions"
        " WHERE debris = 0 AND coalesce(ended_at, 0) >= ?1 AND coalesce(started_at, 0) < ?2",
        (low, high),
    )
    return Activity(active[0], active[1], prompts[0], usage[0], calls[0], *usage[1:])
