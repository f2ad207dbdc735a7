"""Usage reports and budgets as tables: keys first, then as many figures as the terminal is wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hansard.model.table import Column, Kind, Table
from hansard.render.format import budget_cost, dollars, model_name, project_name
from hansard.render.reports import PERIODS, figures, key_names, report_notes
from hansard.render.terminal.tables import aligned, draw_table, fits, written
from hansard.render.text import Paint, one_line, width

if TYPE_CHECKING:
    from hansard.model.calendar import Zone
    from hansard.model.ledger import Budget, UsageReport, UsageRow
    from hansard.render.format import ProjectNames

_TITLE = 48  # columns of a title that count when deciding whether counts are written in full
_INDENT = "  "
_BRIEF = {Kind.COUNT: Kind.ROUNDED, Kind.LINES: Kind.ROUNDED_LINES}
_STYLES = {"session": "cyan", "commit": "yellow", "subagent": "cyan", "project": "green"}
_TIMES = frozenset({"hour", "day", "week", "month", "block"})
_ABOUT = {"session": ("TITLE", "title"), "subagent": ("TASK", "description"), "commit": ("SUBJECT", "subject")}
_BAR = 12
_STATES = {"ok": "green", "near": "yellow", "over": "red"}
_BUDGETS = (
    Column("BUDGET", least=10),
    Column("", rank=2),
    Column("SPENT", Kind.LABEL, right=True),
    Column("LIMIT", Kind.MONEY),
    Column("", right=True, rank=1),
    Column("FORECAST", Kind.LABEL, right=True, rank=3),
    Column(""),
)


def bar(share: Decimal | float, columns: int) -> str:
    """How much of something is used up; full only when all of it is."""
    full = min(columns, max(0, int(share * columns)))
    return "█" * full + "░" * (columns - full)


def budget_lines(budgets: Sequence[Budget], names: ProjectNames, columns: int, paint: Paint) -> list[str]:
    """Budgets with how much of each is spent, in the colour of its state."""
    spent = aligned([budget_cost(item) for item in budgets])
    rows = [
        (
            PERIODS[item.period] + (f" in {project_name(item.project, names)}" if item.project is not None else ""),
            bar(item.share, _BAR),
            amount,
            item.limit_usd,
            f"{item.share * 100:,.0f} %",
            "" if item.forecast_usd is None else dollars(item.forecast_usd),
            item.state,
        )
        for item, amount in zip(budgets, spent, strict=True)
    ]
    styles = {number: _STATES.get(item.state, "dim") for number, item in enumerate(budgets)}
    return draw_table(Table(_BUDGETS, rows, styles=styles), columns, paint)


def usage_table(
    report: UsageReport, zone: Zone, projects: ProjectNames, columns: int, more: Sequence[str] = ()
) -> Table:
    """A report as a table that fits the terminal, with the breakdown by model below each row if the report has one."""
    heads: list[Column] = []
    cells: list[list[str]] = []
    for name in report.by:
        for column, texts in _keys(name, report.rows, zone, projects) if name != "total" else ():
            heads.append(column)
            cells.append(texts)
    rows: list[UsageRow] = []
    labels: list[list[str]] = []
    styles: dict[int, str] = {}
    blank = [""] * (len(heads) - 1)
    for row, *label in zip(report.rows, *cells, strict=True) if heads else ():
        rows.append(row)
        labels.append(label)
        for part in row.breakdown if "model" not in report.by else ():
            styles[len(rows)] = "dim"
            rows.append(part)
            labels.append([*blank, _INDENT + model_name(part.key["model"] or "(no model)")])
    shown = list(figures([*rows, report.totals]))
    table = Table(
        [
            *(heads or [Column("", Kind.LABEL)]),
            *(replace(figure.column, title=figure.column.title.upper()) for figure in shown),
        ],
        [[*label, *(figure.of(row) for figure in shown)] for label, row in zip(labels, rows, strict=True)],
        ["Total", *blank, *(figure.of(report.totals) for figure in shown)],
        report_notes(report.pricing, report.totals, more),
        styles,
    )
    return replace(table, columns=_fitting(table, max(1, len(heads)), columns))


def _fitting(table: Table, keys: int, columns: int) -> Sequence[Column]:
    """The columns with counts in full if all of them fit, else rounded; in a very narrow terminal any may be left out."""
    texts = written(table)
    full = sum(
        max(width(column.title), *(min(width(row[place]), _TITLE) for row in texts))
        for place, column in enumerate(table.columns)
    )
    if full + 2 * (len(table.columns) - 1) <= columns:
        return table.columns
    brief = [replace(column, kind=_BRIEF.get(column.kind, column.kind)) for column in table.columns]
    if fits(replace(table, columns=brief), columns):
        return brief
    return [
        replace(column, least=4) if place < keys else replace(column, rank=column.rank or column.kind is not Kind.COST)
        for place, column in enumerate(brief)
    ]


def _keys(
    name: str, rows: Sequence[UsageRow], zone: Zone, projects: ProjectNames
) -> Iterator[tuple[Column, list[str]]]:
    """The column of a dimension and, if needed, one that describes it; each with its cells."""
    values = [row.key[name] for row in rows]
    names = key_names(name, {value for value in values if value is not None}, zone, projects)
    cells = [names[value] if value is not None else f"(no {name})" for value in values]
    least = None if name in _TIMES or name in _ABOUT else 16 if name == "project" else 12
    yield Column(name.upper(), Kind.LABEL, least=least, style=_STYLES.get(name)), cells
    if name in _ABOUT:
        title, field = _ABOUT[name]
        words = [one_line((row.about.get(field) or row.about.get("agent_type", ""))[:400]) for row in rows]
        empty = "(untitled)" if name == "session" else ""
        yield Column(title, Kind.LABEL, least=28), [text or empty for text in words]
