"""A report as a separate picture: an SVG document with title, axes, legend and the notes on prices.

It has no links, no scripts and refers to nothing outside of it, so that it can be sent and opened anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from hansard.render.charts.svg import CELL, SHADES, Column, pixels, stacked_bars
from hansard.render.charts.usage import colour_of, columns_of, draw_year
from hansard.render.format import date_text, many
from hansard.render.html.escaping import escaped
from hansard.render.reports import data_words
from hansard.render.series import (
    MONTHS,
    Amount,
    Measure,
    days_of,
    levels_of,
    measure_of,
    percent,
    shares_of,
    short,
    span_of,
    streaks,
    timeline,
    year_of,
)
from hansard.render.text import fit, one_line, width

if TYPE_CHECKING:
    from hansard.model.ledger import UsageReport
    from hansard.render.format import ProjectNames
    from hansard.render.series import Timeline

_WIDTH, _MARGIN = 800, 32
_TOP = 88  # below the title and the facts
_BARS = 400
_SHARES = 12
_YEAR = 366  # days; for a longer time labels need the year
_LETTER = 0.58  # of the font size: an average width, rather too large
_NOT_IN_XML = re.compile("[\ufffe\uffff]")
# The colours of the web app in a light theme.
_STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", sans-serif; fill: #23262b }
.title { font-size: 20px; font-weight: 600 } .figure { font-size: 16px; font-weight: 600 }
.soft, .chart text { fill: #5f646d } .chart text { font-size: 11px } .notes { font-size: 9px; fill: #80858e }
.ordinate text { text-anchor: end } .axis { stroke: #e2dfd8 } .hit { fill: none } .chart .doubt, .doubt { fill: #9a5b00 }
.heat text { font-size: 9px } .unknown { fill: #fff; stroke: #9a5b00; stroke-dasharray: 2 2 }
.s1 { fill: #0c626b } .s2 { fill: #b5651d } .s3 { fill: #5b4a9e } .s4 { fill: #3f7a3a }
.s5 { fill: #a53860 } .s6 { fill: #48608f } .s7 { fill: #7d6a12 } .s8 { fill: #6c6c6c }
.h0 { fill: #ece9e2 } .h1 { fill: #bcd9da } .h2 { fill: #82b7ba } .h3 { fill: #3f8b92 } .h4 { fill: #0c5059 }
"""


def draw_bars(report: UsageReport, projects: ProjectNames, today: date) -> str:
    """Bars over time, stacked by the second dimension."""
    measure = measure_of(report)
    line = timeline(report, today, _BARS, projects)
    line = replace(line, bars=tuple(sorted(line.bars, key=lambda bar: (bar.start is None, bar.start))))
    drawn = stacked_bars(
        _columns(line, measure), number=measure.number, height=260, whole=not measure.is_money, labels=7
    )
    axis = 56
    legend = 150 if line.series else 0
    body = (
        f'<svg class="chart ordinate" x="{_MARGIN - 12}" y="{_TOP}" width="{axis}" height="{drawn.height}">{drawn.axis}</svg>'
        f'<svg class="chart" x="{_MARGIN - 12 + axis}" y="{_TOP}" width="{_WIDTH - 2 * _MARGIN + 12 - axis - legend}"'
        f' height="{drawn.height}" overflow="visible">{drawn.bars}</svg>'
    )
    amounts = line.series_amounts()
    for place, name in enumerate(line.series):
        across, down = _WIDTH - _MARGIN - legend + 20, _TOP + 16 + 40 * place
        amount = amounts.get(place, Amount(Decimal(0)))
        body += (
            f'<rect class="s{colour_of(line, place) % 8 + 1}" x="{across}" y="{down}" width="11" height="11" rx="2.5"/>'
        )
        body += _text(across + 18, down + 10, fit(name, 19)) + _text(
            across + 18, down + 26, measure.text(amount), "soft"
        )
    title = f"{measure.title} per {line.step}" + (f" by {line.split}" if line.split else "")
    return _document(report, title, _facts(report, measure), _TOP + drawn.height, body)


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
    chart = draw_year(shown, first, last, told=measure.text, label="", lead=lambda _: None)
    wide = _WIDTH - 2 * _MARGIN
    down = _TOP
    body = f'<svg x="{_MARGIN}" y="{_TOP}" width="{wide}" height="112">{chart}</svg>'
    down += 132
    bounds = levels_of(shown.values(), SHADES)
    shades = [("h0", "nothing")]
    shades += [
        (f"h{SHADES - len(bounds) + place + 1}", f"from {measure.number(bound)}") for place, bound in enumerate(bounds)
    ]
    if any(amount.value is None for amount in shown.values()):
        shades.append(("unknown", "unpriced"))
    across = _MARGIN + 27.0
    for shade, text in shades:
        body += f'<rect class="{shade}" x="{pixels(across)}" y="{down - 10}" width="{CELL}" height="{CELL}" rx="2.5"/>'
        body += _text(across + 18, down, text, "soft")
        across += 38 + _length(text, 12)
    down += 44
    across = float(_MARGIN)
    for name, value in _calendar_figures(days, measure, today):
        body += _text(across, down, value, "figure") + _text(across, down + 17, name, "soft")
        across += 24 + max(_length(name, 12), _length(value, 16))
    total = _amount(sum(shown.values(), Amount()), measure)
    facts = [total, f"{date_text(first)} to {date_text(last)}", many(len(shown), "active day"), report.timezone]
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
    names = [fit(share.name, 36) for share in found]
    left = _MARGIN + max(_length(name, 12) for name in names) + 12
    room = _WIDTH - _MARGIN - 150 - left
    most = max((share.part or 0 for share in found), default=0) or 1
    body, down = "", _TOP
    for name, share in zip(names, found, strict=True):
        long = room * (share.part or 0) / most
        if share.part is None:
            told, kind = f"? unpriced, {short(Decimal(share.tokens))} tokens", "doubt"
        else:
            told, kind = f"{percent(share.part)} \u00b7 {measure.text(share.amount)}", ""
        body += _text(_MARGIN, down + 13, name)
        body += f'<rect class="s{8 if share.is_rest else 1}" x="{pixels(left)}" y="{down}" width="{pixels(long)}" height="18"/>'
        body += _text(left + long + 8, down + 13, told, kind)
        down += 27
    return _document(report, f"{measure.title} by {', '.join(report.by)}", _facts(report, measure), down, body)


