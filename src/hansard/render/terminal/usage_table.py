"""Rows of usage as a table: what they are about first, then tokens and money, as many columns as the terminal has room for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.model.table import Column, Kind
from hansard.render.format import model_name
from hansard.render.reports import figures, key_names
from hansard.render.terminal.tables import table, written
from hansard.render.text import Paint, clean, fit, one_line, width

if TYPE_CHECKING:
    from hansard.model.calendar import Zone
    from hansard.model.ledger import UsageReport, UsageRow
    from hansard.render.format import ProjectNames

_TITLE = 48  # columns of a title that decide whether figures are written out
_INDENT = "  "
_BRIEF = {Kind.COUNT: Kind.ROUNDED, Kind.LINES: Kind.ROUNDED_LINES}
_STYLES = {"session": "cyan", "commit": "yellow", "subagent": "cyan", "project": "green"}
_TIMES = frozenset({"hour", "day", "week", "month", "block"})
_ABOUT = {"session": ("TITLE", "title"), "subagent": ("TASK", "description"), "commit": ("SUBJECT", "subject")}


class _Key(Struct, frozen=True):
    """One column of the key, or one with more about it, and what stands in it for each row."""

    column: Column
    cells: list[str]


def usage_table(report: UsageReport, zone: Zone, projects: ProjectNames, columns: int, paint: Paint) -> list[str]:
    """The lines of a report: its rows, below each what it used of every model where that was asked for, and the total."""
    keys = [key for name in report.by if name != "total" for key in _keys(name, report.rows, zone, projects)]
    labels: list[list[str]] = []
    rows: list[UsageRow] = []
    for number, row in enumerate(report.rows if keys else ()):
        labels.append([key.cells[number] for key in keys])
        rows.append(row)
        for part in row.breakdown if "model" not in report.by else ():
            labels.append([*[""] * (len(keys) - 1), _INDENT + model_name(part.key["model"] or "(no model)")])
            rows.append(part)
    labels.append(["Total", *[""] * (len(keys) - 1)])
    rows.append(report.totals)
    head = [key.column for key in keys] or [Column("", Kind.LABEL)]
    lines = _fitted(head, labels, rows, columns, paint)
    parts = {number for number, row in enumerate(rows) if "model" in row.key and "model" not in report.by}
    header, *body, total = [
        paint(clean(line), "dim") if number - 1 in parts else line for number, line in enumerate(lines)
    ]
    if not body:
        return [header, paint(clean(total), "bold")]
    rule = "─" * max(width(clean(line)) for line in lines)
    return [header, *body, paint(rule, "dim"), paint(clean(total), "bold")]


def _fitted(
    head: Sequence[Column], labels: Sequence[list[str]], rows: Sequence[UsageRow], columns: int, paint: Paint
) -> list[str]:
    """The table with figures in full where all of it has room so, else with short ones."""
    shown = list(figures(rows))
    full = [*head, *(figure.column._replace(title=figure.column.title.upper()) for figure in shown)]
    cells = [[*label, *(figure.of(row) for figure in shown)] for label, row in zip(labels, rows, strict=True)]
    texts = written(full, cells)
    needed = sum(
        max(width(column.title), *(min(width(row[place]), _TITLE) for row in texts))
        for place, column in enumerate(full)
    )
    if needed + 2 * (len(full) - 1) <= columns:
        return table(full, cells, columns, paint)
    brief = [column._replace(kind=_BRIEF.get(column.kind, column.kind)) for column in full]
    lines = table(brief, cells, columns, paint)
    if max(width(clean(line)) for line in lines) > columns:
        # Many dimensions in a narrow terminal: a little of each, and the cost.
        crowded = [
            column._replace(least=4)
            if place < len(head)
            else column._replace(rank=column.rank or column.kind is not Kind.COST)
            for place, column in enumerate(brief)
        ]
        lines = [fit(line, columns) for line in table(crowded, cells, columns, Paint(enabled=False))]
    return lines


# -- what rows are about


def _keys(name: str, rows: Sequence[UsageRow], zone: Zone, projects: ProjectNames) -> Iterator[_Key]:
    values = [row.key[name] for row in rows]
    names = key_names(name, {value for value in values if value is not None}, zone, projects)
    cells = [names[value] if value is not None else f"(no {name})" for value in values]
    least = None if name in _TIMES or name in _ABOUT else 16 if name == "project" else 12
    yield _Key(Column(name.upper(), Kind.LABEL, least=least, style=_STYLES.get(name)), cells)
    if name in _ABOUT:
        title, field = _ABOUT[name]
        words = [one_line((row.about.get(field) or row.about.get("agent_type", ""))[:400]) for row in rows]
        yield _Key(
            Column(title, Kind.LABEL, least=28), [text or ("(untitled)" if name == "session" else "") for text in words]
        )
