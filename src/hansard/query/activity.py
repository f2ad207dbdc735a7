"""What happened in given periods, each event by its own time rather than its session's; and what is live now.

Active time comes from the lines: the gap between two lines of a session (main thread or subagent) counts as work if it
is at most `PAUSE`. Longer gaps do not count. By the clock, simultaneous sessions count once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients.usage import FIRST_OF_ANSWER
from hansard.model.sessions import Activity
from hansard.model.time import from_milliseconds, to_milliseconds
from hansard.query.duplicates import PROMPTS, count_calls, find_copies, find_prompt_copies
from hansard.query.sessions import PAUSE, TIMES, active_between
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from hansard.query.reader import Reader


LIVE = timedelta(minutes=5)
"""A session is live if its last record is not older than this."""

# Few transcripts are recent, and each one's rows are a range of ids. Only the transcript that a session or subagent is
# read from: a copy elsewhere would count twice.
_RECENT = """
    SELECT json_group_array(json_array(t.id, t.session_id)) FROM transcripts t WHERE t.current = 1 AND t.last_ts >= ?
        AND (EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = t.session_id AND s.transcript = t.id)
            OR EXISTS (SELECT 1 FROM agents a WHERE a.session_id = t.session_id AND a.transcript = t.id))
"""
_INSIDE = (
    f"json_each(?1) t CROSS JOIN {{}} x WHERE x.id BETWEEN (t.value ->> 0) << {OFFSET_BITS}"
    f" AND ((t.value ->> 0) << {OFFSET_BITS}) + {OFFSET_MASK} AND x.ts >= ?2 AND x.ts < ?3"
)
# Sessions of clients that do not state the usage of each answer.
_WITHOUT_USAGE = "SELECT session_id FROM sessions WHERE messages > api_messages"
_ANSWERS = f"""
    SELECT count(*) FROM transcripts t CROSS JOIN records r ON r.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}
    WHERE t.session_id IN ({_WITHOUT_USAGE}) AND r.sub = '{FIRST_OF_ANSWER}' AND coalesce(r.ts, 0) >= ?1 AND coalesce(r.ts, 0) < ?2
        AND (EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = t.session_id AND s.transcript = t.id)
            OR EXISTS (SELECT 1 FROM agents a WHERE a.session_id = t.session_id AND a.transcript = t.id))
"""
_SESSIONS = (
    "SELECT session_id, started_at, ended_at FROM sessions WHERE debris = 0 AND ended_at >= ? AND started_at < ?"
)
_PROMPTS = (
    f"SELECT x.ts, x.id FROM prompts x CROSS JOIN transcripts t ON t.id = x.id >> {OFFSET_BITS} AND t.current = 1"
    f" WHERE x.ts >= ?1 AND x.ts < ?2 AND x.source IN {PROMPTS}"
)
_CALLS = (
    "SELECT x.ts, x.is_error, x.id FROM transcripts t CROSS JOIN tool_calls x WHERE t.last_ts >= ?1"
    f" AND x.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK} AND x.ts >= ?1 AND x.ts < ?2 AND x.part = 0"
)
_FAILURES = f"SELECT x.ts, 1 FROM {_INSIDE.format('records')} AND x.role = 'error'"
_STINTS = f"""
    WITH lines AS (SELECT t.value ->> 1 AS session_id, x.ts AS ts FROM {_INSIDE.format("records")}),
    begun AS (SELECT session_id, ts, ts - lag(ts, 1, 0) OVER near > ?4 AS begins FROM lines
        WINDOW near AS (PARTITION BY session_id ORDER BY ts)),
    numbered AS (SELECT session_id, ts, sum(begins) OVER (PARTITION BY session_id ORDER BY ts) AS stint FROM begun)
    SELECT min(ts), max(ts) FROM numbered GROUP BY session_id, stint
