"""Money in a terminal: columns of amounts, budgets, and the words below a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from hansard.model.table import Column, Kind
from hansard.render.format import budget_cost, project_name
from hansard.render.reports import PERIODS, data_words, marked_notes
from hansard.render.terminal.tables import aligned, table
from hansard.render.text import Paint, one_line, wrap

if TYPE_CHECKING:
    from hansard.model.ledger import Budget, PriceData, Pricing, UsageRow
    from hansard.render.format import ProjectNames

_BAR = 12
_STATES = {"ok": "green", "near": "yellow", "over": "red"}
_BUDGETS = (
    Column("BUDGET", least=10),
    Column("", rank=2),
    Column("SPENT", Kind.LABEL, right=True),
    Column("LIMIT", Kind.MONEY),
    Column("", right=True, rank=1),
    Column(""),
)


def bar(share: Decimal | float, columns: int) -> str:
    """How much of something is used up; full only when all of it is."""
    full = min(columns, max(0, int(share * columns)))
    return "█" * full + "░" * (columns - full)


def budget_table(budgets: Sequence[Budget], names: ProjectNames, columns: int, paint: Paint) -> list[str]:
    """Budgets with how much of each is spent, in the colour of its state."""
    spent = aligned([budget_cost(item) for item in budgets])
    rows = [
        (
            PERIODS[item.period] + (f" in {project_name(item.project, names)}" if item.project is not None else ""),
            bar(item.share, _BAR),
            amount,
            item.limit_usd,
            f"{item.share * 100:,.0f} %",
            item.state,
        )
        for item, amount in zip(budgets, spent, strict=True)
    ]
    header, *lines = table(_BUDGETS, rows, columns, Paint(enabled=False))
    return [
        paint(header, "dim"),
        *(paint(line, _STATES.get(item.state, "dim")) for line, item in zip(lines, budgets, strict=True)),
    ]


def footer(data: PriceData, told: Iterable[tuple[str, str]], columns: int, paint: Paint) -> Iterator[str]:
    """What stands below a table of costs: by which prices, and what else is to be told, each with its mark."""
    for sign, text in (("Prices:", data_words(data)), *told):
        indent = " " * (len(sign) + 1)
        first, *others = wrap(one_line(text), max(20, columns - len(indent)))
        yield paint(f"{sign} {first}", "dim")
        yield from (paint(indent + line, "dim") for line in others)


def notes(pricing: Pricing, figure: UsageRow, columns: int, paint: Paint, more: Sequence[str] = ()) -> Iterator[str]:
    """The same below a figure or a report: by which prices, what its marks mean, and `more`."""
    yield from footer(pricing.data, [*marked_notes(pricing, figure), *(("-", text) for text in more)], columns, paint)
