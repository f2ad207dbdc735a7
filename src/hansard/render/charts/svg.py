"""Shapes of charts: axes with round numbers, stacked bars over time, and calendars of days and hours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, Decimal

from markupsafe import Markup

from hansard.render.html.escaping import escaped
from hansard.render.series import DAYS, MONTHS

_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))
_WHOLE_STEPS = (Decimal(1), Decimal(2), Decimal(5), Decimal(10))


def ticks(most: Decimal, count: int = 5, *, whole: bool = False) -> list[Decimal]:
    """Round numbers from 0 on up to the first that is not below `most`, about `count` of them above 0; none for nothing."""
    if most <= 0:
        return []
    least = most / count
    power = Decimal(1).scaleb(least.adjusted())
    if whole and power < 1:
        power, least = Decimal(1), max(least, Decimal(1))
    step = next(step * power for step in (_WHOLE_STEPS if whole and power == 1 else _STEPS) if step * power >= least)
    steps = int((most / step).to_integral_value(ROUND_CEILING))
    return [step * number for number in range(steps + 1)]


def per_cent(part: float, whole: float = 1) -> str:
    """A position or width in per cent, with as few digits as are visible."""
    return f"{100 * part / whole:.3f}".rstrip("0").rstrip(".") + "%"


def pixels(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def spread(count: int, most: int) -> list[int]:
    """At most `most` of the numbers below `count`, evenly spread, including the last."""
    if count <= 0 or most <= 0:
        return []
    step = -(-count // most)
    return list(range((count - 1) % step, count, step))


_ABOVE, _BELOW = 16, 22  # pixels for marks, and for the names of times
_FILLED = 0.76  # of a column's width
_WIDE, _NARROW = 12, 4  # names of times that fit on a screen and on a phone
_LEAST = 1.0  # pixels of a column that is not nothing


@dataclass(frozen=True, slots=True)
class Part:
    """The part of one series in a column."""

    series: int  # from 0: which colour
    value: Decimal
    title: str
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One time."""

    label: str  # below the axis, if it fits
    title: str
    href: str | None = None
    parts: tuple[Part, ...] = ()
    mark: str = ""  # above the column: what is not in it

    @property
    def value(self) -> Decimal:
        return sum((part.value for part in self.parts), Decimal(0))


@dataclass(frozen=True, slots=True)
class StackedBars:
    """The axis and the bars of a chart, for an `<svg>` each, and their height in pixels."""

    axis: str
    bars: str
    height: int


def stacked_bars(
    columns: Sequence[Column],
    *,
    number: Callable[[Decimal], str],
    height: int = 220,
    whole: bool = False,
    labels: int = _WIDE,
) -> StackedBars:
    """Draw the columns; `number` formats a value at the axis, `whole` allows no fractions there, `labels` are at most shown."""
    most = max((column.value for column in columns), default=Decimal(0))
    marks = ticks(most, whole=whole)
    top = marks[-1] if marks else Decimal(1)

    def tall(value: Decimal) -> float:
        return height * float(value / top)

    foot = _ABOVE + height
    end = foot + _BELOW
    axis = "".join(
        f'<text x="100%" dx="-6" y="{pixels(foot - tall(mark) + 4)}">{escaped(number(mark))}</text>' for mark in marks
    )
    lines = "".join(
        f'<line class="axis" x1="0" x2="100%" y1="{pixels(foot - tall(mark))}" y2="{pixels(foot - tall(mark))}"/>'
        for mark in marks or [Decimal(0)]
    )
    return StackedBars(axis, lines + "".join(_drawn(columns, tall, foot, end, labels)), end)


def stacked(
    columns: Sequence[Column], *, label: str, number: Callable[[Decimal], str], height: int = 220, whole: bool = False
) -> Markup:
    """The chart for a page."""
    drawn = stacked_bars(columns, number=number, height=height, whole=whole)
    return Markup(  # noqa: S704 - every text in it went through escaped()
        f'<div class="plot"><svg class="chart ordinate" height="{drawn.height}" aria-hidden="true">{drawn.axis}</svg>'
        f'<svg class="chart bars" height="{drawn.height}" role="group" aria-label="{escaped(label)}" data-walk="bars">'
        f"{drawn.bars}</svg></div>"
    )