FIGURES: dict[str, Callable[[UsageReport, ProjectNames, date], str]] = {
    "bars": draw_bars,
    "calendar": draw_calendar,
    "share": draw_shares,
}


def _document(report: UsageReport, title: str, facts: Sequence[str], bottom: float, body: str) -> str:
    """A chart that ends at `bottom`, below its title and above the notes."""
    notes = _notes(report)
    height = bottom + 18 + 13 * len(notes) + 10
    head = _text(_MARGIN, 42, title, "title") + _text(_MARGIN, 64, " \u00b7 ".join(filter(None, facts)), "soft")
    if measure_of(report).of(report.totals).partly:
        head += _text(
            _WIDTH - _MARGIN, 42, "? has usage without a price, which is not in the cost", "doubt", anchor="end"
        )
    foot = "".join(_text(_MARGIN, bottom + 24 + 13 * place, note, "notes") for place, note in enumerate(notes))
    size = f'width="{_WIDTH}" height="{pixels(height)}" viewBox="0 0 {_WIDTH} {pixels(height)}"'
    return _NOT_IN_XML.sub(
        "\ufffd",
        f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" {size}>'
        f'<title>{escaped(title)}</title><style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f"{head}{body}{foot}</svg>\n",
    )


def _text(x: float, y: float, text: str, kind: str = "", *, anchor: str = "start") -> str:
    shown = f' class="{kind}"' if kind else ""
    shown += f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text{shown} x="{pixels(x)}" y="{pixels(y)}">{escaped(one_line(text))}</text>'


def _length(text: str, size: int) -> float:
    """About how many pixels a text takes."""
    return width(text) * size * _LETTER


def _facts(report: UsageReport, measure: Measure) -> list[str]:
    first, last = span_of(report)
    span = ""
    if first is not None and last is not None:
        span = date_text(first) if first == last else f"{date_text(first)} to {date_text(last)}"
    return [_amount(measure.of(report.totals), measure), span, report.timezone]


def _amount(amount: Amount, measure: Measure) -> str:
    return measure.text(amount) + ("" if measure.is_money else " tokens")


def _notes(report: UsageReport) -> list[str]:
    """Which prices were used, and what the marks mean."""
    totals = report.totals
    marks = ["+"] * bool(totals.lower_bound_messages) + ["?"] * bool(totals.unpriced_messages)
    prices = f"Prices: {data_words(report.pricing.data)}"
    if not measure_of(report).is_money:
        prices = "No prices are known: showing tokens"
    # The first notes of a report are about the marks.
    notes = [f"{mark} {note}" for mark, note in zip(marks, report.pricing.notes, strict=False)]
    return [fit(one_line(note), 150) for note in (prices, *notes)]
