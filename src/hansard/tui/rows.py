"""Rows of lists: typed cells in columns of a fixed width, since not all rows of a list are known when the first is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from hansard.model.table import Column
from hansard.render.cells import NAMELESS, cell
from hansard.render.format import ProjectNames
from hansard.render.terminal.tables import GAP, line_of, share_columns
from hansard.render.text import Paint, fit, one_line, pad

COLOURS = Paint(enabled=True)


def row_line(
    columns: Sequence[Column],
    values: Sequence[Any],
    room: int,
    names: ProjectNames = NAMELESS,
    styles: Sequence[str | None] = (),
) -> str:
    """One row; `styles` replace those of the first columns."""
    cells = [one_line(cell(value, column.kind, names)) for column, value in zip(columns, values, strict=True)]
    styled = [replace(column, style=style) for column, style in zip(columns, styles, strict=False)]
    return line_of([*styled, *columns[len(styled) :]], _widths(columns, room), cells, None, None, COLOURS)


def heading_line(columns: Sequence[Column], room: int) -> str:
    """The names of the columns."""
    titles = [column.title for column in columns]
    line = line_of(columns, _widths(columns, room), titles, None, None, Paint(enabled=False))
    return COLOURS(fit(pad(line, room), room), "dim")


def _widths(columns: Sequence[Column], room: int) -> dict[int, int]:
    """The width of each column that is shown; the one without a width gets what the others leave."""
    rest = next(place for place, column in enumerate(columns) if column.width is None)
    widths = share_columns(columns, [column.width or column.least or 0 for column in columns], room)
    taken = sum(widths.values()) - widths[rest] + len(GAP) * (len(widths) - 1)
    return {**widths, rest: max(1, room - taken)}
