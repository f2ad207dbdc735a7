"""Tables as HTML: typed cells as text, links where cells have them, totals in the foot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from hansard.model.table import Column, Link, Table
from hansard.render.cells import NAMELESS, cell
from hansard.render.format import ProjectNames
from hansard.render.html.escaping import escaped


class SortLink(NamedTuple):
    """The link of a heading that sorts by its column, and the present order by it."""

    href: str
    order: str | None = None  # ascending, descending


def draw_table(
    table: Table, css: str, sort: Callable[[str], SortLink] | None = None, names: ProjectNames = NAMELESS
) -> Markup:
    """A table; `sort` gives the link of a column that can be sorted by, projects are called by their `names`."""
    heads = "".join(_head(column, sort(column.sort) if sort and column.sort else None) for column in table.columns)
    rows = "".join(f"<tr>{''.join(_cells(table.columns, row, names))}</tr>" for row in table.rows)
    foot = ""
    if table.totals is not None:
        first, *others = table.totals
        span = len(table.columns) - len(others)
        cells = "".join(_cells(table.columns[span:], others, names))
        foot = f'<tfoot><tr><td colspan="{span}">{_content(first, table.columns[0], names)}</td>{cells}</tr></tfoot>'
    drawn = f'<table class="{css}"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>{foot}</table>'
    return Markup(drawn)  # noqa: S704 - every text in it went through escaped()


def _head(column: Column, sort: SortLink | None) -> str:
    title = escaped(column.title)
    if sort is not None:
        title = f'<a href="{escaped(sort.href)}">{title}</a>'
    css = f"number {column.css}" if column.is_right else ""
    order = sort.order if sort is not None else None
    return f'<th scope="col"{_attributes(("class", css), ("aria-sort", order), ("title", column.about))}>{title}</th>'


def _cells(columns: Sequence[Column], row: Sequence[Any], names: ProjectNames) -> Iterator[str]:
    for place, (column, value) in enumerate(zip(columns, row, strict=True)):
        css = f"number {column.css}" if column.is_right else column.css
        title = value.title if isinstance(value, Link) else ""
        # All figures of a row have the same link: only the last one is reached by Tab.
        is_stop = not column.is_right or place == len(columns) - 1
        content = _content(value, column, names, is_stop=is_stop)
        yield f"<td{_attributes(('class', css), ('title', title))}>{content}</td>"


def _content(value: Any, column: Column, names: ProjectNames, *, is_stop: bool = True) -> str:
    link = value if isinstance(value, Link) else Link(value)
    text = escaped(cell(link.value, column.kind, names))
    if link.href is not None and text:
        stop = "" if is_stop else ' tabindex="-1"'
        text = f'<a href="{escaped(link.href)}"{stop}>{text}</a>'
    return f"{text} <small>{escaped(link.more)}</small>" if link.more else text


def _attributes(*given: tuple[str, str | None]) -> str:
    return "".join(f' {name}="{escaped(value.strip())}"' for name, value in given if value)
