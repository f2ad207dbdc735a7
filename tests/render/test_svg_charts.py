"""Charts: well-formed whatever the values and names, drawn in proportion, and every bar and cell leads somewhere."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.model.ledger import PriceData, Pricing, UsageReport, UsageRow
from hansard.render.charts.svg import Cell, Column, Part, heat, per_cent, shades, spread, stacked, ticks
from hansard.render.charts.usage import LegendEntry, draw_sparks, draw_spending, draw_year, legend
from hansard.render.series import Amount, Measure, measure_of, timeline
from hansard.web.summary_cards import meter
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

HOSTILE = '</title><script>window.hacked = 1</script>" onload="x\x00\x1b[31m\u202e & \' ]]>'
TODAY = date(2026, 5, 20)
amounts = st.decimals(0, 10**30, allow_nan=False, allow_infinity=False, places=12)


def parsed(drawing: Markup | str) -> ET.Element:
    """A drawing as an XML parser sees it: SVG in a page must be so plain that even this one takes it."""
    return ET.fromstring(f"<div>{drawing}</div>")  # noqa: S314 - our own


def rects(element: ET.Element, kind: str = "s") -> Iterator[ET.Element]:
    return (rect for rect in element.iter("rect") if rect.get("class", "").startswith(kind))


def dollars(value: Decimal) -> str:
    return f"${value}"


# -- scales


@given(amounts.filter(lambda value: value > 0), st.integers(1, 9), st.booleans())
def test_ticks_are_round_and_reach_the_most(most: Decimal, count: int, whole: bool) -> None:
    marks = ticks(most, count, whole=whole)

    assert marks[0] == 0
    assert marks[-1] >= most > marks[-2]
    assert len(marks) <= count * 2 + 2
    step = marks[1]
    assert str(step.normalize().as_tuple().digits) in ("(1,)", "(2,)", "(5,)", "(2, 5)")
    assert all(mark == step * number for number, mark in enumerate(marks))
    if whole:
        assert step == step.to_integral_value()


@pytest.mark.parametrize("nothing", [Decimal(0), Decimal(-3)])
def test_nothing_has_no_ticks(nothing: Decimal) -> None:
    assert ticks(nothing) == []


@given(st.integers(-2, 400), st.integers(-1, 20))
def test_labels_are_spread_evenly_up_to_the_last(count: int, most: int) -> None:
    found = spread(count, most)

    assert len(found) <= max(0, most)
    assert len({later - before for before, later in pairwise(found)}) <= 1
    if count > 0 and most > 0:
        assert found[-1] == count - 1


def test_places_are_short() -> None:
    assert [per_cent(1, 3), per_cent(1), per_cent(0), per_cent(0.5)] == ["33.333%", "100%", "0%", "50%"]


# -- bars


@given(st.lists(st.lists(amounts, max_size=8), max_size=12), st.text(max_size=40))
def test_bars_are_well_formed_and_in_proportion(values: list[list[Decimal]], name: str) -> None:
    columns = [
        Column(f"{name}{number}", name, f"/explain?by=day&key={number}", tuple(Part(place_, value, name, "/x") for place_, value in enumerate(parts)))
        for number, parts in enumerate(values)
    ]  # fmt: skip

    drawn = parsed(stacked(columns, label=name, number=dollars))

    found = [[Decimal(rect.get("data-value", "")) for rect in rects(group)] for group in drawn.iter("g")]
    assert found == [[value for value in parts if value > 0] for parts in values]
    heights = [[float(rect.get("height", "")) for rect in rects(group)] for group in drawn.iter("g")]
    most = max((sum(parts) for parts in values), default=Decimal(0))
    for parts, tall in zip(values, heights, strict=True):
        whole = sum(parts)
        if most and whole > most / 100:
            assert sum(tall) == pytest.approx(220 * float(whole / ticks(most)[-1]), abs=0.05 * len(parts) + 0.01)
        elif whole > 0:
            assert sum(tall) > 0.9  # little is still to be seen
        assert all(value >= 0 for value in tall)


def test_a_part_stands_on_the_one_before() -> None:
    parts = (Part(0, Decimal(3), "a"), Part(1, Decimal(1), "b"), Part(2, Decimal(0), "c"))

    drawn = parsed(stacked([Column("x", "x", None, parts)], label="x", number=dollars))

    lower, upper = rects(drawn)
    assert float(upper.get("y", "")) + float(upper.get("height", "")) == pytest.approx(float(lower.get("y", "")))
    assert (lower.get("class"), upper.get("class")) == ("s1", "s2")


def test_a_chart_is_one_stop_of_the_keyboard() -> None:
    columns = [Column(str(n), "t", "/x" if n != 2 else None, (Part(0, Decimal(1), "t", "/y"),)) for n in range(3)]

    drawn = parsed(stacked(columns, label="Cost", number=dollars))

    stops = [link for link in drawn.iter("a") if link.get("tabindex") == "0"]
    assert [(link.get("class"), link.get("href")) for link in stops] == [("whole", "/x")]
    assert all(link.find("title") is not None for link in drawn.iter("a"))
    assert [svg.get("aria-label") for svg in drawn.iter("svg") if svg.get("role") == "group"] == ["Cost"]


@pytest.mark.parametrize("columns", [[], [Column("one", "one: nothing")]])
def test_no_bars_at_all(columns: list[Column]) -> None:
    drawn = parsed(stacked(columns, label="Cost", number=dollars))

    assert list(rects(drawn)) == []
    assert [line.get("class") for line in drawn.iter("line")] == ["axis"]


def test_nothing_in_a_chart_is_style_or_script() -> None:
    columns = [Column(HOSTILE, HOSTILE, f"/x?{HOSTILE}", (Part(0, Decimal(1), HOSTILE, HOSTILE),), HOSTILE)]
    drawings = [
        stacked(columns, label=HOSTILE, number=lambda _: HOSTILE),
        heat({TODAY: Cell(2, HOSTILE, HOSTILE)}, TODAY, TODAY, label=HOSTILE, nothing=lambda _: HOSTILE),
        legend([LegendEntry(HOSTILE, HOSTILE, HOSTILE, HOSTILE)] * 2),
        meter(Decimal("0.5"), label=HOSTILE, kind=HOSTILE),
    ]

    for drawing in drawings:
        for element in parsed(drawing).iter():
            assert element.tag in {"div", "svg", "g", "a", "rect", "text", "line", "title", "ul", "li", "i", "b"}
            assert not {name for name in element.attrib if name.startswith("on") or name == "style"}


# -- the calendar


def test_every_day_has_a_cell_at_its_place() -> None:
    first, last = date(2025, 5, 19), TODAY
    cells = {TODAY: Cell(4, "much", "/a"), TODAY - timedelta(days=3): Cell(1, "little", "/b"), first: Cell(None, "?")}

    drawn = parsed(heat(cells, first, last, label="Cost", nothing=lambda day: f"{day} nothing"))

    days = list(drawn.iter("rect"))
    assert len(days) == (last - first).days + 1
    assert [rect.get("class") for rect in (days[0], days[-1], days[-4], days[-2])] == ["unknown", "h4", "h1", "h0"]
    assert {float(rect.get("y", "")) for rect in days} == {18 + 15 * number for number in range(7)}
    assert float(days[7].get("x", "")) - float(days[0].get("x", "")) == 15
    links = {link.get("data-day"): link for link in drawn.iter("a")}
    assert {day: link.get("href") for day, link in links.items()} == {"2026-05-20": "/a", "2026-05-17": "/b"}
    assert [day for day, link in links.items() if link.get("tabindex") == "0"] == ["2026-05-20"]
    titles = [element.findtext("title") for element in (*drawn.iter("g"), *drawn.iter("a"))]
    assert len(titles) == len(days)
    assert all(titles)


def test_months_are_named_once_and_apart() -> None:
    drawn = parsed(heat({}, date(2025, 5, 19), TODAY, label="x", nothing=str))

    named = [(text.text, float(text.get("x", ""))) for text in drawn.iter("text")]
    months = [(name, x) for name, x in named if name not in ("Mon", "Wed", "Fri")]
    assert [name for name, _ in months] == "Jun Jul Aug Sep Oct Nov Dec Jan Feb Mar Apr May".split()
    assert all(later - before >= 45 for (_, before), (_, later) in pairwise(months))


@pytest.mark.parametrize("day", [date.min, date.max, date(2024, 2, 29)])
def test_a_calendar_of_one_day(day: date) -> None:
    drawn = parsed(heat({day: Cell(9, "x", "/x")}, day, day, label="x", nothing=str))

    assert [rect.get("class") for rect in drawn.iter("rect")] == ["h4"]


def test_shades_of_a_year() -> None:
    days = {TODAY - timedelta(days=back): Amount(Decimal(back)) for back in range(9)}
    days[TODAY - timedelta(days=20)] = Amount(None, partly=True)

    drawn = parsed(
        draw_year(days, TODAY - timedelta(days=30), TODAY, text=lambda amount: f"${amount.size}", label="x", href=str)
    )

    kinds = {rect.get("class") for rect in drawn.iter("rect")}
    assert kinds == {"h0", "h1", "h2", "h3", "h4", "unknown"}
    assert [link.get("href") for link in drawn.iter("a")][-1] == TODAY.isoformat()
    assert "Wed 20 May 2026\n$0" in {link.findtext("title") for link in drawn.iter("a")}
    assert len(list(parsed(shades()).iter("rect"))) == 5


# -- small bars


def test_small_bars_of_times_without_usage_are_not_unpriced() -> None:
    last = date(2026, 5, 10)
    days, _, _ = draw_sparks({last: Amount(Decimal(3))}, last, Measure(is_money=True))
    told = [title.text or "" for title in parsed(days).iter("title")]
    assert told[-1] == "Sun 10 May 2026\nCost  $3.00"
    assert {text.partition("\n")[2] for text in told[:-1]} == {"Cost  $0.00"}


# -- legends, meters


def test_a_legend_names_every_series() -> None:
    assert legend([]) == ""
    assert parsed(legend([LegendEntry("one")])).findtext("ul/li/span") == "one"
    drawn = parsed(legend([LegendEntry("one", "$1", "/one"), LegendEntry("others", "$2", series=7)]))
    assert [item.get("class") for item in drawn.iter("li")] == ["s1", "s8"]


@pytest.mark.parametrize(
    ("share", "width"), [(Decimal("0.25"), "25%"), (Decimal(7), "100%"), (-1.0, "0%"), (Decimal(0), "0%")]
)
def test_a_meter_is_full_at_most(share: Decimal | float, width: str) -> None:
    drawn = parsed(meter(share, label="x"))

    assert [rect.get("width") for rect in drawn.iter("rect")] == ["100%", width]


# -- reports


def row(key: dict[str, str | None], cost: str | None, tokens: int = 1) -> UsageRow:
    amount = None if cost is None else Decimal(cost)
    unpriced = int(cost is None)
    return UsageRow(
        key, {}, tokens, 0, 0, 0, 0, 0, 1, 0, unpriced, 0, 0, amount, amount, amount, (), None, None
    )  # fmt: skip


def report(by: Sequence[str], rows: Sequence[UsageRow]) -> UsageReport:
    pricing = Pricing(PriceData("x", "1", "", None, 0), "auto")
    return UsageReport(tuple(by), "UTC", None, None, tuple(rows), row({}, "0"), pricing)


def explain(by: Sequence[str], key: Sequence[str | None]) -> str:
    return place("/explain", by=",".join(by), key=key)


def test_bars_of_a_report_lead_to_its_rows() -> None:
    rows = [
        row({"day": "2026-05-18", "model": "claude-a"}, "1.25"),
        row({"day": "2026-05-18", "model": HOSTILE}, "0.5"),
        row({"day": "2026-05-20", "model": None}, None, 5),
        row({"day": "2026-05-20", "model": "claude-a"}, "2"),
        row({"day": None, "model": "claude-a"}, "4"),
    ]
    drawn = draw_spending(report(("day", "model"), rows), TODAY, {}, measure=Measure(is_money=True), explain=explain)

    chart = parsed(drawn.chart)
    groups = [group for group in chart.iter("g") if group.get("class") == "column"]
    assert [[rect.get("data-value") for rect in rects(group)] for group in groups] == [
        ["1.25", "0.5"],
        [],
        ["2"],
        ["4"],
    ]
    assert [group.find("a").get("href") if group.find("a") is not None else None for group in groups] == [  # type: ignore[union-attr]
        "/explain?by=day&key=2026-05-18",
        None,
        "/explain?by=day&key=2026-05-20",
        "/explain?by=day&key=",
    ]
    parts = [link.get("href") for link in chart.iter("a") if link.get("class") is None]
    assert parts[0] == "/explain?by=day,model&key=2026-05-18&key=claude-a"
    assert parts[-1] == "/explain?by=day,model&key=&key=claude-a"
    assert [text.text for text in chart.iter("text") if text.get("class") == "doubt"] == ["?"]
    assert drawn.unpriced
    assert not drawn.is_empty
    assert "not known" in drawn.legend or "no model" in drawn.legend
    assert "<script" not in drawn.legend


def test_many_series_become_others_and_many_days_weeks() -> None:
    days = [TODAY - timedelta(days=back) for back in range(300)]
    rows = [row({"day": day.isoformat(), "model": f"m{number}"}, "0.01") for day in days for number in range(9)]
    given_ = report(("day", "model"), rows)

    drawn = draw_spending(given_, TODAY, {}, measure=measure_of(given_), explain=explain, most=60)

    assert drawn.step == "week"
    chart = parsed(drawn.chart)
    assert sum(Decimal(rect.get("data-value", "")) for rect in rects(chart)) == Decimal(27)
    assert {rect.get("class") for rect in rects(chart)} == {"s1", "s2", "s3", "s4", "s5", "s8"}
    assert "others (4)" in drawn.legend


def test_a_span_has_all_its_bars() -> None:
    rows = [row({"day": "2026-05-10"}, "1")]

    line = timeline(report(("day",), rows), TODAY, 100, {}, span=(date(2026, 4, 21), TODAY))

    assert len(line.bars) == 30
    assert line.bars[0].start == datetime(2026, 4, 21, tzinfo=UTC)
    assert line.bars[-1].start == datetime(2026, 5, 20, tzinfo=UTC)
    empty = draw_spending(
        report(("day",), []), TODAY, {}, measure=Measure(is_money=True), explain=explain, span=(TODAY, TODAY)
    )
    assert empty.is_empty


def test_tokens_are_drawn_where_they_are_asked_for() -> None:
    rows = [row({"day": "2026-05-10"}, "1", 7), row({"day": "2026-05-11"}, None, 1_000_000)]

    drawn = draw_spending(report(("day",), rows), TODAY, {}, measure=Measure(is_money=False), explain=explain)

    chart = parsed(drawn.chart)
    assert [rect.get("data-value") for rect in rects(chart)] == ["7", "1000000"]
    assert "Tokens" in (next(chart.iter("title")).text or "")


# -- addresses


def test_addresses_leave_out_what_is_not_asked() -> None:
    assert place("/usage") == "/usage"
    assert place("/usage", by="day,model", q=None, work=False, sort="") == "/usage?by=day,model"
    assert place("/usage", work=True, skip=100) == "/usage?work=1&skip=100"
    assert place("/explain", key=["a b", None, "&="]) == "/explain?key=a+b&key=&key=%26%3D"
    assert place("/x", q="\ud800") == "/x?q=%3F"


def test_a_line_of_a_session_has_an_address() -> None:
    assert session_place("a/b") == "/sessions/a%2Fb"
    assert session_place("abc", 17) == "/sessions/abc?at=17#m17"
    assert session_place("abc", 17, "x1") == "/sessions/abc?at=17&agent=x1#mx1-17"