"""

Span = tuple[int, int]  # milliseconds: start, end (exclusive)


class PeriodActivity(Struct, frozen=True):
    """What happened in one period."""

    since: datetime
    until: datetime
    sessions: int  # with a record in the period
    prompts: int
    tool_calls: int
    tool_errors: int
    api_errors: int
    active: timedelta  # by the clock: at least one session was active
    worked: timedelta  # the active times of all sessions together

    @property
    def errors(self) -> int:
        """Tool and API errors together."""
        return self.tool_errors + self.api_errors


def activity_by_period(reader: Reader, periods: Sequence[tuple[datetime, datetime]]) -> list[PeriodActivity]:
    """What happened in each of these periods; they may overlap."""
    if not periods:
        return []
    spans = [(to_milliseconds(since), to_milliseconds(until)) for since, until in periods]
    whole = min(low for low, _ in spans), max(high for _, high in spans)
    recent = reader.one(_RECENT, whole[:1])[0]
    asked = recent, *whole
    typed, done = find_prompt_copies(reader), set(find_copies(reader))
    prompts = sorted(row[0] for row in reader.rows(_PROMPTS, whole) if typed.get(row[1], 0) >= 0)
    calls = sorted(row for row in reader.rows(_CALLS, whole) if row[2] not in done)
    called = [row[0] for row in calls]
    wrong = [row[0] for row in calls if row[1]]
    failures = sorted(row[0] for row in reader.rows(_FAILURES, asked))
    stints = list(reader.rows(_STINTS, (*asked, PAUSE // timedelta(milliseconds=1))))
    clock = list(_merged(stints))
    return [
        PeriodActivity(
            since=since,
            until=until,
            sessions=_active(reader, low, high)[0],
            prompts=_between(prompts, low, high),
            tool_calls=_between(called, low, high),
            tool_errors=_between(wrong, low, high),
            api_errors=_between(failures, low, high),
            active=_within(clock, low, high),
            worked=_within(stints, low, high),
        )
        for (since, until), (low, high) in zip(periods, spans, strict=True)
    ]


def count_sessions(reader: Reader, bounds: Sequence[datetime]) -> list[int]:
    """How many sessions have a record between each of these times and the next; a session may count in several."""
    edges = [to_milliseconds(bound) for bound in bounds]
    counts = [0] * (len(edges) + 1)  # also before the first and after the last
    for session_id, *times in reader.rows(_SESSIONS, (edges[0], edges[-1])):
        places = {bisect_right(edges, at) for at in times}
        if max(places) - min(places) > 1:
            places = {bisect_right(edges, row[0]) for row in reader.rows(TIMES.format("?"), (session_id,))}
        for place in places:
            counts[place] += 1
    return counts[1:-1]


def list_live(reader: Reader, since: datetime) -> dict[str, datetime]:
    """Sessions with a record after a time, and the time of their last one; newest first.

    The dates of files say nothing: a copied history is all new. Nor do dates in the future.
    """
    rows = reader.rows(
        "SELECT session_id, ended_at FROM sessions WHERE source_state = 'live' AND ended_at BETWEEN ? AND ? ORDER BY 2 DESC, 1",
        (to_milliseconds(since), to_milliseconds(datetime.now(UTC) + LIVE)),
    )
    return {session_id: at for session_id, ended in rows if (at := from_milliseconds(ended)) is not None}


def _active(reader: Reader, low: int, high: int) -> tuple[int, int]:
    """How many sessions and projects have a record in a period."""
    sql, values = active_between(low, high)
    sessions, projects = reader.one(
        f"SELECT count(*), count(DISTINCT project) FROM sessions WHERE debris = 0 AND {sql}", values
    )
    return sessions, projects


def _between(times: Sequence[int], low: int, high: int) -> int:
    return bisect_left(times, high) - bisect_left(times, low)


def _merged(stints: Iterable[Any]) -> Iterator[Span]:
    """Merge overlapping stretches."""
    start = end = None
    for low, high in sorted(stints):
        if start is None or end is None or low > end:
            if start is not None and end is not None:
                yield start, end
            start, end = low, high
        else:
            end = max(end, high)
    if start is not None and end is not None:
        yield start, end


def _within(stints: Iterable[Any], low: int, high: int) -> timedelta:
    return timedelta(milliseconds=sum(max(0, min(end, high) - max(start, low)) for start, end in stints))


def count_activity(reader: Reader, since: datetime | None = None, until: datetime | None = None) -> Activity:
    """Count what falls between two times, by each event's own time rather than its session's."""
    low = to_milliseconds(since) if since is not None else -(1 << 62)
    high = to_milliseconds(until) if until is not None else 1 << 62
    # CROSS JOIN keeps the order: few transcripts are recent, and each one's rows are a range of ids.
    inside = (
        "SELECT count(*) FROM transcripts t CROSS JOIN {table} x WHERE coalesce(t.last_ts, 0) >= ?1"
        f" AND x.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
        " AND coalesce(x.ts, 0) >= ?1 AND coalesce(x.ts, 0) < ?2 AND x.id NOT IN (SELECT value FROM json_each(?3))"
    )
    copies = to_json([id_ for id_, count in find_prompt_copies(reader).items() if count < 0])
    prompts = reader.one(
        f"{inside.format(table='prompts')} AND t.current = 1 AND x.source IN {PROMPTS}", (low, high, copies)
    )
    if since is None and until is None:
        calls = (count_calls(reader),)
        messages = reader.one("SELECT coalesce(sum(messages), 0) FROM sessions")[0]
        # Sums per quarter of an hour: a hundredth as many rows as messages.
        usage = reader.one(
            "SELECT coalesce(sum(input), 0), coalesce(sum(output), 0), coalesce(sum(cache_read), 0),"
            " coalesce(sum(cache_write_5m + cache_write_1h), 0) FROM spending"
        )
    else:
        calls = reader.one(
            inside.format(table="tool_calls") + " AND x.part = 0", (low, high, to_json(find_copies(reader)))
        )
        stated, *usage = reader.one(
            f"SELECT coalesce(sum(session_id NOT IN ({_WITHOUT_USAGE})), 0), coalesce(sum(input), 0),"
            " coalesce(sum(output), 0), coalesce(sum(cache_read), 0), coalesce(sum(cache_write), 0)"
            " FROM usage WHERE ts >= ?1 AND ts < ?2",
            (low, high),
        )
        messages = stated + reader.one(_ANSWERS, (low, high))[0]
    if since is None and until is None:
        active = reader.one("SELECT count(*), count(DISTINCT project) FROM sessions WHERE debris = 0")
    else:
        active = _active(reader, low, high)
    return Activity(active[0], active[1], prompts[0], messages, calls[0], *usage)
