"""Tables as HTML: typed cells as text, links where cells have them, headings among the rows, totals in the foot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from hansard.model.table import Column, Kind, Link, Table
from hansard.render.cells import NAMELESS, cell
from hansard.render.format import ProjectNames
from hansard.render.html.escaping import escaped

_HIDES = frozenset({"wide-only", "not-narrow"})
"""CSS classes that hide a column on narrow screens."""


class SortLink(NamedTuple):
    """The link of a heading that sorts by its column, and the present order by it."""

    href: str
    order: str | None = None  # ascending, descending


def draw_table(
    table: Table,
    css: str,
    sort: Callable[[str], SortLink] | None = None,
    names: ProjectNames = NAMELESS,
    *,
    with_header: bool = True,
) -> Markup:
    """A table; `sort` gives the link of a column that can be sorted by, projects are called by their `names`.

    Without a header, it is there for screen readers only.
    """
    heads = "".join(_head(column, sort(column.sort) if sort and column.sort else None) for column in table.columns)
    unseen = "" if with_header else ' class="unseen"'
    bodies = "".join(_bodies(table, names))
    foot = ""
    if table.totals is not None:
        first, *others = table.totals
        span = len(table.columns) - len(others)
        cells = "".join(_cells(table.columns[span:], others, names))
        foot = f'<tfoot><tr><td colspan="{span}">{_content(first, table.columns[0], names)}</td>{cells}</tr></tfoot>'
    drawn = f'<table class="{css}"><thead{unseen}><tr>{heads}</tr></thead>{bodies}{foot}</table>'
    return Markup(drawn)  # noqa: S704 - every text in it went through escaped()


def _head(column: Column, sort: SortLink | None) -> str:
    title = escaped(column.title)
    if sort is not None:
        title = f'<a href="{escaped(sort.href)}">{title}</a>'
    css = f"number {column.css}" if column.is_right else " ".join(word for word in column.css.split() if word in _HIDES)
    order = sort.order if sort is not None else None
    return f'<th scope="col"{_attributes(("class", css), ("aria-sort", order), ("title", column.about))}>{title}</th>'


def _bodies(table: Table, names: ProjectNames) -> Iterator[str]:
    """The rows, those below each heading in a group of their own."""
    starts = [0, *sorted(number for number in table.headings if number)]
    for start, end in zip(starts, [*starts[1:], len(table.rows)], strict=True):
        heading = ""
        if start in table.headings:
            content = _content(table.headings[start], Column(""), names)
            heading = f'<tr class="group"><th scope="rowgroup" colspan="{len(table.columns)}">{content}</th></tr>'
        rows = "".join(f"<tr>{''.join(_cells(table.columns, row, names))}</tr>" for row in table.rows[start:end])
        yield f"<tbody>{heading}{rows}</tbody>"


def _cells(columns: Sequence[Column], row: Sequence[Any], names: ProjectNames) -> Iterator[str]:
    for place, (column, value) in enumerate(zip(columns, row, strict=True)):
        if isinstance(value, list):
            yield f"<td{_attributes(('class', column.css))}>{', '.join(_content(one, column, names) for one in value)}</td>"
            continue
        link = value if isinstance(value, Link) else Link(value)
        css = f"number {column.css} {link.css}" if column.is_right else f"{column.css} {link.css}"
        # All figures of a row have the same link: only the last one is reached by Tab.
        is_stop = not column.is_right or place == len(columns) - 1
        content = _content(link, column, names, is_stop=is_stop)
        yield f"<td{_attributes(('class', css), ('title', link.title))}>{content}</td>"


def _content(value: Any, column: Column, names: ProjectNames, *, is_stop: bool = True) -> str:
    link = value if isinstance(value, Link) else Link(value)
    text = escaped(cell(link.value, column.kind, names))
    if column.kind is Kind.LINES and link.value:
        text = _lines(*link.value)
    elif column.kind is Kind.SHARE and link.value is not None:
        text = f'{_bar(link.value)}<span class="unseen">{text}</span>'
    if link.href is not None and text:
        stop = "" if is_stop else ' tabindex="-1"'
        text = f'<a href="{escaped(link.href)}"{stop}>{text}</a>'
    icon = f'<i class="icon icon-{link.icon}" aria-hidden="true"></i>' if link.icon else ""
    return f"{icon}{text} <small>{escaped(link.more)}</small>" if link.more else icon + text


def _bar(share: float) -> str:
    bar = f'<rect class="s1" width="{100 * share:.2f}%" height="8" rx="2"/>'
    return f'<svg class="chart" height="8" aria-hidden="true">{bar}</svg>'


def _lines(added: int, removed: int) -> str:
    minus = f' <span class="minus">&minus;{removed:,}</span>' if removed else ""
    return f'<span class="plus">+{added:,}</span>{minus}' if added or not removed else minus.strip()


def _attributes(*given: tuple[str, str | None]) -> str:
    return "".join(f' {name}="{escaped(value.strip())}"' for name, value in given if value and value.strip())
