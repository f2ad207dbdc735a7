"""Stacked bars over time: one column for each time, one part for each series."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from markupsafe import Markup

from hansard.render.charts.scale import per_cent, pixels, spread, ticks
from hansard.render.html.escaping import escaped

_ABOVE, _BELOW = 16, 22  # room for marks, and for the names of times
_FILLED = 0.76  # of a column's width
_WIDE, _NARROW = 12, 4  # names of times that fit on a screen and on a phone
_LEAST = 1.0  # pixels of a column that is not nothing


@dataclass(frozen=True, slots=True)
class Part:
    """What one series adds to a column."""

    series: int  # from 0: which colour
    value: Decimal
    title: str
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One time."""

    label: str  # below the axis, where there is room
    title: str
    href: str | None = None
    parts: tuple[Part, ...] = ()
    mark: str = ""  # above the column: what is not in it

    @property
    def value(self) -> Decimal:
        """All parts together."""
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
    columns: Sequence[Column],
    *,
    label: str,
    number: Callable[[Decimal], str],
    height: int = 220,
    whole: bool = False,
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
    """A shape that tells its value and leads somewhere. One column of a chart is reached by Tab, the others by arrows."""
    told = f"<title>{escaped(title)}</title>"
    if href is None:
        return f"<g>{told}{shape}</g>"
    stop = ' tabindex="0"' if focus else ' tabindex="-1"'
    kind = "" if focus is None else ' class="whole"'
    return f'<a{kind} href="{escaped(href)}"{stop}>{told}{shape}</a>'
