"""Usage and tool calls as stacked bars, a year as a calendar; bars and cells are links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from markupsafe import Markup

from hansard.render.charts.svg import SHADES, Cell, Column, Part, heat, per_cent, spark, stacked, week_hours
from hansard.render.format import date_range, date_text, many, short, weekday_text
from hansard.render.html.escaping import escaped
from hansard.render.series import (
    DAYS,
    MONTHS,
    Amount,
    Measure,
    level,
    levels_of,
    names_of,
    series_of,
    step_key,
    timeline,
)

if TYPE_CHECKING:
    from hansard.model.calls import ToolDay
    from hansard.model.ledger import UsageReport
    from hansard.render.format import ProjectNames
    from hansard.render.series import Bar, Timeline

Explain = Callable[[Sequence[str], Sequence[str | None]], str | None]
"""The address that explains a row, if anything does: from its dimensions and its key."""

_OTHERS = 7  # the colour of combined series
_MOST = 100  # bars
_GROUPS = 15
_SPARK_BARS = 14


@dataclass(frozen=True, slots=True)
class UsageChart:
    """A chart, its legend, and the time or group of one bar."""

    chart: Markup
    legend: Markup
    step: str
    is_empty: bool
    earlier: int  # bars that were left out
    unpriced: bool  # something has no price and is in no bar
    fewer: int = 0  # smaller groups that have no bar


def draw_spending(
    report: UsageReport,
    today: date,
    projects: ProjectNames,
    *,
    measure: Measure,
    explain: Explain,
    span: tuple[date, date] | None = None,
    most: int = _MOST,
) -> UsageChart:
    """Bars over the report's time, stacked by its other dimension."""
    line = timeline(report, today, most, projects, measure, span)
    columns = columns_of(line, measure, explain)
    label = f"{measure.title} by {line.step}" + (f", stacked by {line.split}" if line.split else "")
    chart = stacked(columns, label=label, number=measure.number, whole=not measure.is_money)
    return UsageChart(
        chart,
        _legend(line, measure, explain),
        line.step,
        not any(column.parts for column in columns),
        line.earlier,
        any(bar.whole.partly for bar in line.bars),
    )


def columns_of(line: Timeline, measure: Measure, explain: Explain | None = None) -> list[Column]:
    """The columns of a timeline; without `explain` they have no links."""
    return [_column(line, bar, measure, explain) for bar in line.bars]


def _column(line: Timeline, bar: Bar, measure: Measure, explain: Explain | None) -> Column:
    name = "at an unknown time" if bar.start is None else moment_words(line.step, bar.start)
    label = "?" if bar.start is None else _label(line.step, bar.start)
    key = None if bar.start is None else step_key(line.step, bar.start)
    if not bar.parts:
        return Column(label, f"{name}: nothing")
    by = line.step if line.step != "year" else None  # no report is by year
    total = measure.text(bar.whole)
    parts = sorted(bar.parts.items())
    several = len(line.series) > 1
    lines = [f"{_series_name(line, place)}  {measure.text(amount)}" for place, amount in parts] if several else []
    return Column(
        label,
        "\n".join((name, f"{measure.title}  {total}", *lines)),
        explain((by,), (key,)) if by and explain else None,
        tuple(
            Part(
                colour_of(line, place),
                amount.size,
                "\n".join((name, f"{_series_name(line, place)}  {measure.text(amount)}", f"of  {total}"))
                if several
                else "\n".join((name, f"{measure.title}  {total}")),
                _part_place(line, place, by, key, explain),
            )
            for place, amount in parts
        ),
        "?" if measure.is_money and bar.whole.partly else "",
    )


def _part_place(line: Timeline, place: int, by: str | None, key: str | None, explain: Explain | None) -> str | None:
    if by is None or explain is None:
        return None
    if line.split is None or place >= len(line.keys):
        return explain((by,), (key,))
    return explain((by, line.split), (key, line.keys[place]))


def colour_of(line: Timeline, place: int) -> int:
    """The number of a series' colour."""
    return place if place < len(line.keys) or not line.series else _OTHERS


def _series_name(line: Timeline, place: int) -> str:
    return line.series[min(place, len(line.series) - 1)] if line.series else ""


def _legend(line: Timeline, measure: Measure, explain: Explain) -> Markup:
    sums = line.series_amounts()
    entries = []
    for place, name in enumerate(line.series):
        is_named = line.split is not None and place < len(line.keys)
        entries.append(
            LegendEntry(
                name,
                measure.text(sums.get(place, Amount(Decimal(0)))),
                explain((line.split,), (line.keys[place],)) if is_named and line.split else None,
                (line.keys[place] or "") if is_named else "",
                None if is_named else _OTHERS,
            )
        )
    return legend(entries)


def _label(step: str, start: datetime) -> str:
    match step:
        case "hour":
            return f"{start:%H:%M}" if start.hour else f"{start.day} {MONTHS[start.month - 1]}"
        case "month":
            return MONTHS[start.month - 1] + (f" {start.year}" if start.month == 1 else "")
        case "year":
            return str(start.year)
        case _:
            return f"{start.day} {MONTHS[start.month - 1]}"


