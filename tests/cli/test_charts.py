"""Pictures in the terminal: they fit, they can be read without colours, and what has no price is never a zero."""

from __future__ import annotations

import io
import os
import re
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hansard.errors import UsageError
from hansard.guard.sanitize import ESCAPES
from hansard.model.ledger import PriceData, Pricing, UsageReport, UsageRow
from hansard.render.series import Amount, Bar, days_of, levels_of, measure_of, shares_of, streaks, timeline
from hansard.render.terminal.charts import KINDS, draw
from hansard.render.text import Paint, clean, width

GOLDEN = Path(__file__).parent / "golden"
TODAY = date(2026, 11, 16)
PLAIN = Paint(enabled=False)
COLOURS = Paint(enabled=True)
UNKNOWN = "claude-$x$-next"


def row(
    cost: str | Decimal | None, *, tokens: int = 1000, unpriced: int | None = None, lower: int = 0, **key: str | None
) -> UsageRow:
    """A row with this cost; without one, all of it is unpriced."""
    count = unpriced if unpriced is not None else int(cost is None)
    day = key.get("day")
    moment = datetime.fromisoformat(f"{day}T12:00:00Z") if day and re.fullmatch(r"20\d\d-\d\d-\d\d", day) else None
    return UsageRow(
        key=dict(key),
        about={},
        input_tokens=tokens,
        output_tokens=0,
        cache_read_tokens=0,
        cache_write_5m_tokens=0,
        cache_write_1h_tokens=0,
        web_searches=0,
        api_messages=1,
        lower_bound_messages=lower,
        unpriced_messages=count,
        recorded_messages=0,
        understated_messages=0,
        cost_usd=None if cost is None else Decimal(cost),
        cache_saved_usd=None,
        cache_extra_usd=None,
        unpriced_models=(UNKNOWN,) if count else (),
        first_at=moment,
        last_at=moment,
    )


def report(
    rows: list[UsageRow],
    by: tuple[str, ...] | None = None,
    *,
    timezone: str = "UTC",
    since: datetime | None = None,
    until: datetime | None = None,
    notes: tuple[str, ...] = (),
) -> UsageReport:
    """A report of these rows and their totals."""
    costs = [item.cost_usd for item in rows if item.cost_usd is not None]
    moments = [item.first_at for item in rows if item.first_at is not None]
    totals = UsageRow(
        key={},
        about={},
        input_tokens=sum(item.tokens for item in rows),
        output_tokens=0,
        cache_read_tokens=0,
        cache_write_5m_tokens=0,
        cache_write_1h_tokens=0,
        web_searches=0,
        api_messages=len(rows),
        lower_bound_messages=sum(item.lower_bound_messages for item in rows),
        unpriced_messages=sum(item.unpriced_messages for item in rows),
        recorded_messages=0,
        understated_messages=0,
        cost_usd=sum(costs, Decimal(0)) if costs else None,
        cache_saved_usd=None,
        cache_extra_usd=None,
        unpriced_models=tuple(sorted({model for item in rows for model in item.unpriced_models})),
        first_at=min(moments, default=None),
        last_at=max(moments, default=None),
    )
    data = PriceData("genai-prices", "0.2.1", "2026-10-20", None, 0)
    names = by or tuple(rows[0].key)
    return UsageReport(names, timezone, since, until, tuple(rows), totals, Pricing(data, "auto", notes))


def months_of_work() -> UsageReport:
    """Five weeks by day and model: busy days, silent ones, one of a model without a price and one partly so."""
    rows = []
    for number in range(35):
        day = (date(2026, 10, 12) + timedelta(days=number)).isoformat()
        if number % 7 == 5 or number in (10, 11, 12, 24):
            continue
        rows.append(
            row(f"{(number * 37 % 23) + 1}.{number:02}", tokens=number * 1000, day=day, model="claude-opus-5-5")
        )
        if number % 3 == 0:
            rows.append(row(f"{number % 5}.5", lower=number % 2, day=day, model="claude-haiku-5-20260801"))
        if number == 15:
            rows.append(row(None, day=day, model=UNKNOWN))
    rows.append(row(None, day="2026-10-23", model=UNKNOWN))
    notes = (
        "5 of 40 messages have no line that knows the end of the answer",
        f"2 messages of {UNKNOWN} have no price and are not in the cost",
    )
    return report(rows, notes=notes)


