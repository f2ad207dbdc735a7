"""Budgets: what is spent since the day, the week or the month began where the user lives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hansard.ledger.current import PERIODS, period_bounds
from hansard.model.calendar import Zone
from hansard.model.ledger import Limit
from tests.ledger.conftest import END, Kept
from tests.ledger.making import ONE, TWO, opened, said
from tests.sync.making import Tree, main_path

NOW = datetime(2026, 10, 28, 3, 30, tzinfo=UTC)  # a Wednesday; in New York still Tuesday


def limit(period: str, dollars: str, project: str | None = None, warn_at: str = "0.8") -> Limit:
    return Limit(period, Decimal(dollars), Decimal(warn_at), project)


@pytest.mark.parametrize(
    ("zone", "period", "expected"),
    [
        ("UTC", "day", "2026-10-28T00:00+00:00"),
        ("UTC", "week", "2026-10-26T00:00+00:00"),
        ("UTC", "month", "2026-10-01T00:00+00:00"),
        ("America/New_York", "day", "2026-10-27T04:00+00:00"),
        ("America/New_York", "week", "2026-10-26T04:00+00:00"),
        ("America/New_York", "month", "2026-10-01T04:00+00:00"),
        ("Europe/Berlin", "day", "2026-10-27T23:00+00:00"),
        ("Europe/Berlin", "week", "2026-10-25T23:00+00:00"),  # winter time
        ("Europe/Berlin", "month", "2026-09-30T22:00+00:00"),  # summer time
        ("Asia/Kathmandu", "day", "2026-10-27T18:15+00:00"),
        ("Australia/Lord_Howe", "month", "2026-09-30T13:30+00:00"),
    ],
)
def test_when_a_period_begins(zone: str, period: str, expected: str) -> None:
    assert period_bounds(period, Zone(ZoneInfo(zone)), NOW)[0] == datetime.fromisoformat(expected)


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize(
    "zone", ["UTC", "America/New_York", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Chatham", "Africa/Casablanca"]
)
def test_a_period_holds_now_and_its_first_moment(zone: str, period: str) -> None:
    info = ZoneInfo(zone)
    for hours in range(0, 24 * 400, 61):
        now = datetime(2026, 1, 1, 0, 7, tzinfo=UTC) + timedelta(hours=hours)
        start = period_bounds(period, Zone(info), now)[0]
        local, first = now.astimezone(info), start.astimezone(info)
        assert start <= now
        day = local.date()
        expected = {"day": day, "week": day - timedelta(days=day.weekday()), "month": day.replace(day=1)}[period]
        assert first.date() == expected
        assert (start - timedelta(milliseconds=1)).astimezone(info).date() < expected


@pytest.mark.parametrize(("period", "end"), [("day", "2026-10-29"), ("week", "2026-11-02"), ("month", "2026-11-01")])
def test_when_a_period_ends(period: str, end: str) -> None:
    assert period_bounds(period, Zone(UTC), NOW)[1] == datetime.fromisoformat(f"{end}T00:00+00:00")
    december = datetime(2026, 12, 31, 12, tzinfo=UTC)
    assert period_bounds("month", Zone(UTC), december)[1] == datetime(2027, 1, 1, tzinfo=UTC)


def test_a_forecast_needs_a_day_and_goes_on_at_the_same_rate(tree: Tree) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, datetime(2026, 10, 2, tzinfo=UTC))])
    with opened(tree) as h:
        for day, rate in ((11, "3.1"), (16, "2.066666666666666666666666667"), (1, None)):
            now = datetime(2026, 10, day, tzinfo=UTC) + timedelta(hours=23 * (day == 1))
            (month,) = h.budgets([limit("month", "5")], timezone="UTC", now=now)
            assert month.spent_usd is not None or rate is None
            expected = None if rate is None else (month.spent_usd * Decimal(rate)).quantize(Decimal("0.01"))  # type: ignore[operator]
            assert month.forecast_usd == expected


def test_what_is_spent(tree: Tree) -> None:
    times = {
        1: NOW - timedelta(minutes=1),  # today
        2: datetime(2026, 10, 28, tzinfo=UTC),  # the first moment of today
        3: datetime(2026, 10, 28, tzinfo=UTC) - timedelta(milliseconds=1),  # this week
        4: datetime(2026, 10, 26, tzinfo=UTC),
        5: datetime(2026, 10, 26, tzinfo=UTC) - timedelta(milliseconds=1),  # this month
        6: datetime(2026, 10, 1, tzinfo=UTC) - timedelta(milliseconds=1),  # before
    }
    tree.write(main_path(ONE), [said(ONE, number, moment, (2_000, 0)) for number, moment in times.items()])
    cwd: dict[str, Any] = {"cwd": "/home/mira/src/other"}
    tree.write(
        main_path(TWO).replace("app", "other"),
        [said(TWO, 7, NOW, (1_000, 0), **cwd), said(TWO, 8, NOW, model="unheard-of", **cwd)],
    )
    with opened(tree) as h:
        found = h.budgets([limit(period, "1") for period in PERIODS], timezone="UTC", now=NOW)
        assert [budget.spent_usd for budget in found] == [Decimal("0.075"), Decimal("0.135"), Decimal("0.165")]
        assert [budget.share for budget in found] == [Decimal("0.075"), Decimal("0.135"), Decimal("0.165")]
        assert {budget.state for budget in found} == {"ok"}
        assert {budget.unpriced_messages for budget in found} == {1}
        assert [budget.since for budget in found] == [period_bounds(period, Zone(UTC), NOW)[0] for period in PERIODS]
        (apart,) = h.budgets([limit("day", "1", "other")], timezone="UTC", now=NOW)
        assert (apart.spent_usd, apart.project) == (Decimal("0.015"), "other")
        (nobody,) = h.budgets([limit("month", "1", "none-such")], timezone="UTC", now=NOW)
        assert nobody.spent_usd == 0
        # In New York it is still the day before, which had more.
        (earlier,) = h.budgets([limit("day", "1")], timezone="America/New_York", now=NOW)
        assert earlier.spent_usd == Decimal("0.105")


@pytest.mark.parametrize(
    ("dollars", "warn_at", "state"),
    [
        ("0.03", "0.8", "near"),  # exactly spent is not over
        ("0.0299999", "0.8", "over"),
        ("0.0375", "0.8", "near"),  # 80 %, exactly
        ("0.0375001", "0.8", "ok"),
        ("0.06", "0.5", "near"),
        ("100", "1", "ok"),
        ("0.000001", "0.8", "over"),
    ],
)
def test_near_and_over(tree: Tree, dollars: str, warn_at: str, state: str) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, NOW, (2_000, 0))])
    with opened(tree) as h:
        (budget,) = h.budgets([limit("day", dollars, warn_at=warn_at)], timezone="UTC", now=NOW)
    assert budget.spent_usd == Decimal("0.03")
    assert budget.state == state


def test_nothing_spent(tree: Tree) -> None:
    with opened(tree) as h:
        (budget,) = h.budgets([limit("week", "5")], now=NOW)
        assert (budget.state, budget.unpriced_messages, budget.lower_bound_messages) == ("ok", 0, 0)
        assert budget.spent_usd == budget.share == 0
        assert h.budgets([], now=NOW) == []


def test_budgets_are_the_sum_of_their_days(demo: Kept) -> None:
    for period in PERIODS:
        for project in (None, "tide"):
            (budget,) = demo.h.budgets([limit(period, "3", project)], timezone="Europe/Berlin", now=END)
            report = demo.h.usage(by="day", project=project, since=budget.since, timezone="Europe/Berlin")
            assert budget.spent_usd == report.totals.cost_usd
            assert budget.lower_bound_messages == report.totals.lower_bound_messages