def moment_words(step: str, start: datetime) -> str:
    """The time of a bar, in full."""
    match step:
        case "hour":
            return f"{weekday_text(start)}, {start:%H:%M}"
        case "week":
            return f"Week from {date_text(start.date())}"
        case "month":
            return f"{MONTHS[start.month - 1]} {start.year}"
        case "year":
            return str(start.year)
        case _:
            return weekday_text(start)


def draw_year(
    days: Mapping[date, Amount],
    first: date,
    last: date,
    *,
    text: Callable[[Amount], str],
    label: str,
    href: Callable[[date], str | None],
) -> Markup:
    """The amounts of days as a calendar."""
    inside = {day: amount for day, amount in days.items() if first <= day <= last}
    bounds = levels_of(inside.values(), SHADES)
    cells = {
        day: Cell(_shade(amount, bounds), f"{weekday_text(day)}\n{text(amount)}", href(day))
        for day, amount in inside.items()
    }
    return heat(cells, first, last, label=label, nothing=lambda day: f"{weekday_text(day)}\nnothing")


def _shade(amount: Amount, bounds: Sequence[Decimal]) -> int | None:
    if amount.value is None:
        return None
    return level(amount, bounds, SHADES) if amount.size > 0 else 0


def draw_week_hours(hours: Mapping[tuple[int, int], Amount], measure: Measure) -> Markup:
    """The amounts of the hours of a week, darker for more."""
    bounds = levels_of(hours.values(), SHADES)

    def cell(day: int, hour: int) -> Cell:
        amount = hours.get((day, hour), Amount(Decimal(0)))
        text = f"{measure.title}  {measure.text(amount)}" if (day, hour) in hours else "nothing"
        return Cell(_shade(amount, bounds), f"{DAYS[day]} {hour:02}:00 to {(hour + 1) % 24:02}:00\n{text}")

    most = max(hours, key=lambda place: hours[place].size, default=None)
    busiest = "" if most is None else f"; most on {DAYS[most[0]]} at {most[1]:02}:00"
    cells = {(day, hour): cell(day, hour) for day in range(7) for hour in range(24)}
    return week_hours(cells, label=f"{measure.title} by weekday and hour{busiest}")


def _group_name(name: str, key: str | None, href: str | None) -> str:
    if href is None:
        return f'<span class="name" title="{escaped(key or "")}">{escaped(name)}</span>'
    return f'<a href="{escaped(href)}" title="{escaped(key or "")}">{escaped(name)}</a>'


