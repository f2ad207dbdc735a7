"""Rows of usage as a table: what they are about first, then tokens and money, as many columns as the terminal has room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.render.format import dollars, duration, model_name, row_cost, short
from hansard.render.reports import key_names
from hansard.render.terminal.cost_table import aligned
from hansard.render.terminal.tables import Column, table
from hansard.render.text import Paint, clean, fit, one_line, width

if TYPE_CHECKING:
    from hansard.ledger.calendar import Zone
    from hansard.model.ledger import UsageReport, UsageRow

_TITLE = 48  # columns of a title that decide whether figures are written out
_INDENT = "  "
_STYLES = {"session": "cyan", "commit": "yellow", "subagent": "cyan", "project": "green"}
_TIMES = frozenset({"hour", "day", "week", "month", "block"})
_ABOUT = {"session": ("TITLE", "title"), "subagent": ("TASK", "description"), "commit": ("SUBJECT", "subject")}


class _Key(Struct, frozen=True):
    """One column of the key, or one with more about it, and what stands in it for each row."""

    column: Column
    cells: list[str]


def usage_table(report: UsageReport, zone: Zone, columns: int, paint: Paint) -> list[str]:
    """The lines of a report: its rows, below each what it used of every model where that was asked for, and the total."""
    keys = [key for name in report.by if name != "total" for key in _keys(name, report.rows, zone)]
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
    head = [key.column for key in keys] or [Column("")]
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
    full = list(_figures(rows, _full))
    natural = [*head, *(column for column, _ in full)]
    cells = _cells(labels, full)
    needed = sum(
        max(width(column.title), *(min(width(row[place]), _TITLE) for row in cells))
        for place, column in enumerate(natural)
    )
    if needed + 2 * (len(natural) - 1) <= columns:
        return table(natural, cells, columns, paint)
    brief = list(_figures(rows, short))
    cells = _cells(labels, brief)
    lines = table([*head, *(column for column, _ in brief)], cells, columns, paint)
    if max(width(clean(line)) for line in lines) > columns:
        # Many dimensions in a narrow terminal: a little of each, and the cost.
        crowded = [column._replace(least=4) for column in head]
        crowded += [column._replace(rank=column.rank or column.title != "COST") for column, _ in brief]
        lines = [fit(line, columns) for line in table(crowded, cells, columns, Paint(enabled=False))]
    return lines


def _cells(labels: Sequence[list[str]], figures: Sequence[tuple[Column, list[str]]]) -> list[list[str]]:
    return [[*label, *(values[number] for _, values in figures)] for number, label in enumerate(labels)]


def _full(count: int) -> str:
    return f"{count:,}"


def _figures(rows: Sequence[UsageRow], count: Callable[[int], str]) -> Iterator[tuple[Column, list[str]]]:
    """The columns of figures, each with its cells. A terminal of 60 columns has at least output, tokens and cost."""

    def counted(title: str, rank: int, of: Callable[[UsageRow], int]) -> tuple[Column, list[str]]:
        return Column(title, right=True, rank=rank), [count(of(row)) for row in rows]

    yield counted("MESSAGES", 8, lambda row: row.api_messages)
    yield counted("INPUT", 6, lambda row: row.input_tokens)
    yield counted("OUTPUT", 0, lambda row: row.output_tokens)
    yield counted("CACHE WRITE", 7, lambda row: row.cache_write_5m_tokens + row.cache_write_1h_tokens)
    yield counted("CACHE READ", 5, lambda row: row.cache_read_tokens)
    yield counted("TOKENS", 0, lambda row: row.tokens)
    if any(row.web_searches for row in rows):
        yield counted("SEARCHES", 9, lambda row: row.web_searches)
    if any(row.work is not None for row in rows):
        yield from _work(rows, count)
    yield Column("CACHE EXTRA", right=True, rank=12), [dollars(row.cache_extra_usd) for row in rows]
    yield Column("CACHE SAVED", right=True, rank=11), [dollars(row.cache_saved_usd) for row in rows]
    yield Column("COST", right=True), aligned([row_cost(row) for row in rows])


def _work(rows: Sequence[UsageRow], count: Callable[[int], str]) -> Iterator[tuple[Column, list[str]]]:
    works = [row.work for row in rows]
    yield (
        Column("CALLS", right=True, rank=3),
        ["" if work is None else count(work.calls) for work in works],
    )
    yield (
        Column("ERRORS", right=True, rank=4),
        ["" if work is None else count(work.errors) for work in works],
    )
    yield (
        Column("TIME", right=True, rank=4),
        ["" if work is None or not work.duration_ms else duration(work.duration_ms) for work in works],
    )
    yield (
        Column("LINES", right=True, rank=3),
        [
            ""
            if work is None or not work.lines_added + work.lines_removed
            else f"+{count(work.lines_added)} -{count(work.lines_removed)}"
            for work in works
        ],
    )


# -- what rows are about


def _keys(name: str, rows: Sequence[UsageRow], zone: Zone) -> Iterator[_Key]:
    values = [row.key[name] for row in rows]
    names = key_names(name, {value for value in values if value is not None}, zone)
    cells = [names[value] if value is not None else f"(no {name})" for value in values]
    least = None if name in _TIMES or name in _ABOUT else 16 if name == "project" else 12
    yield _Key(Column(name.upper(), least=least, style=_STYLES.get(name)), cells)
    if name in _ABOUT:
        title, field = _ABOUT[name]
        words = [one_line((row.about.get(field) or row.about.get("agent_type", ""))[:400]) for row in rows]
        yield _Key(Column(title, least=28), [text or ("(untitled)" if name == "session" else "") for text in words])