def by_model(found: UsageReport) -> UsageReport:
    """The same, without the days."""
    sums: dict[str | None, list[UsageRow]] = {}
    for item in found.rows:
        sums.setdefault(item.key["model"], []).append(item)
    rows = []
    for model, items in sums.items():
        costs = [item.cost_usd for item in items if item.cost_usd is not None]
        tokens = sum(item.tokens for item in items)
        lower = sum(item.lower_bound_messages for item in items)
        rows.append(row(sum(costs, Decimal(0)) if costs else None, tokens=tokens, lower=lower, model=model))
    return report(rows, notes=found.pricing.notes)


def drawn(kind: str, found: UsageReport, columns: int = 80, paint: Paint = PLAIN, today: date = TODAY) -> list[str]:
    return draw(kind, found, {}, columns, paint, today, blocks=True)


CASES = {
    "pictures_bars.txt": ("bars", 80, PLAIN),
    "pictures_bars_colour.txt": ("bars", 80, COLOURS),
    "pictures_bars_narrow.txt": ("bars", 40, PLAIN),
    "pictures_calendar.txt": ("calendar", 80, PLAIN),
    "pictures_calendar_colour.txt": ("calendar", 80, COLOURS),
    "pictures_calendar_wide.txt": ("calendar", 130, PLAIN),
    "pictures_calendar_narrow.txt": ("calendar", 40, PLAIN),
    "pictures_share.txt": ("share", 80, PLAIN),
    "pictures_share_narrow.txt": ("share", 40, PLAIN),
}


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    kind, columns, paint = CASES[name]
    found = by_model(months_of_work()) if kind == "share" else months_of_work()
    output = "\n".join(drawn(kind, found, columns, paint)) + "\n"
    path = GOLDEN / name
    if os.environ.get("HANSARD_GOLDEN") == "write":
        path.write_bytes(output.encode())
    assert output == path.read_bytes().decode()


# -- whatever comes

DAYS = st.dates(date(2024, 1, 1), date(2027, 12, 31)).map(date.isoformat)
HOURS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 2, 1)).map(lambda moment: f"{moment:%Y-%m-%dT%H}:00+05:30")  # noqa: DTZ001
WEEKS = st.dates().map(lambda day: "{:04}-W{:02}".format(*day.isocalendar()[:2]))
MONTHS = st.dates().map(lambda day: day.isoformat()[:7])
HOSTILE = st.sampled_from(
    [
        "\x1b[2J\x1b]0;title\x07",
        "a\nb\rc",
        "\u202egnp.exe",
        "👩‍👩‍👧‍👦" * 9,
        "日本語" * 30,
        "e\u0301" * 50,
        "\ufe0f\u200d",
        "",
        " ",
        "W" * 300,
    ]
)
NAMES = st.one_of(st.none(), HOSTILE, st.text(max_size=60))
COSTS = st.one_of(
    st.none(),
    st.sampled_from([Decimal(0), Decimal("1e-20"), Decimal("1e40"), Decimal("0.004"), Decimal(-3)]),
    st.decimals(0, 10**9, places=8),
)
TOKENS = st.one_of(st.just(0), st.integers(0, 2**63), st.integers(0, 5000))


