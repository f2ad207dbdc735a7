"""Amounts of money as people read them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

_CENT = Decimal("0.01")


def dollars(amount: Decimal | None) -> str:
    """An amount to the cent; what is less is said to be less, what is not known is a question mark."""
    if amount is None:
        return "?"
    if 0 < abs(amount) < _CENT:
        return "<$0.01"
    cents = amount.quantize(_CENT, ROUND_HALF_UP)
    return f"-${-cents:,}" if cents < 0 else f"${cents:,}"
