"""Rows add up: to the totals, to the same totals in every dimension, and from their breakdown; to the last digit."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain, combinations
from typing import Any

import pytest

from hansard.errors import UsageError
from hansard.model.ledger import UsageReport, UsageRow, Work
from hansard.model.requests import DIMENSIONS, MODES, USAGE_SORTS
from hansard.pricing.cost import total
from tests.ledger.conftest import Kept
from tests.ledger.making import opened, story
from tests.sync.making import Tree

COUNTS = (
    "input_tokens output_tokens cache_read_tokens cache_write_5m_tokens cache_write_1h_tokens web_searches api_messages"
    " lower_bound_messages unpriced_messages recorded_messages"
).split()
MONEY = ("cost_usd", "cache_saved_usd", "cache_extra_usd")
FILTERS: list[dict[str, Any]] = [
    {},
    {"query": "is:subagent"},
    {"query": "tool:Bash OR tool:Read"},
    {"model": "opus"},
    {"since": datetime(2026, 3, 10, 7, 11, 13, 5000, tzinfo=UTC), "until": datetime(2026, 4, 20, tzinfo=UTC)},
    {"project": "tide", "query": "-branch:main"},
]
SPLITS = [*DIMENSIONS, *(",".join(pair) for pair in combinations(["day", "session", "model", "tool", "agent"], 2))]


def assert_sum(rows: tuple[UsageRow, ...], whole: UsageRow) -> None:
    for name in COUNTS:
        assert sum(getattr(row, name) for row in rows) == getattr(whole, name), name
    for name in MONEY:
        amounts = [amount for row in rows if (amount := getattr(row, name)) is not None]
        if getattr(whole, name) is None:
            # Only tools that no message began with cost nothing where nothing else is known.
            assert not any(getattr(row, name) is not None for row in rows if row.api_messages)
            assert not any(amounts)
        else:
            assert total(amounts) == getattr(whole, name), name
    assert {model for row in rows for model in row.unpriced_models} == set(whole.unpriced_models)
    times = [moment for row in rows for moment in (row.first_at, row.last_at) if moment is not None]
    assert (min(times, default=None), max(times, default=None)) == (whole.first_at, whole.last_at)


def figures(row: UsageRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in (*COUNTS, *MONEY, "unpriced_models", "first_at", "last_at", "work")}


def assert_adds_up(report: UsageReport) -> None:
    assert_sum(report.rows, report.totals)
    for row in report.rows:
        assert row.breakdown or not row.api_messages
        if row.breakdown:
            assert_sum(row.breakdown, row)
            assert len({part.key["model"] for part in row.breakdown}) == len(row.breakdown)
    works = Work()
    for row in report.rows:
        assert row.work is not None
        works += row.work
    assert works == report.totals.work


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_every_dimension_gives_the_same_total(demo: Kept, number: int, mode: str) -> None:
    whole = demo.h.usage(by="total", mode=mode, work=True, breakdown=True, timezone="UTC", **FILTERS[number])
    assert whole.totals.api_messages > (0 if number else 500)
    assert_adds_up(whole)
    for by in SPLITS:
        report = demo.h.usage(by=by, mode=mode, work=True, breakdown=True, timezone="UTC", **FILTERS[number])
        assert figures(report.totals) == figures(whole.totals), by
        assert_adds_up(report)
        assert len({tuple(row.key.items()) for row in report.rows}) == len(report.rows)


@pytest.mark.parametrize("mode", MODES)
def test_what_was_recorded_and_what_has_no_price(tree: Tree, mode: str) -> None:
    for path, lines in story().items():
        tree.write(path, lines)
    with opened(tree) as h:
        whole = h.usage(by="total", mode=mode, work=True)
        assert whole.totals.unpriced_messages == {"auto": 1, "calculate": 1, "recorded": 8}[mode]
        assert whole.totals.recorded_messages == (0 if mode == "calculate" else 1)
        assert ("unheard-of" in whole.totals.unpriced_models) is True
        for by in SPLITS:
            report = h.usage(by=by, mode=mode, work=True, breakdown=True)
            assert figures(report.totals) == figures(whole.totals)
            assert_adds_up(report)


def test_an_empty_history(tree: Tree) -> None:
    with opened(tree) as h:
        for by in DIMENSIONS:
            report = h.usage(by=by, work=True, breakdown=True)
            assert report.rows == () or by == "total"
            assert report.totals.api_messages == 0
            assert report.totals.cost_usd == 0
            assert report.totals.work == Work()
        assert h.blocks().blocks == ()
        assert h.rates() == []


@pytest.mark.parametrize("sort", USAGE_SORTS)
@pytest.mark.parametrize("by", ["day,model", "session", "tool", "hour"])
def test_orders(demo: Kept, by: str, sort: str) -> None:
    rows = demo.h.usage(by=by, sort=sort, timezone="UTC").rows
    values: dict[str, list[Any]] = {
        "key": [[(value is None, value or "") for value in row.key.values()] for row in rows],
        "cost": [-1 if row.cost_usd is None else row.cost_usd for row in rows],
        "tokens": [row.tokens for row in rows],
        "messages": [row.api_messages for row in rows],
    }
    assert values[sort] == sorted(values[sort], reverse=sort != "key")
    turned = demo.h.usage(by=by, sort=sort, ascending=sort != "key", timezone="UTC").rows
    assert {tuple(row.key.items()) for row in turned} == {tuple(row.key.items()) for row in rows}
    if sort == "key":
        assert turned == rows[::-1]


def test_times_come_in_order_and_the_rest_by_money(demo: Kept) -> None:
    days = [row.key["day"] for row in demo.h.usage(by="day", timezone="UTC").rows]
    assert days == sorted(days, key=str)
    costs = [row.cost_usd for row in demo.h.usage(by="model").rows if row.cost_usd is not None]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("by", ["decade", "day,day", "Day", "day,,x", "'; DROP TABLE usage; --"])
def test_what_is_no_dimension(demo: Kept, by: str) -> None:
    with pytest.raises(UsageError):
        demo.h.usage(by=by)


def test_what_is_no_mode_no_order_and_no_zone(demo: Kept) -> None:
    with pytest.raises(UsageError, match="choose one of auto, calculate, recorded"):
        demo.h.usage(mode="guess")
    with pytest.raises(UsageError, match="choose one of key, cost"):
        demo.h.usage(sort="size")
    with pytest.raises(UsageError, match="did you mean Europe/Berlin"):
        demo.h.usage(timezone="Europe/Berlim")


def test_what_is_not_certain_is_said(tree: Tree, demo: Kept) -> None:
    for path, lines in story().items():
        tree.write(path, lines)
    with opened(tree) as h:
        notes = h.usage(by="day").pricing.notes
    assert any(note.startswith("1 of 9 messages") and "lower bound" in note for note in notes)
    assert any("unheard-of" in note and "no" in note and "not in the cost" in note for note in notes)
    assert any("the cost recorded by the client" in note for note in notes)
    said = list(chain.from_iterable(row.unpriced_models for row in demo.h.usage(by="session").rows))
    assert set(said) == set(demo.h.usage(by="total").totals.unpriced_models)