@st.composite
def reports(draw_one: st.DrawFn, times: bool | None = None) -> UsageReport:
    """A report by a time and perhaps a name, or by a name."""
    is_timed = draw_one(st.booleans()) if times is None else times
    if is_timed:
        step, keys = draw_one(st.sampled_from([("day", DAYS), ("hour", HOURS), ("week", WEEKS), ("month", MONTHS)]))
        dimensions = {step: st.one_of(st.none(), keys, keys, NAMES)}
        if draw_one(st.booleans()):
            dimensions["model"] = NAMES
    else:
        dimensions = {draw_one(st.sampled_from(["model", "project", "agent", "tool", "branch", "session"])): NAMES}
    key = st.fixed_dictionaries(dimensions)
    some = draw_one(st.lists(st.tuples(key, COSTS, TOKENS, st.integers(0, 3)), min_size=1, max_size=30))
    rows = [
        row(cost, tokens=tokens, unpriced=count % 2 or int(cost is None), lower=count // 2, **keys)
        for keys, cost, tokens, count in some
    ]
    moments = st.one_of(st.none(), st.datetimes(datetime(2024, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
    zone = draw_one(st.sampled_from(["UTC", "Asia/Kolkata", "nowhere"]))
    notes = tuple(draw_one(st.lists(st.text(max_size=300), max_size=2)))
    return report(rows, tuple(dimensions), timezone=zone, since=draw_one(moments), until=draw_one(moments), notes=notes)


@settings(max_examples=80, deadline=None)
@given(reports(), st.integers(40, 220), st.booleans(), st.booleans(), st.sampled_from(sorted(KINDS)))
@example(report([row("1", model="\u200d\ufe0f" * 40)]), 40, False, True, "share")
def test_no_line_is_wider_than_the_terminal(
    found: UsageReport, columns: int, colour: bool, blocks: bool, kind: str
) -> None:
    needed = {"bars": {"hour", "day", "week", "month"}, "calendar": {"day"}}.get(kind)
    if needed is not None and needed.isdisjoint(found.by):
        kind = "share"
    for line in draw(kind, found, {}, columns, Paint(enabled=colour), TODAY, blocks=blocks):
        text = re.sub("\x1b\\[[0-9;]+m", "", line)
        assert width(text) <= columns
        assert clean(text) == text
        assert "\n" not in text
        assert colour or text == line


@settings(max_examples=80, deadline=None)
@given(reports(times=False), st.integers(2, 15))
def test_shares_add_up_to_the_whole(found: UsageReport, most: int) -> None:
    shares = shares_of(found, most, {})
    assert len(shares) <= most
    parts = [share.part for share in shares if share.part is not None]
    if any((measure_of(found).of(item).value or 0) > 0 for item in found.rows):
        assert sum(parts) == pytest.approx(1, abs=1e-9)
        shown = [round(part * 100, 1) for part in parts]
        assert sum(shown) == pytest.approx(100, abs=0.05 * len(shown) + 1e-6)
    assert sum(share.tokens for share in shares) == found.totals.tokens
    assert all((share.part is None) == (share.amount.value is None) for share in shares)


@settings(max_examples=80, deadline=None)
@given(reports(times=True), st.integers(3, 80))
def test_bars_lose_nothing(found: UsageReport, most: int) -> None:
    line = timeline(found, TODAY, most, {})
    assert len(line.bars) <= most + 1  # and one for what has no time
    if not line.earlier:
        measure = measure_of(found)
        whole = sum((bar.whole for bar in line.bars), Amount())
        assert whole == sum((measure.of(item) for item in found.rows), Amount())


# -- bars


def lines_with(text: str, lines: list[str]) -> list[str]:
    return [line for line in lines if text in line]


def test_days_without_usage_are_empty_lines_up_to_today() -> None:
    lines = drawn("bars", report([row("1", day="2026-11-10"), row("2", day="2026-11-12")]))
    assert [line[:14].rstrip() for line in lines_with("2026-11-", lines)] == [
        f"2026-11-{day} {name}" for day, name in zip(range(10, 17), "Tue Wed Thu Fri Sat Sun Mon".split(), strict=True)
    ]
    assert lines_with("2026-11-11", lines) == ["2026-11-11 Wed"]


def test_bars_are_as_long_as_their_amounts() -> None:
    lines = drawn(
        "bars", report([row("10", day="2026-11-15"), row("5", day="2026-11-16"), row("0.01", day="2026-11-14")])
    )
    longest, half, least = (
        lines_with(day, lines)[0].removeprefix(day).split()[1] for day in ("2026-11-15", "2026-11-16", "2026-11-14")
    )
    assert len(longest) == 80 - 14 - 6 - 4
    assert len(half) == len(longest) // 2
    assert least == "▏"


def test_newest_first_stays_newest_first() -> None:
    lines = drawn("bars", report([row("2", day="2026-11-16"), row("1", day="2026-11-14")]))
    assert [line[8:10] for line in lines_with("2026-11-", lines)] == ["16", "15", "14"]


def test_a_year_of_days_is_shown_by_week() -> None:
    first = date(2025, 12, 1)
    lines = drawn("bars", report([row("1", day=(first + timedelta(days=day)).isoformat()) for day in range(350)]))
    assert lines[0].startswith("Cost per week  $350.00")
    assert len(lines_with("-W", lines)) == 51
    assert lines_with("350 days do not fit", lines)


def test_hours_of_a_day_with_two_equal_hours_are_all_there() -> None:
    keys = ["2026-10-25T01:00+02:00", "2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00", "2026-10-25T04:00+01:00"]
    found = report([row("1", hour=key) for key in keys], timezone="Europe/Berlin")
    lines = drawn("bars", found)
    hours = [(line[15:20], "$" in line) for line in lines_with("2026-10-25 Sun", lines)]
    assert hours == [("01:00", True), ("02:00", True), ("02:00", True), ("03:00", False), ("04:00", True)]


def test_hours_of_a_zone_that_is_off_by_half_an_hour() -> None:
    found = report([row("1", hour="2026-11-10T14:00+05:30")], timezone="Asia/Kolkata")
    assert lines_with("2026-11-10 Tue 14:00", drawn("bars", found))


def test_what_has_no_price_is_marked_and_no_zero() -> None:
    lines = drawn("bars", months_of_work())
    assert lines_with("2026-10-23", lines)[0].split()[-2:] == ["?", "unpriced"]
    assert lines_with("2026-10-27", lines)[0].endswith("+?")
    assert lines_with("? $x$-next unpriced", lines)
    assert lines_with("? 2 messages of claude-$x$-next have no price", lines)
    assert not lines_with("$0.00", lines)


def test_lower_bounds_are_marked() -> None:
    lines = drawn("bars", report([row("1", lower=1, day="2026-11-15"), row("2", day="2026-11-16")], notes=("some",)))
    assert [line.split()[-1] for line in lines_with("2026-11-", lines)] == ["$1.00+", "$2.00"]
    assert "$3.00+" in lines[0]
    assert lines_with("+ some", lines)


def test_without_any_price_there_are_tokens() -> None:
    found = report([row(None, tokens=1_234_567, day="2026-11-16")])
    lines = drawn("bars", found)
    assert lines[0].startswith("Tokens per day  1.2M")
    assert lines_with("No prices are known: showing tokens", lines)
    assert not lines_with("unpriced", lines)


def test_series_differ_without_colours_and_have_colours() -> None:
    rows = [row(str(cost), day="2026-11-16", model=f"m{cost}") for cost in range(10, 20)]
    plain = drawn("bars", report(rows))
    bar = lines_with("2026-11-16", plain)[0]
    legend = " ".join(plain[plain.index(bar) + 2 : plain.index(bar) + 4])
    signs = re.findall(r"(\S) (?:m1\d|others \(5\)) ", legend)
    assert len(set(signs)) == 6
    assert all(sign in bar for sign in signs)
    colours = drawn("bars", report(rows), paint=COLOURS)
    assert len(set(ESCAPES.findall(lines_with("█", colours)[0])) - {"\x1b[0m"}) >= 6


def test_the_time_may_come_second() -> None:
    lines = drawn("bars", report([row("1", model="m", day="2026-11-16")]))
    assert lines[0].startswith("Cost per day by model")
    assert lines_with("2026-11-16 Mon", lines)


def test_bars_need_a_time() -> None:
    with pytest.raises(UsageError, match="bars need a unit of time; use --by hour, day, week, month"):
        drawn("bars", report([row("1", model="m")]))


# -- calendar


def test_a_calendar_has_a_cell_for_every_day() -> None:
    lines = drawn("calendar", months_of_work())
    week = [line for line in lines if line[:4] in {f"{name} " for name in "Mon Tue Wed Thu Fri Sat Sun".split()}]
    assert [len(line) for line in week] == [4 + 53] + [4 + 52] * 6
    assert sum(line[4:].count("·") for line in week) == 365 - len(days_of(months_of_work()))
    assert sum(line[4:].count("?") for line in week) == 1  # the day of which nothing has a price


@pytest.mark.parametrize(("columns", "weeks"), [(40, 36), (60, 53), (119, 53), (120, 53)])
def test_a_calendar_shows_the_weeks_that_fit(columns: int, weeks: int) -> None:
    found = report([row("1", day=(TODAY - timedelta(days=days)).isoformat()) for days in range(500)])
    monday = next(line for line in drawn("calendar", found, columns) if line.startswith("Mon "))
    cells = (columns >= 110) + 1
    assert len(monday) == 4 + weeks * cells
    assert max(map(len, drawn("calendar", found, columns))) <= columns


def test_a_calendar_tells_years_streaks_and_the_busiest_day() -> None:
    days = {"2025-12-30": "1", "2025-12-31": "2", "2026-01-01": "7", "2026-11-14": "3", "2026-11-15": "4"}
    lines = drawn("calendar", report([row(cost, day=day) for day, cost in days.items()]))
    facts = [re.split(r"  +", line) for line in lines if re.match(r"(20\d\d|Busiest|Longest|Current)", line)]
    assert facts == [
        ["2025", "$3.00 on 2 days"],
        ["2026", "$14.00 on 3 days"],
        ["Busiest day", "Thu 1 Jan 2026, $7.00"],
        ["Longest streak", "3 days, to 1 Jan 2026"],
        ["Current streak", "2 days"],
    ]


def test_a_calendar_of_long_ago_ends_where_the_usage_ended_and_tells_of_what_is_outside() -> None:
    lines = drawn("calendar", report([row("1", day="2021-03-01"), row("2", day="2024-03-01")]))
    assert lines[0] == "Cost per day  $2.00  27 Feb 2023 to 1 Mar 2024"
    assert lines_with("1 more day with usage is outside", lines)


def test_a_calendar_keeps_to_the_days_that_were_asked_for() -> None:
    found = report(
        [row("1", day="2026-10-07")],
        since=datetime(2026, 10, 1, tzinfo=UTC),
        until=datetime(2026, 11, 1, tzinfo=UTC),
    )
    lines = drawn("calendar", found)
    assert lines[0] == "Cost per day  $1.00  1 Oct 2026 to 31 Oct 2026"
    assert sum(line[4:].count("·") for line in lines if line[3:4] == " " and line[:3] in "MonTueWedThuFriSatSun") == 30


def test_shades_hold_as_many_days_each() -> None:
    assert levels_of([Amount(Decimal(value)) for value in range(1, 9)]) == [1, 3, 5, 7]
    assert levels_of([Amount(Decimal(5))] * 9) == [5]
    assert levels_of([Amount(None), Amount(Decimal(0))]) == []


def test_a_streak_of_yesterday_goes_on() -> None:
    days = [TODAY - timedelta(days=back) for back in (1, 2, 3, 10, 11, 12, 13)]
    assert streaks(days, TODAY) == ((4, TODAY - timedelta(days=10)), 3)
    assert streaks(days[3:], TODAY)[1] == 0
    assert streaks([], TODAY) == ((0, None), 0)


def test_a_calendar_needs_days() -> None:
    with pytest.raises(UsageError, match="--by day"):
        drawn("calendar", report([row("1", week="2026-W40")]))


# -- shares


def test_shares_with_a_tail() -> None:
    lines = drawn("share", report([row(str(20 - number), project=f"/src/p{number}") for number in range(20)]))
    body = lines[2:14]
    assert [line.split()[0] for line in body] == [f"p{number}" for number in range(11)] + ["others"]
    assert "others (9)" in body[-1]
    assert body[0].endswith("$20.00   9.5%")
    assert body[-1].endswith("$45.00  21.4%")


def test_names_that_look_alike_are_told_apart() -> None:
    found = report([row("2", project="/a/app"), row("1", project="/b/app"), row("1", project=None)])
    assert [share.name for share in shares_of(found, 9, {})] == ["/a/app", "/b/app", "no project"]


def test_shares_of_what_has_no_price_are_tokens() -> None:
    line = lines_with("$x$-next", drawn("share", by_model(months_of_work())))[0]
    assert "? 2.0k tokens" in line
    assert line.split()[-2:] == ["unpriced", "-"]


# -- all


def test_nothing_to_draw() -> None:
    assert drawn("bars", report([], ("day",))) == ["No usage."]


def test_an_unknown_kind_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="bars, calendar, share"):
        drawn("pie", months_of_work())


@pytest.mark.parametrize(("encoding", "has_blocks"), [("ascii", False), ("cp1252", False), ("utf-8", True)])
def test_blocks_only_where_the_terminal_has_them(
    encoding: str, has_blocks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    for kind in KINDS:
        found = by_model(months_of_work()) if kind == "share" else months_of_work()
        text = "\n".join(draw(kind, found, {}, 80, PLAIN, TODAY))
        assert text.isascii() != has_blocks


def test_prices_are_named_with_their_date() -> None:
    for kind in ("bars", "calendar"):
        assert lines_with("Prices: genai-prices 0.2.1, latest as of 2026-10-20", drawn(kind, months_of_work()))


def test_a_bar_of_nothing_has_no_amount() -> None:
    assert Bar(None, {}).whole == Amount()
