"""Amounts of money as people read them, with what is not certain about them.

An amount is exact until here. `$1.20+` is at least so much: some answers have no line that knows their end. `$1.20+?` leaves
something out that has no price, and `?` is all there is to say where nothing has one. Marks are ASCII: where a terminal
cannot show a sign it shows a question mark, and that means something here.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.model.ledger import Budget, UsageRow
    from hansard.model.sessions import Session

_CENT = Decimal("0.01")


def dollars(amount: Decimal | None) -> str:
    """An amount to the cent; what is less is said to be less, what is not known is a question mark."""
    if amount is None:
        return "?"
    if 0 < abs(amount) < _CENT:
        return "<$0.01"
    cents = amount.quantize(_CENT, ROUND_HALF_UP)
    return f"-${-cents:,}" if cents < 0 else f"${cents:,}"


def exact(amount: Decimal) -> str:
    """An amount with all its digits."""
    from hansard.model.serialize import money

    digits = money(amount)
    whole, point, rest = digits.partition(".")
    return f"${int(whole):,}{point}{rest}"


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


def budget_cost(budget: Budget) -> str:
    """What is spent of a limit, with its mark."""
    unpriced = budget.unpriced_messages > 0
    known = None if unpriced and not budget.spent_usd else budget.spent_usd
    return cost(known, lower_bound=budget.lower_bound_messages > 0, unpriced=unpriced)


def session_cost(session: Session) -> str:
    """What a session costs, in words; empty where it asked no model anything."""
    if session.cost_usd is None:
        return "no price known" if session.api_messages else ""
    is_more = session.lower_bound_messages or session.unpriced_models
    return f"{'at least ' if is_more else ''}{dollars(session.cost_usd)}"
