"""What is being spent now: a session, today, the present five-hour block, the budgets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hansard.ledger.blocks import burn_rate, present_block
from hansard.ledger.budgets import check_budgets
from hansard.ledger.filters import UsageFilter, usage_filter
from hansard.ledger.report import Ledger, make_report
from hansard.model.current import CurrentTotal, CurrentUsage
from hansard.model.requests import Conditions

if TYPE_CHECKING:
    from hansard.model.calendar import Zone
    from hansard.model.ledger import Limit
    from hansard.query.reader import Reader


def current_usage(
    reader: Reader, session_id: str | None, *, limits: Sequence[Limit], zone: Zone, now: datetime | None
) -> CurrentUsage:
    """What a session, today, the present block and the budgets have used so far."""
    now = now or datetime.now(UTC)
    at = int(now.timestamp() * 1000)

    def total(wanted: UsageFilter) -> CurrentTotal:
        row = make_report(Ledger(reader, wanted, zone=zone, now=now), ("total",)).totals
        return CurrentTotal(row.cost_usd, row.tokens, row.api_messages, row.lower_bound_messages, row.unpriced_models)

    def between(since: datetime, until: datetime) -> CurrentTotal:
        return total(usage_filter(None, Conditions(since=since, until=until), now=now))

    session = total(UsageFilter(sessions=(session_id,))) if session_id is not None else None
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
        budgets=tuple(check_budgets(reader, limits, zone=zone, now=now)),
    )
