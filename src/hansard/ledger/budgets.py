"""Budgets: how much of the limits that the user set is spent in the present day, week and month."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from hansard.ledger.report import total
from hansard.model.calendar import find_zone
from hansard.model.ledger import Budget

if TYPE_CHECKING:
    from hansard.model.calendar import Zone
    from hansard.model.ledger import Limit
    from hansard.query.reader import Reader

PERIODS = ("day", "week", "month")


def check_budgets(
    reader: Reader, limits: Sequence[Limit], timezone: str | None = None, now: datetime | None = None
) -> list[Budget]:
    """What is spent of each limit."""
    zone, now = find_zone(timezone), now or datetime.now(UTC)
    return [_checked(reader, limit, zone, now) for limit in limits]


def period_start(period: str, zone: Zone, now: datetime) -> datetime:
    """When the present day, week or month began."""
    today = zone.local(now).date()
    first = {"day": today, "week": today - timedelta(days=today.weekday()), "month": date(today.year, today.month, 1)}
    return zone.midnight(first[period])


def _checked(reader: Reader, limit: Limit, zone: Zone, now: datetime) -> Budget:
    since = period_start(limit.period, zone, now)
    totals = total(reader, project=limit.project, since=since, now=now).totals
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
    )
