"""Rows of lists: typed cells in columns of a fixed width, since not all rows of a list are known when the first is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hansard.model.table import Column, Kind
from hansard.render.cells import NAMELESS, cell
from hansard.render.format import ProjectNames
from hansard.render.text import Paint, fit, fit_path, one_line, pad

COLOURS = Paint(enabled=True)
_GAP = "  "


def row_line(
    columns: Sequence[Column],
    values: Sequence[Any],
    room: int,
    names: ProjectNames = NAMELESS,
    styles: Sequence[str | None] = (),
) -> str:
    """One row; `styles` replace those of the first columns."""
    cells = []
    for place, wide in _widths(columns, room).items():
        column = columns[place]
        text = one_line(cell(values[place], column.kind, names))
        text = pad((fit_path if column.kind is Kind.PATH else fit)(text, wide), wide, right=column.is_right)
        style = styles[place] if place < len(styles) else column.style
        cells.append(COLOURS(text, style) if style and text.strip() else text)
    return _GAP.join(cells)


def heading_line(columns: Sequence[Column], room: int) -> str:
    """The names of the columns."""
    titles = (
        pad(columns[place].title, wide, right=columns[place].is_right) for place, wide in _widths(columns, room).items()
    )
    return COLOURS(fit(_GAP.join(titles), room), "dim")


def _widths(columns: Sequence[Column], room: int) -> dict[int, int]:
    """The width of each column that is shown; the one without a width gets what the others leave.

    If that is too little, columns with `least` are cut, then those with a `rank` are omitted.
    """
    shown = list(range(len(columns)))
    rest = next(place for place in shown if columns[place].width is None)

    def left(widths: dict[int, int]) -> int:
        return room - sum(widths.values()) - len(_GAP) * (len(shown) - 1)

    while True:
        widths = {place: columns[place].width or 0 for place in shown}
        for place in shown:
            missing = (columns[rest].least or 0) - left(widths)
            if missing > 0 and place != rest and (least := columns[place].least) is not None:
                widths[place] -= min(missing, widths[place] - least)
        dropped = max(shown, key=lambda place: columns[place].rank)
        if left(widths) >= (columns[rest].least or 0) or not columns[dropped].rank:
            return widths | {rest: max(1, left(widths))}
        shown.remove(dropped)
