"""Every tool and the totals of its calls: how often, how long, how many failed; the same calls as in `Work`.

SQLite has no median, so SQL returns the times of each tool as one text, which is several times faster than rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Any

from hansard.clients.usage import dated
from hansard.index.schema import QUARTER, RATE_OF_CALL
from hansard.ledger.report import BRANCH_OF_CALL, Ledger, Selection, clients_of_calls
from hansard.model.calendar import QUARTERS_PER_DAY, Zone, day_of
from hansard.model.calls import ToolDay, ToolReport, ToolSums
from hansard.model.time import from_milliseconds, to_milliseconds
from hansard.model.tools import mcp_parts
from hansard.query.compile import COUNTED_CALLS
from hansard.query.duplicates import find_copies
from hansard.storage import OFFSET_BITS, OFFSET_MASK
from hansard.storage.sqlite import from_json, to_json

_CALL = (
    "c.tool AS tool, max(0, c.result_ts - c.ts) AS lasted, c.is_error AS is_error, c.added AS added, c.removed AS removed,"
    " c.id AS id, c.path AS path, c.change AS change"
)
# The message in `usage` determines when and where a call is counted, regardless of which copy of the call is read.
_ANY = (
    f"SELECT {_CALL}, coalesce(u.ts, c.ts) AS first_ts, iif(u.is_shared, u.session_id, c.id >> {OFFSET_BITS}) AS owner"
    " FROM tool_calls c LEFT JOIN messages m ON m.id = c.message_id LEFT JOIN usage u ON u.key = m.key WHERE c.part = 0"
)
_OF_TRANSCRIPTS = f" FROM transcripts t CROSS JOIN tool_calls c ON c.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
_CHOSEN = (
    f"SELECT {_CALL}, g.first_ts AS first_ts, g.session_id AS owner, g.session_id AS session_id, g.agent_id AS agent_id,"
    f" g.branch AS branch, g.rate AS rate, g.quarter AS quarter, NULL AS model{_OF_TRANSCRIPTS}"
    " CROSS JOIN messages m ON m.id = c.message_id CROSS JOIN charges g ON g.key = m.key WHERE c.part = 0 AND coalesce(t.last_ts, 0) >= ?1"
    # Clients that do not say which answer made a call: it counts at its own time.
    f" UNION ALL SELECT {_CALL}, coalesce(c.ts, 0), t.session_id, t.session_id, t.agent_id, {BRANCH_OF_CALL}, {RATE_OF_CALL}, coalesce(c.ts, 0) / {QUARTER}, c.model"
    f"{_OF_TRANSCRIPTS} WHERE c.message_id IS NULL AND c.part = 0 AND t.current = 1 AND t.client IN (SELECT value FROM json_each(?2)) AND coalesce(t.last_ts, 0) >= ?1"
)
_SUMS = (
    f"SELECT tool, count(*), sum(is_error), sum(added), sum(removed), group_concat(lasted), group_concat(first_ts / {QUARTER}),"
    f" group_concat(CASE is_error WHEN 1 THEN first_ts / {QUARTER} END), min(nullif(first_ts, 0)), max(first_ts),"
    " json_group_array(DISTINCT owner)"
)


class _Counted:
    """Running totals of calls."""

    def __init__(self) -> None:
        self.calls = self.errors = self.added = self.removed = 0
        self.times: list[int] = []
        self.moments: list[int] = []  # first and last times, several of each
        self.sessions: set[str] = set()

    def add(self, calls: int, errors: int, added: int, removed: int) -> None:
        self.calls += calls
        self.errors += errors
        self.added += added
        self.removed += removed

    def take(self, other: _Counted) -> None:
        """Add the totals of another."""
        self.add(other.calls, other.errors, other.added, other.removed)
        self.times += other.times
        self.moments += other.moments
        self.sessions |= other.sessions

    def sums(self, tool: str) -> ToolSums:
        self.times.sort()
        moments = [at for at in self.moments if dated(at)]
        return ToolSums(
            tool=tool,
            server=server_of(tool),
            calls=self.calls,
            errors=self.errors,
            duration_ms=sum(self.times),
            timed_calls=len(self.times),
            median_ms=_at_most(self.times, 50),
            p95_ms=_at_most(self.times, 95),
            lines_added=self.added,
            lines_removed=self.removed,
            sessions=len(self.sessions),
            first_at=from_milliseconds(min(moments, default=None)),
            last_at=from_milliseconds(max(moments, default=None)),
        )


def server_of(tool: str) -> str | None:
    parts = mcp_parts(tool)
    return parts[0] if parts is not None else None


def _at_most(times: list[int], percent: int) -> int | None:
    """The given percentile of call times; the times are sorted."""
    return times[-(-len(times) * percent // 100) - 1] if times else None


def report_tools(ledger: Ledger, name: str | None = None) -> ToolReport:
    """All tools that match the ledger's filters, or one; most used first."""
    tally = _Tally(ledger, name)
    totals = _Counted()
    for counted in tally.tools.values():
        totals.take(counted)
    sums = [counted.sums(name) for name, counted in tally.tools.items()]
    request = ledger.request
    return ToolReport(
        ledger.zone.name,
        request.since,
        request.until,
        tuple(sorted(sums, key=lambda item: (-item.calls, item.tool))),
        totals.sums(""),
        tuple(_days(ledger.zone, tally.quarters, tally.failed)),
    )