def _drawn(
    columns: Sequence[Column], tall: Callable[[Decimal], float], foot: int, end: int, labels: int
) -> Iterator[str]:
    count = len(columns)
    shown = spread(count, labels)
    narrow = {shown[number] for number in spread(len(shown), _NARROW)}
    last = max((place for place, column in enumerate(columns) if column.href), default=-1)
    for place, column in enumerate(columns):
        yield '<g class="column">'
        hit = f'<rect class="hit" x="{per_cent(place, count)}" y="0" width="{per_cent(1, count)}" height="{foot}"/>'
        yield _linked(column.href, column.title, hit, focus=place == last)
        whole = column.value
        height = max(_LEAST, tall(whole)) if whole > 0 else 0.0
        base = Decimal(0)
        for part in column.parts:
            if part.value > 0:
                lower, upper = (foot - height * float(value / whole) for value in (base, base + part.value))
                base += part.value
                rect = (
                    f'<rect class="s{part.series % 8 + 1}" x="{per_cent(place + (1 - _FILLED) / 2, count)}"'
                    f' y="{pixels(upper)}" width="{per_cent(_FILLED, count)}" height="{pixels(lower - upper)}"'
                    f' data-value="{part.value}"/>'
                )
                yield _linked(part.href, part.title, rect, focus=None)
        if column.mark:
            at = f'x="{per_cent(place + 0.5, count)}" y="{pixels(foot - height - 5)}"'
            yield f'<text class="doubt" {at} text-anchor="middle">{escaped(column.mark)}</text>'
        yield "</g>"
        if column.label and place in shown:
            yield _name(column.label, place, count, end, fine=place not in narrow)


def _name(label: str, place: int, count: int, end: int, *, fine: bool) -> str:
    """A time below its column; at the ends it stays inside."""
    anchor, at = "middle", place + 0.5
    if count > _WIDE and place >= count - 1:
        anchor, at = "end", float(count)
    elif count > _WIDE and place == 0:
        anchor, at = "start", 0.0
    kind = ' class="fine"' if fine else ""
    return f'<text{kind} x="{per_cent(at, count)}" y="{end - 6}" text-anchor="{anchor}">{escaped(label)}</text>'


def _linked(href: str | None, title: str, shape: str, *, focus: bool | None) -> str:
    """A shape with its value as title, and a link. One column of a chart is reached by Tab, the others by arrows."""
    heading = f"<title>{escaped(title)}</title>"
    if href is None:
        return f"<g>{heading}{shape}</g>"
    stop = ' tabindex="0"' if focus else ' tabindex="-1"'
    kind = "" if focus is None else ' class="whole"'
    return f'<a{kind} href="{escaped(href)}"{stop}>{heading}{shape}</a>'


def spark(bars: Sequence[tuple[Decimal, str]], *, label: str) -> Markup:
    """Small bars without an axis, each with its value as title; the last one is highlighted."""
    most = max((value for value, _ in bars), default=Decimal(0)) or Decimal(1)
    drawn = []
    for place, (value, title) in enumerate(bars):
        tall = max(4.0, 100 * float(value / most)) if value > 0 else 1.5
        kind = "last" if place == len(bars) - 1 else ""
        drawn.append(
            f'<g><title>{escaped(title)}</title><rect class="hit" x="{per_cent(place, len(bars))}" y="0"'
            f' width="{per_cent(1, len(bars))}" height="100%"/><rect class="bar {kind}" x="{per_cent(place + 0.1, len(bars))}"'
            f' y="{pixels(100 - tall)}%" width="{per_cent(0.8, len(bars))}" height="{pixels(tall)}%"/></g>'
        )
    return Markup(  # noqa: S704 - every text in it went through escaped()
        f'<svg class="chart spark" role="img" aria-label="{escaped(label)}">{"".join(drawn)}</svg>'
    )


CELL, _STEP = 12, 15
_LEFT, _TOP = 30, 18
_HOUR_STEP = 22
_NAMED = (0, 2, 4)  # weekdays that are named
_APART = 3  # weeks between the names of months
SHADES = 4
"""How many shades there are above nothing."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One day; a shade of None is an unknown amount."""

    shade: int | None
    title: str
    href: str | None = None


def heat(cells: Mapping[date, Cell], first: date, last: date, *, label: str, nothing: Callable[[date], str]) -> Markup:
    """The calendar from one day to another; `nothing` is the title of days without a cell."""
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
        rect = _rect(cell, _LEFT + hour * _HOUR_STEP, _TOP + day * _STEP, _HOUR_STEP - 3)
        drawn.append(f"<g><title>{escaped(cell.title)}</title>{rect}</g>")
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
        rect = _rect(cell, _LEFT + week * _STEP, _TOP + weekday * _STEP, CELL)
        title = f"<title>{escaped(cell.title)}</title>"
        if cell.href is None:
            yield f"<g>{title}{rect}</g>"
        else:
            stop_at = ' tabindex="0"' if day == stop else ' tabindex="-1"'
            yield f'<a href="{escaped(cell.href)}" data-day="{day.isoformat()}"{stop_at}>{title}{rect}</a>'


def _rect(cell: Cell, x: int, y: int, wide: int) -> str:
    shade = "unknown" if cell.shade is None else f"h{min(SHADES, max(0, cell.shade))}"
    return f'<rect class="{shade}" x="{x}" y="{y}" width="{wide}" height="{CELL}" rx="2.5"/>'
