"""What is being spent now is what the reports say of the same session, day, block and budgets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hansard
from hansard.demo import write_history
from hansard.engine import Hansard
from hansard.index.schema import QUARTER
from hansard.ledger.current import check_budgets, current_usage
from hansard.ledger.report import total
from hansard.model.calendar import find_zone
from hansard.model.ledger import CurrentTotal, Limit, UsageRow
from hansard.query.reader import Reader

NOW = datetime(2026, 11, 12, 15, 30, tzinfo=UTC)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Santiago")


@pytest.fixture(scope="module")
def h(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hansard]:
    """A store of two invented months that end at NOW."""
    place = tmp_path_factory.mktemp("current")
    write_history(place / "claude", now=NOW)
    with hansard.open(place / "home", roots=[place / "claude"]) as h:
        h.sync()
        yield h


def moments(h: Hansard) -> list[datetime]:
    """Times at which something had just happened, and some at which nothing had."""
    rows = h.usage(by="session", timezone="UTC").rows
    told = [row.last_at for row in rows if row.last_at is not None]
    return [*told, *(moment + timedelta(hours=3, minutes=1) for moment in told[::5]), NOW]


def of(row: UsageRow | None) -> CurrentTotal:
    """The same figures of a report's row."""
    if row is None:
        return CurrentTotal(Decimal(0), 0, 0, 0, ())
    return CurrentTotal(row.cost_usd, row.tokens, row.api_messages, row.lower_bound_messages, row.unpriced_models)


def test_a_session_stands_where_its_report_does(h: Hansard) -> None:
    rows = h.usage(by="session").rows
    assert len(rows) > 20
    for row in rows:
        assert h.current(row.key["session"], now=NOW).session == of(row)


@pytest.mark.parametrize("zone", ZONES)
def test_today_stands_where_the_day_does(h: Hansard, zone: str) -> None:
    days = {row.key["day"]: row for row in h.usage(by="day", timezone=zone).rows}
    for now in moments(h):
        current = h.current(timezone=zone, now=now)
        today = find_zone(zone).local(now).date()
        assert current.today == of(days.get(today.isoformat()))
        assert current.today_since == find_zone(zone).midnight(today)


def test_the_block_stands_where_the_blocks_do(h: Hansard) -> None:
    seen = set()
    for now in moments(h):
        current = h.current(now=now)
        active = [block for block in h.blocks(now=now).blocks if block.is_active]
        seen.add(bool(active))
        if not active:
            assert (current.block, current.block_start, current.burn_usd_per_hour) == (None, None, None)
            continue
        assert current.block == of(active[0].usage)
        assert (current.block_start, current.block_end) == (active[0].start, active[0].end)
        assert current.burn_usd_per_hour == active[0].burn_usd_per_hour
        assert current.remaining_minutes == active[0].remaining_minutes
    assert seen == {True, False}


def test_budgets_stand_where_they_do_elsewhere(h: Hansard) -> None:
    limits = [
        Limit(period, Decimal(amount), Decimal(share), project)
        for period in ("day", "week", "month")
        for amount, share in (("0.01", "0.8"), ("0.1213309", "1"), ("3", "0.01"), ("1000000", "0.8"))
        for project in (None, "mailsieve", "no such project")
    ]
    states = set()
    for now in moments(h)[:12]:
        full = check_budgets(h.reader, limits, "UTC", now)
        assert list(h.current(limits=limits, timezone="UTC", now=now).budgets) == full
        states |= {item.state for item in full}
    assert states == {"ok", "near", "over"}


def test_what_is_not_there_is_told_so(h: Hansard, tmp_path: Path) -> None:
    assert h.current("no such session", now=NOW).session is None
    with hansard.open(tmp_path) as empty:
        current = empty.current("x", now=NOW)
    assert (current.session, current.block, current.budgets) == (None, None, ())
    assert current.today == of(None)


prices = st.decimals(min_value=0, max_value=10**4, allow_nan=False, allow_infinity=False, places=None).map(
    lambda price: format(price, "f")
)
counts = st.integers(0, 10**13)
groups = st.tuples(
    st.booleans(), st.booleans(), st.lists(prices, min_size=6, max_size=6), st.lists(counts, min_size=9, max_size=9)
)


@given(st.lists(groups, max_size=5))
@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_to_the_last_digit(tmp_path: Path, spent: list[Any]) -> None:
    reader = Reader(str(tmp_path))
    now = int(NOW.timestamp() * 1000)
    for number, (is_priced, has_recorded, rates, used) in enumerate(spent):
        values = (number, f"model-{number}", *("",) * 3, 0, 0, 0, 0, "x" if is_priced else None, *rates, "", "[]")
        reader.db.execute(f"INSERT INTO rates VALUES ({','.join('?' * 18)})", values)
        row = (now // QUARTER, "s", "", "", number, has_recorded, *used, 0, now, now)
        reader.db.execute(f"INSERT INTO spending VALUES ({','.join('?' * 18)})", row)
    report = total(reader, now=NOW)
    current = current_usage(reader, None, (), "UTC", NOW)
    assert current.today == of(report.totals)
    assert current.block == (of(report.totals) if spent else None)
    reader.close()
