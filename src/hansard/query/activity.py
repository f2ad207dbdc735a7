"""How much happened in a stretch of time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from hansard.model.sessions import Activity
from hansard.model.time import to_milliseconds
from hansard.storage.ids import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.query.reader import Reader


def count_activity(reader: Reader, since: datetime | None = None, until: datetime | None = None) -> Activity:
    """Count what falls between two times, by the time of each thing and not of its session."""
    low = to_milliseconds(since) if since is not None else -(1 << 62)
    high = to_milliseconds(until) if until is not None else 1 << 62
    # CROSS JOIN keeps the order: few transcripts are recent, and each one's rows are a range of ids. Only those transcripts
    # that speak for a session or a subagent: a copy of one elsewhere would count twice.
    inside = (
        "FROM transcripts t CROSS JOIN {table} x WHERE t.current = 1 AND coalesce(t.last_ts, 0) >= ?1"
        " AND (EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = t.session_id AND s.transcript = t.id)"
        " OR EXISTS (SELECT 1 FROM agents a WHERE a.session_id = t.session_id AND a.transcript = t.id))"
        f" AND x.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
        " AND coalesce(x.ts, 0) >= ?1 AND coalesce(x.ts, 0) < ?2"
    )
    prompts = reader.one(
        f"SELECT count(*) {inside.format(table='prompts')} AND x.source IN ('prompt', 'queued')", (low, high)
    )
    calls = reader.one(f"SELECT count(*) {inside.format(table='tool_calls')}", (low, high))
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
