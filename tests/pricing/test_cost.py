"""Money is exact: compared with fractions, in any order."""

from __future__ import annotations

from decimal import Decimal, Inexact
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hansard.model.ledger import Rate, Tokens
from hansard.pricing.cost import EXACT, cache_effect, cost, parts, recorded, times, total


def priced(prices: tuple[Decimal, ...]) -> Rate:
    given: Any = ("m", "", "", "", None, None, None, None, "m", *prices, "test")
    return Rate(*given)


PRICE = st.decimals(0, 10_000, places=9, allow_nan=False, allow_infinity=False)
COUNT = st.integers(0, 1 << 62)  # more than any sum of a history
TOKENS = st.builds(Tokens, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT)
RATE = st.builds(lambda *prices: priced(prices), PRICE, PRICE, PRICE, PRICE, PRICE, PRICE)
UNPRICED = Rate("m", "", "", "", None, None, None, None, None, None, None, None, None, None, None, "test")


# How long it takes says something about the machine, not about money.
at_leisure = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def fraction(amount: Decimal | None) -> Fraction:
    assert amount is not None
    assert amount.is_finite()
    return Fraction(amount)


def slowly(rate: Rate, tokens: Tokens) -> Fraction:
    per_million = sum(
        (fraction(getattr(rate, name)) * int(getattr(tokens, name)))
        for name in ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
    )
    assert isinstance(per_million, Fraction)
    return per_million / 10**6 + fraction(rate.web_search) * tokens.web_searches / 1000


@at_leisure
@given(RATE, TOKENS)
def test_cost_is_tokens_times_rate(rate: Rate, tokens: Tokens) -> None:
    assert fraction(cost(rate, tokens)) == slowly(rate, tokens)
    charged = parts(rate, tokens)
    assert charged is not None
    assert fraction(total(charged.values())) == slowly(rate, tokens)


@at_leisure
@given(RATE, TOKENS)
def test_what_caching_saved_and_cost(rate: Rate, tokens: Tokens) -> None:
    effect = cache_effect(rate, tokens)
    assert effect is not None
    plain = Tokens(tokens.input + tokens.cache_read, tokens.output, 0, 0, 0, tokens.web_searches)
    assert slowly(rate, plain) - slowly(
        rate, Tokens(tokens.input, tokens.output, tokens.cache_read, 0, 0, tokens.web_searches)
    ) == fraction(effect[0])
    written = Tokens(0, 0, 0, tokens.cache_write_5m, tokens.cache_write_1h, 0)
    as_input = Tokens(tokens.cache_write_5m + tokens.cache_write_1h)
    assert slowly(rate, written) - slowly(rate, as_input) == fraction(effect[1])


@at_leisure
@given(RATE, st.lists(TOKENS, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_a_sum_does_not_matter(rate: Rate, many: list[Tokens], dice: Any) -> None:
    amounts = [cost(rate, tokens) or Decimal(0) for tokens in many]
    expected = total(amounts)
    dice.shuffle(amounts)
    assert total(amounts) == expected
    together = Tokens()
    for tokens in many:
        together += tokens
    assert cost(rate, together) == expected


def test_nothing_is_ever_rounded() -> None:
    with pytest.raises(Inexact):
        EXACT.divide(Decimal(1), Decimal(3))
    with pytest.raises(Inexact):
        EXACT.add(Decimal("1e300"), Decimal("1e-300"))
    assert times(1, Decimal("1E-30"), -6) == Decimal("1E-36")


def test_what_has_no_price_costs_none_and_not_nothing() -> None:
    assert cost(UNPRICED, Tokens(1, 2, 3, 4, 5, 6)) is None
    assert cost(UNPRICED, Tokens()) is None
    assert cache_effect(UNPRICED, Tokens(1)) is None
    assert parts(UNPRICED, Tokens(1)) is None


def test_recorded_amounts() -> None:
    assert recorded(0) == 0
    assert str(recorded(1)) == "1E-9"
    assert recorded(1_234_567_890) == Decimal("1.23456789")
    assert fraction(recorded((1 << 63) - 1)) == Fraction((1 << 63) - 1, 10**9)
