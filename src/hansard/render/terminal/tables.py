"""Tables that fit the terminal (columns that say least are dropped first, one that may be cut is cut).

Our own because a warm command has 150 ms, and rich's tables take half of that to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hansard.model.table import Column, Kind
from hansard.render.cells import CellContext, cell
from hansard.render.text import Paint, fit, pad, width

_GAP = 2
_BARE = 8  # columns of a cell that says anything
_LEAST = {Kind.PROJECT: 8}
_STYLES = {Kind.TIME: "dim", Kind.ID: "cyan", Kind.PROJECT: "green"}


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Any]],
    columns_wide: int,
    paint: Paint,
    context: CellContext | None = None,
    *,
    header: bool = True,
) -> list[str]:
    """The lines of a table, none wider than the terminal; `context` is needed for times and projects."""
    rows = written(columns, rows, context)
    natural = [
        max([width(column.title) if header else 0, *(width(row[place]) for row in rows)])
        for place, column in enumerate(columns)
    ]
    columns = [
        column._replace(style=column.style or _STYLES.get(column.kind), least=column.least or _LEAST.get(column.kind))
        for column in columns
    ]
    least = [
        natural[place] if column.least is None else min(natural[place], column.least)
        for place, column in enumerate(columns)
    ]
    shown = list(range(len(columns)))
    while _needed(shown, least) > columns_wide and any(columns[place].rank for place in shown):
        shown.remove(max(shown, key=lambda place: columns[place].rank))
    widths = _share(columns, shown, natural, least, columns_wide)
    lines = []
    if header:
        lines.append(paint(_line(columns, shown, widths, [column.title for column in columns], None), "dim"))
    lines += [_line(columns, shown, widths, row, paint) for row in rows]
    return lines


def written(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]], context: CellContext | None = None
) -> list[list[str]]:
    """The cells as text; the digits of costs stand below each other, their marks behind them."""
    by_column = [[cell(row[place], column.kind, context) for row in rows] for place, column in enumerate(columns)]
    for place, column in enumerate(columns):
        if column.kind is Kind.COST:
            by_column[place] = aligned(by_column[place])
    return [list(cells) for cells in zip(*by_column, strict=True)]


def aligned(costs: Sequence[str]) -> list[str]:
    """Marked amounts for a column: the digits below each other, the marks behind them."""
    widest = max((len(_tail(text)) for text in costs), default=0)
    return [text if text == "?" else text + " " * (widest - len(_tail(text))) for text in costs]


def _tail(text: str) -> str:
    return text[len(text.rstrip("+?")) :] if text != "?" else ""


def _needed(shown: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[place] for place in shown) + _GAP * max(0, len(shown) - 1)


def _share(
    columns: Sequence[Column], shown: Sequence[int], natural: Sequence[int], least: Sequence[int], total: int
) -> dict[int, int]:
    """Give each column its natural width; what does not fit is taken from those that can be cut, the widest first."""
    widths = {place: natural[place] for place in shown}
    excess = sum(widths.values()) + _GAP * max(0, len(shown) - 1) - total
    floors = [
        min(bound, _BARE) if column.least is not None else bound for bound, column in zip(least, columns, strict=True)
    ]
    while excess > 0:
        room = [place for place in shown if columns[place].least is not None and widths[place] > least[place]]
        if not room and least is not floors:  # a very narrow terminal
            least = floors
            continue
        if not room:
            break
        widest = max(room, key=lambda place: widths[place])
        others = [widths[place] for place in room if place != widest]
        floor = max(least[widest], min(widths[widest] - 1, max(others, default=0)))
        cut = min(excess, widths[widest] - floor)
        widths[widest] -= cut
        excess -= cut
    return widths


def _line(
    columns: Sequence[Column], shown: Sequence[int], widths: dict[int, int], cells: Sequence[str], paint: Paint | None
) -> str:
    parts = []
    for place in shown:
        column = columns[place]
        text = pad(fit(cells[place], widths[place]), widths[place], right=column.is_right)
        if paint is not None and column.style is not None and text.strip():
            text = paint(text, column.style)
        if paint is not None and column.mark is not None:
            text = column.mark(text)
        parts.append(text)
    if paint is None or not paint.enabled:
        return (" " * _GAP).join(parts).rstrip()
    return (" " * _GAP).join(parts)