class _Tally:
    """Counts the selected calls, each once, when and where its message is counted."""

    def __init__(self, ledger: Ledger, name: str | None) -> None:
        self._reader = ledger.reader
        self._sessions: dict[Any, str] = dict(self._reader.rows("SELECT id, session_id FROM transcripts"))
        self._source, self._values = _source(ledger, name)
        self.tools: dict[str, _Counted] = {}
        self.quarters: Counter[int] = Counter()
        self.failed: Counter[int] = Counter()
        copies = to_json(find_copies(self._reader))
        query = f"{_SUMS} FROM {self._source} AND id NOT IN (SELECT value FROM json_each(?)) GROUP BY tool"
        for row in self._reader.rows(query, (*self._values, copies)):
            tool, calls, errors, added, removed, times, quarters, failed, first, last, owners = row
            counted = self._tool(tool)
            counted.add(calls, errors, added, removed)
            counted.times += map(int, times.split(",")) if times else ()
            counted.moments += [at for at in (first, last) if at is not None]
            counted.sessions.update(self._sessions.get(owner, owner) for owner in from_json(owners))
            self.quarters.update(_numbers(quarters))
            self.failed.update(_numbers(failed))

    def _tool(self, name: str) -> _Counted:
        known = self.tools.get(name)
        if known is None:
            known = self.tools[name] = _Counted()
        return known


def _source(ledger: Ledger, name: str | None) -> tuple[str, tuple[Any, ...]]:
    """A table of the selected calls with the beginning of a condition, and the values in both."""
    named = ("tool = ?", (name,)) if name is not None else ("1", ())
    selection = Selection(ledger.reader, ledger.query, target=COUNTED_CALLS)
    if selection.where == "true":
        return f"({_ANY}) c WHERE {named[0]}", named[1]
    since = ledger.request.since
    low = -(1 << 62) if since is None else to_milliseconds(since)
    return f"({_CHOSEN}) c WHERE {selection.where} AND {named[0]}", (
        low,
        clients_of_calls(ledger.reader),
        *selection.values,
        *named[1],
    )


def _numbers(text: str | None) -> Iterator[int]:
    return map(int, text.split(",")) if text else iter(())


def _days(zone: Zone, quarters: Counter[int], failed: Counter[int]) -> Iterator[ToolDay]:
    known = [quarter for quarter in quarters if dated(quarter * QUARTER)]
    if not known:
        return
    shifts = zone.shifts(min(known), max(known))
    starts = [first for first, _ in shifts]
    days: dict[int, list[int]] = {}
    for quarter in known:
        local = quarter + shifts[bisect_right(starts, quarter) - 1][1]
        day = days.setdefault(local // QUARTERS_PER_DAY, [0, 0])
        day[0] += quarters[quarter]
        day[1] += failed[quarter]
    for number in sorted(days):
        yield ToolDay(day_of(number).isoformat(), *days[number])
