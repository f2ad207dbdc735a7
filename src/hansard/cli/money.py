"""Money as people read it: amounts with what is not certain about them, budgets, and the words below a table.

An amount is exact until here. `$1.20+` is at least so much: some answers have no line that knows their end. `$1.20+?` leaves
something out that has no price, and `?` is all there is to say where nothing has one. Marks are ASCII: where a terminal
cannot show a sign it shows a question mark, and that means something here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_DOWN, Decimal
from itertools import zip_longest
from typing import TYPE_CHECKING

from hansard.cli.tables import Column, table
from hansard.cli.terminal import Paint, one_line, wrap
from hansard.cli.words import many, project_name
from hansard.render.money import dollars

if TYPE_CHECKING:
    from hansard.model import Budget, PriceData, Pricing, UsageRow

_CENT = Decimal("0.01")
_BAR = 12
_PERIODS = {"day": "today", "week": "this week", "month": "this month"}
_STATES = {"ok": "green", "near": "yellow", "over": "red"}
_BUDGETS = (
    Column("BUDGET", least=10),
    Column("", rank=2),
    Column("SPENT", right=True),
    Column("LIMIT", right=True),
    Column("", right=True, rank=1),
    Column(""),
)


def cost(amount: Decimal | None, *, lower_bound: bool, unpriced: bool) -> str:
    """An amount with its mark."""
    if amount is None:
        return dollars(amount)
    mark = "+?" if unpriced else "+" if lower_bound else ""
    return dollars(amount.quantize(_CENT, ROUND_DOWN) if mark and amount < _CENT else amount) + mark


def row_cost(row: UsageRow) -> str:
    """What a row costs, with its mark."""
    bounds = row.lower_bound_messages + row.understated_messages > 0
    return cost(row.cost_usd, lower_bound=bounds, unpriced=row.unpriced_messages > 0)


def aligned(costs: Sequence[str]) -> list[str]:
    """Marked amounts for a column: the digits below each other, the marks behind them."""
    widest = max((len(_tail(text)) for text in costs), default=0)
    return [text if text == "?" else text + " " * (widest - len(_tail(text))) for text in costs]


def _tail(text: str) -> str:
    return text[len(text.rstrip("+?")) :] if text != "?" else ""


def bar(share: Decimal | float, columns: int) -> str:
    """How much of something is used up; full only when all of it is."""
    full = min(columns, max(0, int(share * columns)))
    return "█" * full + "░" * (columns - full)


def budget_table(budgets: Sequence[Budget], columns: int, paint: Paint) -> list[str]:
    """Budgets with how much of each is spent, in the colour of its state."""
    spent = aligned([_spent(item) for item in budgets])
    rows = [
        (
            _PERIODS[item.period] + (f" in {project_name(item.project)}" if item.project is not None else ""),
            bar(item.share, _BAR),
            amount,
            dollars(item.limit_usd),
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


def _spent(item: Budget) -> str:
    unpriced = item.unpriced_messages > 0
    known = None if unpriced and not item.spent_usd else item.spent_usd
    return cost(known, lower_bound=item.lower_bound_messages > 0, unpriced=unpriced)


def data_words(data: PriceData) -> str:
    """Where prices come from."""
    words = one_line(f"{data.source} {data.version}".strip())
    words += f", the newest of {one_line(data.dated)}" if data.dated else ""
    words += f", fetched {data.fetched_at:%Y-%m-%d}" if data.fetched_at else ""
    return words + (f", {data.overrides} of your own" if data.overrides else "")


def footer(data: PriceData, told: Iterable[tuple[str, str]], columns: int, paint: Paint) -> Iterator[str]:
    """What stands below a table of costs: by which prices, and what else is to be told, each with its mark."""
    for sign, text in (("Prices:", data_words(data)), *told):
        indent = " " * (len(sign) + 1)
        first, *others = wrap(one_line(text), max(20, columns - len(indent)))
        yield paint(f"{sign} {first}", "dim")
        yield from (paint(indent + line, "dim") for line in others)


def notes(pricing: Pricing, figure: UsageRow, columns: int, paint: Paint, more: Sequence[str] = ()) -> Iterator[str]:
    """The same below a figure or a report: by which prices, what its marks mean, and `more`."""
    # The first notes are about what is marked, in this order.
    marks = ["+"] * bool(figure.lower_bound_messages) + ["?"] * bool(figure.unpriced_messages)
    yield from footer(pricing.data, zip_longest(marks, (*pricing.notes, *more), fillvalue="-"), columns, paint)


def row_notes(rows: Sequence[UsageRow]) -> Iterator[tuple[str, str]]:
    """What is to be told of the marks of these rows."""
    messages = sum(row.api_messages for row in rows)
    if lower := sum(row.lower_bound_messages for row in rows):
        yield "+", f"at least: of {lower:,} of {messages:,} messages the output is a lower bound"
    if unpriced := sum(row.unpriced_messages for row in rows):
        models = sorted({model or "no named model" for row in rows for model in row.unpriced_models})
        yield "?", f"{many(unpriced, 'message')} of {', '.join(models)} without a price, not in the cost"
