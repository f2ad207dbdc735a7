"""Current spending: a session, today, the current five-hour block, the budgets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from hansard.ledger.blocks import burn_rate, present_block
from hansard.ledger.report import total
from hansard.model.calendar import Zone, find_zone
from hansard.model.ledger import Budget, CurrentTotal, CurrentUsage, Limit, UsageReport, UsageRow

if TYPE_CHECKING:
    from hansard.query.reader import Reader


def current_usage(
    reader: Reader, session_id: str | None, limits: Sequence[Limit], timezone: str | None, now: datetime | None
) -> CurrentUsage:
    """What a session, today, the current block and the budgets have used so far."""
    zone, now = find_zone(timezone), now or datetime.now(UTC)
    at = int(now.timestamp() * 1000)

    def between(since: datetime, until: datetime) -> CurrentTotal:
        return _shown(total(reader, since=since, until=until, now=now))

    session = _shown(total(reader, sessions=(session_id,), now=now)) if session_id is not None else None
    today = zone.local(now).date()
    midnight = zone.midnight(today)
    block = present_block(reader, at)
    used = between(block.started_at, block.ended_at) if block is not None else None
    return CurrentUsage(
        at=now,
        session_id=session_id,
        session=session if session is not None and session.api_messages else None,
        today=between(midnight, zone.midnight(today + timedelta(days=1))),
        today_since=midnight,
        block=used,
        block_start=block.started_at if block is not None else None,
        block_end=block.ended_at if block is not None else None,
        burn_usd_per_hour=burn_rate(used.cost_usd, block, at) if block is not None and used is not None else None,
        remaining_minutes=(block.end - at) // 60_000 if block is not None else None,
        budgets=tuple(check_budgets(reader, limits, timezone, now, session_id=session_id)),
    )


def _shown(report: UsageReport) -> CurrentTotal:
    row = report.totals
    return CurrentTotal(row.cost_usd, row.tokens, row.api_messages, row.lower_bound_messages, row.unpriced_models)


PERIODS = ("day", "week", "month")
SESSION = "session"


def check_budgets(
    reader: Reader,
    limits: Sequence[Limit],
    timezone: str | None = None,
    now: datetime | None = None,
    *,
    session_id: str | None = None,
) -> list[Budget]:
    """How much of each limit is spent; limits of sessions need one."""
    zone, now = find_zone(timezone), now or datetime.now(UTC)

    def spent(since: datetime, project: str | None) -> UsageRow:
        return total(reader, project=project, since=since, now=now).totals

    found = []
    for limit in limits:
        if limit.period != SESSION:
            found.append(check_limit(limit, spent, zone, now))
        elif session_id is not None:
            found.append(_of_session(reader, limit, session_id, now))
    return found


def period_bounds(period: str, zone: Zone, now: datetime) -> tuple[datetime, datetime]:
    """When the current day, week or month began, and when it ends."""
    today = zone.local(now).date()
    if period == "month":
        first = today.replace(day=1)
        return zone.midnight(first), zone.midnight((first + timedelta(days=31)).replace(day=1))
    days = {"day": 1, "week": 7}[period]
    first = today - timedelta(days=today.weekday() if period == "week" else 0)
    return zone.midnight(first), zone.midnight(first + timedelta(days=days))


def _forecast(spent: Decimal | None, since: datetime, until: datetime, now: datetime) -> Decimal | None:
    """What will be spent at the end of a period at the same rate; None before its second day."""
    elapsed = now - since
    if spent is None or elapsed < timedelta(days=1):
        return None
    whole, part = (int(length / timedelta(seconds=1)) for length in (until - since, elapsed))
    return (spent * whole / part).quantize(Decimal("0.01"))


def check_limit(limit: Limit, spent: Callable[[datetime, str | None], UsageRow], zone: Zone, now: datetime) -> Budget:
    """How much of a limit of a day, week or month is spent; `spent` sums since a time, of a project or of all."""
    since, until = period_bounds(limit.period, zone, now)
    totals = spent(since, limit.project)
    return _budget(limit, totals, since, until, _forecast(totals.cost_usd, since, until, now))


def _of_session(reader: Reader, limit: Limit, session_id: str, now: datetime) -> Budget:
    totals = total(reader, sessions=(session_id,), now=now).totals
    return _budget(limit, totals, totals.first_at or now, None, None)


def _budget(
    limit: Limit, totals: UsageRow, since: datetime, until: datetime | None, forecast: Decimal | None
) -> Budget:
    spent = totals.cost_usd or Decimal(0)
    share = spent / limit.limit_usd
    return Budget(
        period=limit.period,
        project=limit.project,
        limit_usd=limit.limit_usd,
        spent_usd=totals.cost_usd,
        unpriced_messages=totals.unpriced_messages,
        lower_bound_messages=totals.lower_bound_messages,
        share=share.quantize(Decimal("0.0001")),
        state="over" if spent > limit.limit_usd else "near" if share >= limit.warn_at else "ok",
        since=since,
        until=until,
        forecast_usd=forecast,
    )
