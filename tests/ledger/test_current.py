"""Where the money stands is what the reports say of the same session, day, block and budgets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hansard
from hansard.demo.history import write_history
from hansard.engine import Hansard
from hansard.errors import HansardError
from hansard.index.schema import QUARTER
from hansard.ledger.budgets import check_budgets, period_start
from hansard.ledger.calendar import find_zone
from hansard.ledger.current import find_periods, find_standing, here, look, read_store
from hansard.ledger.filters import UsageFilter
from hansard.ledger.report import Ledger, make_report
from hansard.model.current import CurrentTotal
from hansard.model.ledger import Limit, UsageRow
from hansard.query.reader import Reader
from hansard.storage.sqlite import connect

NOW = datetime(2026, 11, 12, 15, 30, tzinfo=UTC)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Santiago")


@pytest.fixture(scope="module")
def h(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hansard]:
    """A store of two invented months that end at NOW."""
    place = tmp_path_factory.mktemp("standing")
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
        assert h.standing(row.key["session"], now=NOW).session == of(row)


@pytest.mark.parametrize("zone", ZONES)
def test_today_stands_where_the_day_does(h: Hansard, zone: str) -> None:
    days = {row.key["day"]: row for row in h.usage(by="day", timezone=zone).rows}
    for now in moments(h):
        standing = h.standing(timezone=zone, now=now)
        today = find_zone(zone).local(now).date()
        assert standing.today == of(days.get(today.isoformat()))
        assert standing.today_since == find_zone(zone).midnight(today)


def test_the_block_stands_where_the_blocks_do(h: Hansard) -> None:
    seen = set()
    for now in moments(h):
        standing = h.standing(now=now)
        active = [block for block in h.blocks(now=now).blocks if block.is_active]
        seen.add(bool(active))
        if not active:
            assert (standing.block, standing.block_start, standing.burn_usd_per_hour) == (None, None, None)
            continue
        assert standing.block == of(active[0].usage)
        assert (standing.block_start, standing.block_end) == (active[0].start, active[0].end)
        assert standing.burn_usd_per_hour == active[0].burn_usd_per_hour
        assert standing.remaining_minutes == active[0].remaining_minutes
    assert seen == {True, False}


def test_budgets_stand_where_they_do_elsewhere(h: Hansard) -> None:
    limits = [
        Limit(period, Decimal(amount), Decimal(share), project)
        for period in ("day", "week", "month")
        for amount, share in (("0.01", "0.8"), ("0.1213309", "1"), ("3", "0.01"), ("1000000", "0.8"))
        for project in (None, "mailsieve", "no such project")
    ]
    plain = [[item.period, str(item.limit_usd), str(item.warn_at), item.project] for item in limits]
    states = set()
    for now in moments(h)[:12]:
        at = int(now.timestamp() * 1000)
        light = look(h.reader.rows, None, plain, find_periods(at, find_zone("UTC").shift), at)["budgets"]
        full = check_budgets(h.reader, limits, zone=find_zone("UTC"), now=now)
        assert [(item["state"], Decimal(item["cost"] or 0)) for item in light] == [
            (item.state, item.spent_usd) for item in full
        ]
        assert list(h.standing(limits=limits, timezone="UTC", now=now).budgets) == full
        states |= {item.state for item in full}
    assert states == {"ok", "near", "over"}


def test_what_is_not_there_is_told_so(h: Hansard, tmp_path: Path) -> None:
    assert h.standing("no such session", now=NOW).session is None
    with hansard.open(tmp_path) as empty:
        standing = empty.standing("x", now=NOW)
    assert (standing.session, standing.block, standing.budgets) == (None, None, ())
    assert standing.today == of(None)


@pytest.mark.parametrize("name", ZONES)
def test_periods_begin_when_the_calendar_says(name: str) -> None:
    zone = find_zone(name)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    while moment.year == 2026:
        found = find_periods(int(moment.timestamp() * 1000), zone.shift)
        for period in ("day", "week", "month"):
            assert found[period] * QUARTER / 1000 == period_start(period, zone, moment).timestamp()
        following = zone.local(moment).date() + timedelta(days=1)
        assert found["next"] * QUARTER / 1000 == zone.midnight(following).timestamp()
        moment += timedelta(hours=7, minutes=11)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system's zone cannot be changed here")
@pytest.mark.parametrize("name", ZONES)
def test_the_systems_own_zone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", name)
    time.tzset()
    try:
        first = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000) // QUARTER
        for quarter in range(first, first + 365 * 96, 7):
            assert here(quarter) == find_zone(name).shift(quarter)
    finally:
        monkeypatch.undo()
        time.tzset()


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
    report = make_report(Ledger(reader, UsageFilter(), zone=find_zone("UTC"), now=NOW), ("total",))
    standing = find_standing(reader, None, limits=(), zone=find_zone("UTC"), now=NOW)
    assert standing.today == of(report.totals)
    assert standing.block == (of(report.totals) if spent else None)
    reader.close()


def test_an_index_of_another_version_is_not_believed(h: Hansard, tmp_path: Path) -> None:

    path = tmp_path / "index.db"
    path.write_bytes((Path(h.home) / "index.db").read_bytes())
    db = connect(str(path))
    db.pragma("user_version", 999)
    db.close()
    periods = find_periods(0, find_zone("UTC").shift)
    with pytest.raises(LookupError, match="another version"):
        read_store(str(path), None, (), periods, 0, 5.0)


def test_reading_ends_in_time(h: Hansard) -> None:
    import apsw

    at = int(NOW.timestamp() * 1000)
    with pytest.raises((apsw.InterruptError, HansardError)):
        read_store(
            str(Path(h.home) / "index.db"),
            None,
            [["month", "1", "1", None]] * 200,
            find_periods(at, find_zone("UTC").shift),
            at,
            -1.0,
        )