def draw_groups(
    report: UsageReport, projects: ProjectNames, *, measure: Measure, explain: Explain, most: int = _GROUPS
) -> UsageChart:
    """One bar for each key of a report's first dimension, largest first, stacked by the second."""
    by = report.by[0]
    split = report.by[1] if len(report.by) > 1 else None
    names, places, keys = series_of(report, measure, split, projects)
    sums: dict[str | None, dict[int, Amount]] = {}
    titles: dict[str | None, str] = {}
    for row in report.rows:
        key, place = row.key[by], places[row.key[split]] if split else 0
        parts = sums.setdefault(key, {})
        parts[place] = parts.get(place, Amount()) + measure.of(row)
        titles[key] = row.about.get("title", "")
    whole = {key: sum(parts.values(), Amount()) for key, parts in sums.items()}
    ordered = sorted(sums, key=lambda key: (-whole[key].size, key or ""))
    shown, rest = ordered[:most], ordered[most:]
    top = max((whole[key].size for key in shown), default=Decimal(0)) or Decimal(1)
    called = [titles[key] or name for key, name in zip(shown, names_of(by, shown, projects), strict=True)]
    rows = []
    for key, name in zip(shown, called, strict=True):
        at, bars = Decimal(0), []
        for place, amount in sorted(sums[key].items()):
            series = place if place < len(keys) or not names else _OTHERS
            title = f"{name}\n{names[min(place, len(names) - 1)] if names else measure.title}  {measure.text(amount)}"
            size = f'x="{per_cent(float(at / top))}" width="{per_cent(float(amount.size / top))}"'
            bars.append(
                f'<g><title>{escaped(title)}</title><rect class="s{series % 8 + 1}" {size} height="12"'
                f' data-value="{amount.size}"/></g>'
            )
            at += amount.size
        rows.append(
            f"<li>{_group_name(name, key, explain((by,), (key,)))}"
            f'<svg class="chart bars" height="12" aria-hidden="true">{"".join(bars)}</svg>'
            f"<b>{escaped(measure.text(whole[key]))}</b></li>"
        )
    entries = [
        LegendEntry(
            name,
            measure.text(sum((parts[place] for parts in sums.values() if place in parts), Amount())),
            explain((split,), (keys[place],)) if split and place < len(keys) else None,
            series=None if place < len(keys) else _OTHERS,
        )
        for place, name in enumerate(names)
    ]
    chart = Markup(f'<ol class="group-bars">{"".join(rows)}</ol>')  # noqa: S704 - every text in it went through escaped()
    unpriced = any(amount.partly for amount in whole.values())
    return UsageChart(chart, legend(entries), by, not rows, 0, unpriced, len(rest))


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A series with its name, amount and link."""

    name: str
    amount: str = ""
    href: str | None = None
    title: str = ""
    series: int | None = None  # which colour; None: by its place


def legend(entries: Sequence[LegendEntry]) -> Markup:
    """The legend of the series, in the order of their colours; empty without any."""
    if not entries:
        return Markup()
    items = "".join(_item(number, entry) for number, entry in enumerate(entries))
    return Markup(f'<ul class="legend">{items}</ul>')  # noqa: S704 - every text in it went through escaped()


def _item(number: int, entry: LegendEntry) -> str:
    name = escaped(entry.name)
    title = f' title="{escaped(entry.title)}"' if entry.title else ""
    shown = f'<a href="{escaped(entry.href)}"{title}>{name}</a>' if entry.href else f"<span{title}>{name}</span>"
    amount = f" <b>{escaped(entry.amount)}</b>" if entry.amount else ""
    return f'<li class="s{(number if entry.series is None else entry.series) % 8 + 1}"><i></i>{shown}{amount}</li>'


_MOST_DAYS = 100  # columns; beyond them each is a week, then a month
_MOST_WEEKS = 120
_HEIGHT = 120
_WORKED, _FAILED = 0, 4  # colours


def draw_calls(
    days: Sequence[ToolDay], asked: tuple[date, date] | None, address: Callable[[str, str], str]
) -> Markup | None:
    """Calls by day, week or month; None if there are none. `address` gives the link to the calls of a range of days."""
    if not days:
        return None
    known = {date.fromisoformat(item.day): item for item in days}
    first, last = min(known), max(known)
    if asked is not None:
        first, last = min(first, asked[0]), max(last, min(asked[1], last + timedelta(days=7)))
    columns = []
    for start, end, label in _periods(first, last):
        some = [known[day] for day in _days(start, end) if day in known]
        calls, errors = sum(item.calls for item in some), sum(item.errors for item in some)
        title = f"{date_range(start, end)}\nCalls  {calls:,}\nFailed  {errors:,}"
        parts = (Part(_WORKED, Decimal(calls - errors), title), Part(_FAILED, Decimal(errors), title))
        href = address(start.isoformat(), end.isoformat()) if calls else None
        columns.append(Column(label, title, href, parts if calls else ()))
    name = f"Calls from {date_range(first, last)}: {many(sum(item.calls for item in days), 'call')}"
    return stacked(columns, label=name, number=lambda value: short(int(value)), height=_HEIGHT, whole=True)


def _periods(first: date, last: date) -> list[tuple[date, date, str]]:
    """The first and last day of each column, and its name."""
    count = (last - first).days + 1
    found = []
    if count <= _MOST_DAYS:
        return [(day, day, f"{day.day} {MONTHS[day.month - 1]}") for day in _days(first, last)]
    if count <= _MOST_WEEKS * 7:
        start = first - timedelta(days=first.weekday())
        while start <= last:
            found.append((start, start + timedelta(days=6), f"{start.day} {MONTHS[start.month - 1]}"))
            start += timedelta(days=7)
        return found
    start = first.replace(day=1)
    while start <= last:
        after = (start + timedelta(days=31)).replace(day=1)
        found.append((start, after - timedelta(days=1), f"{MONTHS[start.month - 1]} {start.year}"))
        start = after
    return found


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def draw_sparks(days: Mapping[date, Amount], last: date, measure: Measure) -> tuple[Markup, Markup, Markup]:
    """The days, weeks and months up to a day as small bars."""
    monday, count = last - timedelta(days=last.weekday()), _SPARK_BARS
    weeks = [monday - timedelta(weeks=number) for number in reversed(range(count))]
    month = last.year * 12 + last.month - 1
    months = [date(number // 12, number % 12 + 1, 1) for number in range(max(12, month - count + 1), month + 1)]
    starts = {
        "day": [last - timedelta(days=number) for number in reversed(range(count))],
        "week": weeks,
        "month": months,
    }
    drawn = []
    for step, begun in starts.items():
        sums = dict.fromkeys(begun, Amount(Decimal(0)))
        for day, amount in days.items():
            if begun[0] <= day <= last:
                start = max(start for start in begun if start <= day)
                sums[start] += amount
        names = [moment_words(step, datetime.combine(start, datetime.min.time())) for start in begun]
        bars = [
            (amount.size, f"{name}\n{measure.title}  {measure.text(amount)}")
            for name, amount in zip(names, sums.values(), strict=True)
        ]
        drawn.append(spark(bars, label=f"{measure.title} of the last {len(bars)} {step}s"))
    return drawn[0], drawn[1], drawn[2]
