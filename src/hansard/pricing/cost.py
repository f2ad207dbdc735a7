"""Exact money: tokens times rates, without a digit lost. Only front ends round."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Context, Decimal, Inexact
from typing import Any

from hansard.model.ledger import PriceData, Rate, Tokens
from hansard.model.time import moment_at

# More digits than any sum of a history can have; a result that would need rounding raises instead.
EXACT = Context(prec=200, traps=[Inexact])
_MILLION = -6
_THOUSAND = -3
_BILLION = -9
ZERO = Decimal(0)


def cost(rate: Rate, tokens: Tokens) -> Decimal | None:
    """What tokens cost at a rate; None where no price is known."""
    charged = parts(rate, tokens)
    return None if charged is None else total(charged.values())


def parts(rate: Rate, tokens: Tokens) -> dict[str, Decimal] | None:
    """What each class of tokens costs at a rate; None where no price is known."""
    if not rate.is_priced:
        return None
    charged = {}
    for name in ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h"):
        charged[name] = times(getattr(tokens, name), getattr(rate, name), _MILLION)
    charged["web_searches"] = times(tokens.web_searches, rate.web_search, _THOUSAND)
    return charged


def cache_effect(rate: Rate, tokens: Tokens) -> tuple[Decimal, Decimal] | None:
    """What cache reads saved, and what cache writes cost more, against plain input; None where no price is known."""
    if rate.input is None or rate.cache_read is None or rate.cache_write_5m is None or rate.cache_write_1h is None:
        return None
    saved = times(tokens.cache_read, EXACT.subtract(rate.input, rate.cache_read), _MILLION)
    extra = EXACT.add(
        times(tokens.cache_write_5m, EXACT.subtract(rate.cache_write_5m, rate.input), _MILLION),
        times(tokens.cache_write_1h, EXACT.subtract(rate.cache_write_1h, rate.input), _MILLION),
    )
    return saved, extra


def recorded(billionths: int) -> Decimal:
    """An amount that a client wrote."""
    return Decimal(billionths).scaleb(_BILLION, EXACT)


def times(count: int, price: Decimal | None, scale: int) -> Decimal:
    """A count of things at a price per 10**-scale of them."""
    return EXACT.multiply(Decimal(count), price or ZERO).scaleb(scale, EXACT)


def total(amounts: Iterable[Decimal]) -> Decimal:
    """The sum of amounts."""
    result = ZERO
    for amount in amounts:
        result = EXACT.add(result, amount)
    return result


_ALWAYS = 1 << 61
_COLUMNS = (
    "id, model, service_tier, speed, inference_geo, since, until, above, upto, priced_as, input, output, cache_read,"
    " cache_write_5m, cache_write_1h, web_search, source, notes"
)


def rates_of(ask: Callable[[str], Iterable[Any]]) -> dict[int, Rate]:
    """All rates of an index, by their number in it."""
    return {row[0]: _rate(row) for row in ask(f"SELECT {_COLUMNS} FROM rates ORDER BY model, since, above, id")}


def _rate(row: Any) -> Rate:
    prices: Any = [None if price is None else Decimal(price) for price in row[10:16]]
    values: Any = (
        *row[1:5],
        None if row[5] < -_ALWAYS else moment_at(row[5]),
        None if row[6] > _ALWAYS else moment_at(row[6]),
        None if row[7] < 0 else row[7],
        None if row[8] > _ALWAYS else row[8],
        row[9],
        *prices,
        row[16],
        tuple(json.loads(row[17])),
    )
    return Rate(*values)


def data_of(ask: Callable[[str], Iterable[Any]]) -> PriceData | None:
    """Where the rates of an index come from; None before any model was met."""
    for (value,) in ask("SELECT value FROM meta WHERE name = 'price_data'"):
        version, dated, fetched_at, overrides = json.loads(value)
        fetched = datetime.fromisoformat(fetched_at) if fetched_at else None
        return PriceData("genai-prices", version, dated, fetched, overrides)
    return None
