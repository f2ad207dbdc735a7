"""A year as a calendar: one cell for each day, a column for each week, darker where more happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from markupsafe import Markup

from hansard.render.charts.scale import pixels
from hansard.render.html.escaping import escaped
from hansard.render.series import DAYS, MONTHS

CELL, _STEP = 12, 15
_LEFT, _TOP = 30, 18
_HOUR_STEP = 22
_NAMED = (0, 2, 4)  # weekdays that are named
_APART = 3  # weeks between the names of months
SHADES = 4
"""How many shades there are above nothing."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One day; a shade of None is an amount that nobody knows."""

    shade: int | None
    title: str
    href: str | None = None


def heat(cells: Mapping[date, Cell], first: date, last: date, *, label: str, nothing: Callable[[date], str]) -> Markup:
    """The calendar from one day to another; `nothing` says what there is to say of a day that has no cell."""
    monday = first.toordinal() - first.weekday()
    weeks = (last.toordinal() - monday) // 7 + 1
    wide, tall = _LEFT + weeks * _STEP, _TOP + 7 * _STEP
    return Markup(  # noqa: S704 - every text in it went through escaped()
        f'<svg class="chart heat" viewBox="0 0 {wide} {tall}" role="group" aria-label="{escaped(label)}" data-walk="days">'
        + "".join(_names(first, last, monday))
        + "".join(_days(cells, first, last, monday, nothing))
        + "</svg>"
    )


def week_hours(cells: Mapping[tuple[int, int], Cell], *, label: str) -> Markup:
    """The hours of a week: a row for each weekday, a column for each hour."""
    drawn = [f'<text x="0" y="{_TOP + day * _STEP + 10}">{name}</text>' for day, name in enumerate(DAYS)]
    drawn += [f'<text x="{_LEFT + hour * _HOUR_STEP}" y="11">{hour:02}</text>' for hour in range(0, 24, 3)]
    for (day, hour), cell in sorted(cells.items()):
        shade = "unknown" if cell.shade is None else f"h{min(SHADES, max(0, cell.shade))}"
        drawn.append(
            f'<g><title>{escaped(cell.title)}</title><rect class="{shade}" x="{_LEFT + hour * _HOUR_STEP}"'
            f' y="{_TOP + day * _STEP}" width="{_HOUR_STEP - 3}" height="{CELL}" rx="2.5"/></g>'
        )
    size = f"0 0 {_LEFT + 24 * _HOUR_STEP} {_TOP + 7 * _STEP}"
    return Markup(  # noqa: S704 - as above
        f'<svg class="chart hours" viewBox="{size}" role="img" aria-label="{escaped(label)}">{"".join(drawn)}</svg>'
    )


def shades() -> Markup:
    """What the shades mean, from little to much."""
    cells = "".join(
        f'<rect class="h{shade}" x="{shade * _STEP}" y="0" width="{CELL}" height="{CELL}" rx="2.5"/>'
        for shade in range(SHADES + 1)
    )
    return Markup(  # noqa: S704 - as above
        f'<p class="shades"><span>less</span><svg class="chart" width="{5 * _STEP}" height="{CELL}" aria-hidden="true">{cells}</svg>'
        "<span>more</span></p>"
    )


def _names(first: date, last: date, monday: int) -> Iterator[str]:
    for number in _NAMED:
        yield f'<text x="0" y="{_TOP + number * _STEP + 10}">{DAYS[number]}</text>'
    begun = [(0, first)]  # each month with the first week that begins in it
    for number in range(monday + 7, last.toordinal() + 1, 7):
        day = date.fromordinal(number)
        if day.month != begun[-1][1].month:
            begun.append(((number - monday) // 7, day))
    if len(begun) > 1 and begun[1][0] < _APART:
        del begun[0]  # too few weeks of it for a name
    for week, day in begun:
        yield f'<text x="{_LEFT + week * _STEP}" y="11">{MONTHS[day.month - 1]}</text>'


def _days(
    cells: Mapping[date, Cell], first: date, last: date, monday: int, nothing: Callable[[date], str]
) -> Iterator[str]:
    stop = max((day for day in cells if first <= day <= last and cells[day].href), default=None)
    for number in range(first.toordinal(), last.toordinal() + 1):
        day = date.fromordinal(number)
        week, weekday = divmod(number - monday, 7)
        cell = cells.get(day) or Cell(0, nothing(day))
        shade = "unknown" if cell.shade is None else f"h{min(SHADES, max(0, cell.shade))}"
        rect = (
            f'<rect class="{shade}" x="{pixels(_LEFT + week * _STEP)}" y="{pixels(_TOP + weekday * _STEP)}"'
            f' width="{CELL}" height="{CELL}" rx="2.5"/>'
        )
        told = f"<title>{escaped(cell.title)}</title>"
        if cell.href is None:
            yield f"<g>{told}{rect}</g>"
        else:
            reached = ' tabindex="0"' if day == stop else ' tabindex="-1"'
            yield f'<a href="{escaped(cell.href)}" data-day="{day.isoformat()}"{reached}>{told}{rect}</a>'
