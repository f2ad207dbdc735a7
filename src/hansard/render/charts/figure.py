"""A report as a separate picture: an SVG document with title, axes, legend and the notes on prices.

It has no links, no scripts and refers to nothing outside of it, so that it can be sent and opened anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from hansard.render.charts.document import (
    MARGIN,
    TOP,
    WIDTH,
    NamedBar,
    bars_by_name,
    bars_over_time,
    document,
    length_of,
    text_at,
)
from hansard.render.charts.svg import CELL, SHADES, Column, pixels
from hansard.render.charts.usage import colour_of, columns_of, draw_year
from hansard.render.format import date_range, date_text, many, short
from hansard.render.reports import report_notes
from hansard.render.series import (
    MONTHS,
    Amount,
    Measure,
    days_of,
    levels_of,
    measure_of,
    percent,
    range_words,
    shares_of,
    streaks,
    timeline,
    year_of,
)
from hansard.render.text import fit, one_line

if TYPE_CHECKING:
    from hansard.model.ledger import UsageReport
    from hansard.render.format import ProjectNames
    from hansard.render.series import Timeline

_BARS = 400
_SHARES = 12
_YEAR = 366  # days; for a longer time labels need the year


def draw_bars(report: UsageReport, projects: ProjectNames, today: date) -> str:
    """Bars over time, stacked by the second dimension."""
    measure = measure_of(report)
    line = timeline(report, today, _BARS, projects)
    line = replace(line, bars=tuple(sorted(line.bars, key=lambda bar: (bar.start is None, bar.start))))
    amounts = line.series_amounts()
    entries = [
        (colour_of(line, place), name, measure.text(amounts.get(place, Amount(Decimal(0)))))
        for place, name in enumerate(line.series)
    ]
    body, bottom = bars_over_time(_columns(line, measure), measure.number, entries, whole=not measure.is_money)
    title = f"{measure.title} per {line.step}" + (f" by {line.split}" if line.split else "")
    return _document(report, title, _facts(report, measure), bottom, body)


def _columns(line: Timeline, measure: Measure) -> list[Column]:
    columns = columns_of(line, measure)
    starts = [bar.start for bar in line.bars if bar.start is not None]
    if line.step not in {"day", "week"} or not starts or (starts[-1] - starts[0]).days <= _YEAR:
        return columns
    return [
        replace(column, label=f"{MONTHS[bar.start.month - 1]} {bar.start.year}") if bar.start else column
        for column, bar in zip(columns, line.bars, strict=True)
    ]


def draw_calendar(report: UsageReport, _projects: ProjectNames, today: date) -> str:
    """A year of days, darker where more was used."""
    days = days_of(report)
    measure = measure_of(report)
    first, last = year_of(report, days, today)
    shown = {day: amount for day, amount in days.items() if first <= day <= last}
    chart = draw_year(shown, first, last, text=measure.text, label="", href=lambda _: None)
    wide = WIDTH - 2 * MARGIN
    down = TOP
    body = f'<svg x="{MARGIN}" y="{TOP}" width="{wide}" height="112">{chart}</svg>'
    down += 132
    bounds = levels_of(shown.values(), SHADES)
    shades = [("h0", "nothing")]
    shades += [
        (f"h{SHADES - len(bounds) + place + 1}", f"from {measure.number(bound)}") for place, bound in enumerate(bounds)
    ]
    if any(amount.value is None for amount in shown.values()):
        shades.append(("unknown", "unpriced"))
    across = MARGIN + 27.0
    for shade, text in shades:
        body += f'<rect class="{shade}" x="{pixels(across)}" y="{down - 10}" width="{CELL}" height="{CELL}" rx="2.5"/>'
        body += text_at(across + 18, down, text, "soft")
        across += 38 + length_of(text, 12)
    down += 44
    across = float(MARGIN)
    for name, value in _calendar_figures(days, measure, today):
        body += text_at(across, down, value, "figure") + text_at(across, down + 17, name, "soft")
        across += 24 + max(length_of(name, 12), length_of(value, 16))
    total = _amount(sum(shown.values(), Amount()), measure)
    facts = [total, date_range(first, last), many(len(shown), "active day"), report.timezone]
    return _document(report, f"{measure.title} per day", facts, down + 22, body)


def _calendar_figures(days: dict[date, Amount], measure: Measure, today: date) -> list[tuple[str, str]]:
    """The totals of the last two years, the busiest day and the streaks."""
    figures = []
    for year in sorted({day.year for day in days})[-2:]:
        amounts = [amount for day, amount in days.items() if day.year == year]
        figures.append((f"{year}, {many(len(amounts), 'day')}", measure.text(sum(amounts, Amount()))))
    if days:
        busiest = max(days, key=lambda day: days[day].size)
        (longest, ended), current = streaks(days, today)
        figures.append((f"Busiest: {date_text(busiest)}", measure.text(days[busiest])))
        figures.append((f"Longest streak, to {date_text(ended or busiest)}", many(longest, "day")))
        figures.append(("Current streak", many(current, "day") if current else "none"))
    return figures


def draw_shares(report: UsageReport, projects: ProjectNames, _today: date) -> str:
    """Each name's part of the whole."""
    found = shares_of(report, _SHARES, projects)
    measure = measure_of(report)
    most = max((share.part or 0 for share in found), default=0) or 1
    bars = []
    for share in found:
        text = f"? unpriced, {short(Decimal(share.tokens))} tokens"
        if share.part is not None:
            text = f"{percent(share.part)} \u00b7 {measure.text(share.amount)}"
        series = 7 if share.is_rest else 0
        bars.append(NamedBar(fit(share.name, 36), (share.part or 0) / most, text, series, share.part is None))
    body, bottom = bars_by_name(bars)
    return _document(report, f"{measure.title} by {', '.join(report.by)}", _facts(report, measure), bottom, body)


FIGURES: dict[str, Callable[[UsageReport, ProjectNames, date], str]] = {
    "bars": draw_bars,
    "calendar": draw_calendar,
    "share": draw_shares,
}


def _document(report: UsageReport, title: str, facts: Sequence[str], bottom: float, body: str) -> str:
    """A chart of a report, with the notes on its prices."""
    has_unpriced = measure_of(report).of(report.totals).partly
    doubt = "? has usage without a price, which is not in the cost" if has_unpriced else ""
    return document(title, facts, bottom, body, notes=_notes(report), doubt=doubt)


def _facts(report: UsageReport, measure: Measure) -> list[str]:
    return [_amount(measure.of(report.totals), measure), range_words(report), report.timezone]


def _amount(amount: Amount, measure: Measure) -> str:
    return measure.text(amount) + ("" if measure.is_money else " tokens")


def _notes(report: UsageReport) -> list[str]:
    """Which prices were used, and what the marks mean."""
    notes = [f"{mark} {text}" for mark, text in report_notes(report.pricing, report.totals) if mark != "-"]
    if not measure_of(report).is_money:
        notes[0] = "No prices are known: showing tokens"
    return [fit(one_line(note), 150) for note in notes]
