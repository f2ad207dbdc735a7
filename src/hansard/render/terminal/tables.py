"""Tables that fit the terminal: the least important columns are left out first, then the longest texts are cut.

Our own, because importing rich's tables takes half of the 150 ms that a warm command has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from hansard.model.table import Column, Kind, Table
from hansard.render.cells import NAMELESS, cell
from hansard.render.format import ProjectNames
from hansard.render.text import PIPED, Paint, clean, fit, fit_path, one_line, share, width, wrap

GAP = "  "
_BARE = 8  # columns below which a cut cell is unreadable
_PROSE = 20  # a column that is never cut to less than this contains titles, paths or prose
_LEAST = {Kind.PROJECT: 8}
_STYLES = {Kind.TIME: "dim", Kind.ID: "cyan", Kind.PROJECT: "green"}


def draw_table(
    table: Table,
    columns_wide: int,
    paint: Paint,
    names: ProjectNames = NAMELESS,
    *,
    header: bool = True,
    indent: str = "",
    cut: bool = False,
) -> list[str]:
    """The lines of a table, below them a rule and the totals; projects are called by their `names`.

    A table that cannot fit is wider than the terminal, so that no figure is lost, unless lines may be `cut`. Where nothing is cut,
    long texts come last and are not padded.
    """
    columns = [replace(column, style=column.style or _STYLES.get(column.kind)) for column in table.columns]
    rows = written(table, names)
    total = columns_wide - len(indent)
    widths = _shared(columns, rows, total, header=header)
    if columns_wide >= PIPED:
        prose = [place for place in widths if place and columns[place].title and (columns[place].least or 0) >= _PROSE]
        widths = {place: wide for place, wide in widths.items() if place not in prose} | dict.fromkeys(prose, 0)

    def line(cells: Sequence[str], style: str | None) -> str:
        return line_of(columns, widths, cells, style, total if cut else None, paint)

    styles = {**table.styles, len(table.rows): "bold"} if table.totals is not None else table.styles
    lines = [line([column.title for column in columns], "dim")] if header else []
    lines += [line(row, styles.get(number)) for number, row in enumerate(rows)]
    if table.totals is not None and table.rows:
        wide = (
            [_needed(filter(None, widths.values()))] if columns_wide >= PIPED else [width(clean(one)) for one in lines]
        )
        lines.insert(-1, paint("─" * max(wide), "dim"))
    return [indent + drawn for drawn in lines] if indent else lines


def written(table: Table, names: ProjectNames = NAMELESS) -> list[list[str]]:
    """The cells of the rows and totals as text; the digits of costs are aligned, their marks behind them."""
    rows = [*table.rows, table.totals] if table.totals is not None else table.rows
    by_column = [[cell(row[place], column.kind, names) for row in rows] for place, column in enumerate(table.columns)]
    for place, column in enumerate(table.columns):
        if column.kind is Kind.COST:
            by_column[place] = aligned(by_column[place])
    return [list(cells) for cells in zip(*by_column, strict=True)]


def aligned(costs: Sequence[str]) -> list[str]:
    """Marked amounts for a column: the digits below each other, the marks behind them."""
    widest = max((len(_marks(text)) for text in costs), default=0)
    return [text if text == "?" else text + " " * (widest - len(_marks(text))) for text in costs]


def _marks(text: str) -> str:
    return text[len(text.rstrip("+?")) :] if text != "?" else ""


def fits(table: Table, columns_wide: int) -> bool:
    """Whether all columns that must be shown fit, cut as far as they may be."""
    return _needed(_shared(table.columns, written(table), columns_wide).values()) <= columns_wide


def _shared(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], total: int, *, header: bool = True
) -> dict[int, int]:
    """The width of each column that is shown."""
    natural = [
        max([width(column.title) if header else 0, *(width(row[place]) for row in rows)])
        for place, column in enumerate(columns)
    ]
    return share_columns(columns, natural, total)


def share_columns(columns: Sequence[Column], natural: Sequence[int], total: int) -> dict[int, int]:
    """The width of each column that is shown: its natural one if all fit, else the widest that may be cut are cut."""
    cut_to = [column.least or _LEAST.get(column.kind) for column in columns]
    least = [wide if bound is None else min(wide, bound) for wide, bound in zip(natural, cut_to, strict=True)]
    shown = list(range(len(columns)))
    while _needed([least[place] for place in shown]) > total and any(columns[place].rank for place in shown):
        shown.remove(max(shown, key=lambda place: columns[place].rank))
    room = total - len(GAP) * max(0, len(shown) - 1)
    widths = [natural[place] for place in shown]
    # Below their least only in a very narrow terminal.
    for bounds in (
        least,
        [wide if bound is None else min(wide, _BARE) for wide, bound in zip(least, cut_to, strict=True)],
    ):
        widths = share(widths, [bounds[place] for place in shown], room)
    return dict(zip(shown, widths, strict=True))


def _needed(widths: Iterable[int]) -> int:
    widths = list(widths)
    return sum(widths) + len(GAP) * max(0, len(widths) - 1)


def line_of(
    columns: Sequence[Column],
    widths: dict[int, int],
    cells: Sequence[str],
    style: str | None,
    most: int | None,
    paint: Paint,
) -> str:
    """One line of a table, in a style of its own or in those of its columns; `most` columns wide."""
    parts = [(columns[place], _cell(columns[place], cells[place], wide)) for place, wide in widths.items()]
    plain = GAP.join(text for _, text in parts).rstrip()
    if style is not None:
        return paint(plain if most is None else fit(plain, most), style)
    if most is not None and width(plain) > most:
        return fit(plain, most)
    if not paint.enabled:
        return plain
    painted = [paint(text, column.style) if column.style and text.strip() else text for column, text in parts]
    return GAP.join(
        text if column.mark is None else column.mark(text) for (column, _), text in zip(parts, painted, strict=True)
    )


def _cell(column: Column, text: str, wide: int) -> str:
    """A cell padded or cut to its width; 0: neither."""
    if not wide:
        return text
    taken = width(text)
    if taken > wide:
        text = (fit_path if column.kind is Kind.PATH else fit)(text, wide)
        taken = width(text)
    space = " " * (wide - taken)
    return space + text if column.is_right else text + space


def note_lines(notes: Iterable[tuple[str, str]], columns: int, paint: Paint) -> Iterator[str]:
    """The notes of a table, each behind its mark and wrapped under itself."""
    for mark, text in notes:
        indent = " " * (len(mark) + 1)
        first, *others = wrap(one_line(text), max(20, columns - len(indent)))
        yield paint(f"{mark} {first}", "dim")
        yield from (paint(indent + line, "dim") for line in others)
