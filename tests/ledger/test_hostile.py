"""Whatever a transcript says: nothing breaks, what is no number counts as nothing, and sums stay exact."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.engine import Hansard
from hansard.model.ledger import Limit, UsageRow
from hansard.model.requests import DIMENSIONS, MODES
from hansard.model.serialize import plain
from hansard.pricing.rates import spellings
from tests.ledger.conftest import keep
from tests.ledger.making import HAIKU, ONE, OPUS, START, opened, said
from tests.ledger.slowly import Book, read, summed
from tests.ledger.slowly import said as told
from tests.sync.making import Line, Tree, call, main_path, session

if TYPE_CHECKING:
    import pytest

ZONES = ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kathmandu")
MOST = (1 << 40) - 1


def everything(h: Hansard) -> None:
    """Ask for all there is; the answers must be such that JSON has them."""
    for by in (*DIMENSIONS, "day,model,tool", "hour,subagent"):
        for zone in ZONES:
            report = h.usage(by=by, timezone=zone, work=True, breakdown=True)
            json.dumps(plain(report))
    for mode in MODES:
        json.dumps(plain(h.usage(by="total", mode=mode)))
    json.dumps(plain(h.blocks()))
    json.dumps([plain(rate) for rate in h.rates()])
    json.dumps([plain(session) for session in h.sessions(limit=None, debris=True, sort="cost").sessions])
    h.budgets([Limit("month", Decimal(1), Decimal("0.8"), None)])


STRANGE: tuple[Any, ...] = (
    -1,
    -(1 << 70),
    1.5,
    1e300,
    "7",
    True,
    None,
    [],
    {},
    1 << 40,
    1 << 63,
    1 << 64,
    10**40,
    float("nan"),
)


@contextmanager
def sessions_of(tree: Tree, cases: Sequence[Sequence[Line]]) -> Iterator[list[UsageRow]]:
    """A store with a session for each of these pairs of lines, asked for everything, and the usage of each session."""
    for number, lines in enumerate(cases):
        tree.write(main_path(session(number)), lines)
    with opened(tree) as h:
        rows = {row.key["session"]: row for row in h.usage(by="session").rows}
        assert len(rows) == len(cases)
        everything(h)
        yield [rows[session(number)] for number in range(len(cases))]


def pair(number: int, sound: tuple[int, int] = (1, 2), **more: Any) -> list[Line]:
    """A line that is strange, and a sound neighbour."""
    lines = [said(session(number), 2 * number, START, **more), said(session(number), 2 * number + 1, START, sound)]
    for place, line in enumerate(lines):
        line["uuid"] = f"{number}-{place}"
    return lines


def test_counts_that_are_none(tree: Tree) -> None:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    cases = []
    for number, wrong in enumerate(STRANGE):
        advised = {"type": "advisor_message", "model": HAIKU, "input_tokens": wrong, "output_tokens": 3}
        usage = {
            **dict.fromkeys(names, wrong),
            "cache_creation": {"ephemeral_5m_input_tokens": wrong, "ephemeral_1h_input_tokens": 5},
            "server_tool_use": {"web_search_requests": wrong},
            "iterations": [advised, wrong],
        }
        cases.append(pair(number, usage=usage))
    with sessions_of(tree, cases) as rows:
        for wrong, row in zip(STRANGE, rows, strict=True):
            found = row.input_tokens, row.output_tokens, row.cache_write_1h_tokens, row.web_searches
            assert (*found, row.api_messages) == (1, 5, 5, 0, 3), wrong


PLACES = ("usage", "cache_creation", "server_tool_use", "iterations", "content", "model", "id", "stop_reason")
PARTS: tuple[Any, ...] = ([], "x", 5, {"a": [{}]}, [[1]], False, "\x00\x1b[31m")


def test_parts_of_another_kind(tree: Tree) -> None:
    strange = [(place, wrong) for place in PLACES for wrong in PARTS]
    cases = []
    for number, (place, wrong) in enumerate(strange):
        lines = pair(number, tokens=(5, 6))
        target = lines[0]["message"] if place in lines[0]["message"] else lines[0]["message"]["usage"]
        target[place] = wrong
        cases.append(lines)
    with sessions_of(tree, cases) as rows:
        for case, row in zip(strange, rows, strict=True):
            assert row.output_tokens in (2, 8), case


def test_half_characters(tree: Tree) -> None:
    """What no text can hold, in every name."""
    half = "a\ud800b"
    line = said(
        ONE,
        1,
        START,
        model=half,
        gitBranch=half,
        content=[call(half, half)],
        usage={"service_tier": half, "speed": half},
    )
    tree.write(
        main_path(ONE), json.dumps(line).encode() + b"\n" + json.dumps(said(ONE, 2, START, (1, 2))).encode() + b"\n"
    )
    with opened(tree) as h:
        assert h.usage(by="total").totals.output_tokens in (2, 22)
        everything(h)


def test_the_greatest_counts_stay_exact(tree: Tree) -> None:
    """More than any history has: a billion billion tokens, and money to the last digit."""
    lines = [
        said(
            ONE,
            number,
            START + timedelta(minutes=number % 7),
            (MOST, MOST - number, MOST, MOST, MOST),
            model=(OPUS, HAIKU)[number % 2],
        )
        for number in range(400)
    ]
    tree.write(main_path(ONE), lines)
    kept = keep(tree.config, tree.home)
    with kept.h as h:
        totals = h.usage(by="total").totals
        assert totals.input_tokens == 400 * MOST
        assert told(totals) == summed(read(tree.config), Book(h.rates()))
        everything(h)


def test_models_without_a_name_and_with_strange_ones(tree: Tree) -> None:
    names = [
        "",
        None,
        " ",
        "%",
        "_",
        "'; DROP TABLE usage; --",
        "a\nb",
        "\x1b[31m",
        "ünïcode",
        "claude-opus-4-1\x00",
        "/",
        "[",
        "@",
        "x" * 20_000,
    ]
    tree.write(main_path(ONE), [said(ONE, number, START, model=name) for number, name in enumerate(names)])
    with opened(tree) as h:
        report = h.usage(by="model")
        assert report.totals.api_messages == len(names)
        assert report.totals.unpriced_messages == len(names)
        assert report.totals.cost_usd is None
        assert {row.key["model"] for row in report.rows} == {name or None for name in names}
        assert any("have no price" in note for note in report.pricing.notes)
        assert h.usage(by="total", model="%").totals.api_messages == 1
        assert h.usage(by="total", model="DROP TABLE").totals.api_messages == 1
        everything(h)


def test_branches_tools_and_agents_with_strange_names(tree: Tree) -> None:
    names = ["", "a/b", "'\"", "x\ny", "\x1b]0;t\x07", "main", "ünïcode", "z" * 5000]
    lines = [
        said(
            ONE,
            number,
            START,
            gitBranch=name,
            agentId=name,
            content=[call(f"t{number}", name)],
            identity=f"{name}{number}",
            requestId=None,
        )
        for number, name in enumerate(names)
    ]
    tree.write(main_path(ONE), lines)
    with opened(tree) as h:
        assert {row.key["branch"] for row in h.usage(by="branch").rows} == {name or None for name in names}
        assert {row.key["subagent"] for row in h.usage(by="subagent").rows} == {name or "main" for name in names}
        assert len(h.usage(by="tool").rows) == len(names)
        everything(h)


TIMES: list[Any] = [
    "0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z", "1970-01-01T00:10:00Z", "1970-01-01T05:00:00Z",
    "1970-01-02T23:59:59.999Z", "1970-01-03T00:00:00Z", "2099-12-31T23:59:59.999Z", "2100-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "2026-03-01", "noon", "", "2026-13-45T99:99:99Z", "2026-03-01T10:00:00",
    "2026-03-01T10:00:00.123456789Z", "2026-W10-1T10:00:00Z", "+2026-03-01T10:00:00Z", None, 5, 1.7e12, {}, [],
]  # fmt: skip


def test_times_that_cannot_be(tree: Tree) -> None:
    tree.write(
        main_path(ONE), [{**said(ONE, number, None), "timestamp": moment} for number, moment in enumerate(TIMES)]
    )
    with opened(tree) as h:
        assert h.usage(by="total").totals.api_messages == len(TIMES)
        for zone in ZONES:
            for by in ("hour", "day", "week", "month"):
                rows = h.usage(by=by, timezone=zone).rows
                assert sum(row.api_messages for row in rows) == len(TIMES)
                assert any(row.key[by] is None for row in rows)
        days = [row.key["day"] for row in h.usage(by="day", timezone="UTC").rows]
        assert days == ["1970-01-03", "2026-03-01", "2026-03-02", "2099-12-31", None]
        everything(h)


COSTS: tuple[Any, ...] = (1e300, -5, "1", None, True, [], {}, 1e-300, 0, 1099.4, 1100, 0.1 + 0.2)


def test_costs_that_a_client_could_not_have_written(tree: Tree) -> None:
    cases = [pair(number, (1, 1), tokens=(0, 0), costUSD=cost) for number, cost in enumerate(COSTS)]
    with sessions_of(tree, cases) as rows:
        for cost, row in zip(COSTS, rows, strict=True):
            plausible = isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost < 1099.5
            assert row.recorded_messages == plausible, cost
            expected = Decimal(round(cost * 1e9)).scaleb(-9) if plausible else Decimal(0)
            assert row.cost_usd == expected + Decimal("0.00009"), cost


def test_thousands_of_tiers_speeds_and_places(tree: Tree) -> None:
    count = 1500
    lines = [
        said(
            ONE,
            number,
            START,
            usage={"service_tier": f"t{number}", "speed": f"s{number % 7}", "inference_geo": f"g{number % 11}"},
        )
        for number in range(count)
    ]
    tree.write(main_path(ONE), lines)
    with opened(tree) as h:
        totals = h.usage(by="total").totals
        assert (totals.api_messages, totals.unpriced_messages) == (count, 0)
        assert totals.cost_usd == count * Decimal("0.00165")
        assert len(h.usage(by="model").rows) == 1


def test_names_that_would_keep_a_search_busy() -> None:
    """Patterns must not try every bracket with every other: that would not end today."""
    for name in (
        "[" * 300_000,
        "a/" * 300_000,
        "-v1" * 300_000,
        "-v" + "1" * 300_000 + "x",
        "@20" * 300_000,
        "." * 300_000 + "/",
    ):
        assert spellings(name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats() | st.text(max_size=8) | st.sampled_from(["tool_use", "advisor_message", OPUS]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "model", "input_tokens", "output_tokens", "iterations", "cache_creation", "id", "name", "content"]), inner, max_size=4
    ),
    max_leaves=12,
)  # fmt: skip
FIELDS = st.sampled_from(
    [
        ("message", "usage"), ("message", "model"), ("message", "id"), ("message", "content"), ("message", "stop_reason"),
        ("requestId",), ("timestamp",), ("costUSD",), ("gitBranch",), ("agentId",), ("isSidechain",), ("sessionId",), ("uuid",),
        ("message", "usage", "iterations"), ("message", "usage", "service_tier"), ("message", "usage", "speed"),
        ("message", "usage", "cache_creation"), ("message", "usage", "server_tool_use"), ("message", "usage", "input_tokens"),
    ]
)  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(FIELDS, JSON), min_size=1, max_size=12))
def test_anything_anywhere(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[tuple[str, ...], Any]]
) -> None:
    """Rows add up to their totals whatever stands in the lines, and a neighbour that is sound counts."""
    lines = []
    for number, (path, value) in enumerate(changes):
        line = said(ONE, number, START + timedelta(hours=number), (3, 4))
        target: Any = line
        for name in path[:-1]:
            target = target[name]
        target[path[-1]] = value
        lines.append(line)
    place = tmp_path_factory.mktemp("hostile")
    tree = Tree(place / "claude", place / "store")
    tree.write(main_path(ONE), [*lines, said(ONE, 10_000, START - timedelta(days=9), (77, 88), model=HAIKU)])
    with opened(tree) as h:
        whole = h.usage(by="total").totals
        for by in DIMENSIONS:
            report = h.usage(by=by, timezone="Asia/Kathmandu")
            assert sum(row.api_messages for row in report.rows) == whole.api_messages
            assert report.totals.cost_usd == whole.cost_usd
        sound = h.usage(
            by="day", timezone="UTC", until=datetime(2026, 2, 25, tzinfo=UTC), since=datetime(2026, 2, 1, tzinfo=UTC)
        )
        assert (sound.totals.input_tokens, sound.totals.output_tokens) >= (77, 88)
