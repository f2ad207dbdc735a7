"""Exact money: tokens times rates, and their sums as report rows, without losing a digit. Only front ends round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Context, Decimal, Inexact
from functools import lru_cache
from operator import add, mul
from typing import Any

import msgspec

from hansard.model.ledger import PriceData, Rate, Tokens, UsageRow
from hansard.model.time import from_milliseconds, moment_at

# More digits than any sum of a history can have; a result that would need rounding raises instead.
EXACT = Context(prec=200, traps=[Inexact])
_MILLION = -6
_THOUSAND = -3
_BILLION = -9
ZERO = Decimal(0)


def cost(rate: Rate, tokens: Tokens) -> Decimal | None:
    """What tokens cost at a rate; None if no price is known."""
    charged = parts(rate, tokens)
    return None if charged is None else total(charged.values())


def parts(rate: Rate, tokens: Tokens) -> dict[str, Decimal] | None:
    """What each class of tokens costs at a rate; None if no price is known."""
    if rate.priced_as is None:
        return None
    charged = {}
    for name in ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h"):
        charged[name] = times(getattr(tokens, name), getattr(rate, name), _MILLION)
    charged["web_searches"] = times(tokens.web_searches, rate.web_search, _THOUSAND)
    return charged


def _is_understated(rate: Rate) -> bool:
    """Whether messages requested a more expensive rate that is unknown."""
    return any(note.endswith("at the standard rate") for note in rate.notes)


def cache_effect(rate: Rate, tokens: Tokens) -> tuple[Decimal, Decimal] | None:
    """What cache reads saved, and what cache writes cost extra, compared to plain input; None if no price is known."""
    if rate.input is None or rate.cache_read is None or rate.cache_write_5m is None or rate.cache_write_1h is None:
        return None
    saved = times(tokens.cache_read, EXACT.subtract(rate.input, rate.cache_read), _MILLION)
    extra = EXACT.add(
        times(tokens.cache_write_5m, EXACT.subtract(rate.cache_write_5m, rate.input), _MILLION),
        times(tokens.cache_write_1h, EXACT.subtract(rate.cache_write_1h, rate.input), _MILLION),
    )
    return saved, extra


def recorded(billionths: int) -> Decimal:
    """An amount that a client recorded."""
    return Decimal(billionths).scaleb(_BILLION, EXACT)


def times(count: int, price: Decimal | None, scale: int) -> Decimal:
    """The cost of `count` items at a price per 10**-scale of them."""
    return EXACT.multiply(Decimal(count), price or ZERO).scaleb(scale, EXACT)


def total(amounts: Iterable[Decimal]) -> Decimal:
    result = ZERO
    for amount in amounts:
        result = EXACT.add(result, amount)
    return result


_ALWAYS = 1 << 61
RATE_COLUMNS = (
    "model, service_tier, speed, inference_geo, since, until, above, upto, priced_as, input, output, cache_read,"
    " cache_write_5m, cache_write_1h, web_search, source, notes"
)
_RATE_ORDER = (
    "model, since, above, service_tier, speed, inference_geo, until, upto"  # not by id: a rebuild gives others
)


def rates_of(ask: Callable[[str], Iterable[Any]]) -> dict[int, Rate]:
    """All rates of an index, by their number."""
    return {row[0]: _rate(row) for row in ask(f"SELECT id, {RATE_COLUMNS} FROM rates ORDER BY {_RATE_ORDER}")}


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
        tuple(msgspec.json.decode(row[17])),
    )
    return Rate(*values)


def data_of(ask: Callable[[str], Iterable[Any]]) -> PriceData | None:
    """Where the rates of an index come from; None before any model was seen."""
    for (value,) in ask("SELECT value FROM meta WHERE name = 'price_data'"):
        version, dated, fetched_at, overrides = msgspec.json.decode(value)
        fetched = datetime.fromisoformat(fetched_at) if fetched_at else None
        return PriceData("genai-prices", version, dated, fetched, overrides)
    return None


SUMS = (
    "sum(messages), sum(lower_bounds), sum(input), sum(output), sum(cache_read), sum(cache_write_5m), sum(cache_write_1h),"
    " sum(web_searches), sum(recorded), sum(progress_only), min(CASE WHEN first_ts > 0 THEN first_ts END), max(last_ts)"
)
Key = tuple[int, int]  # rate, has_recorded


class _Units(msgspec.Struct, frozen=True):
    """Amounts as integers, in units of one power of ten."""

    each: tuple[int, ...]
    place: int


_BILLIONTHS = _Units((1,), -9)


class _Money:
    """An exact sum kept as an integer: several times faster than adding decimals."""

    __slots__ = ("_place", "_units")

    def __init__(self) -> None:
        self._units = self._place = 0

    def add(self, counts: Iterable[int], prices: _Units) -> None:
        units, place = sum(map(mul, counts, prices.each)), prices.place
        if place < self._place:
            self._units *= 10 ** (self._place - place)
            self._place = place
        self._units += units * 10 ** (place - self._place)

    def exact(self) -> Decimal:
        return Decimal(self._units).scaleb(self._place, EXACT)


class _UnitPrices(msgspec.Struct, frozen=True):
    """What one of each class costs at a rate; None if no price is known."""

    costs: _Units | None
    saves: _Units | None  # one token read from the cache
    extra: _Units | None  # one token written for 5 minutes, and for an hour


@lru_cache(maxsize=512)
def _unit_prices(rate: Rate) -> _UnitPrices:
    costs = parts(rate, Tokens(1, 1, 1, 1, 1, 1))
    read = cache_effect(rate, Tokens(cache_read=1))
    writes = [cache_effect(rate, Tokens(cache_write_5m=1)), cache_effect(rate, Tokens(cache_write_1h=1))]
    return _UnitPrices(
        _units(costs.values()) if costs else None,
        _units([read[0]]) if read else None,
        _units([effect[1] for effect in writes if effect]) if read else None,
    )


def _units(amounts: Iterable[Decimal]) -> _Units:
    amounts = list(amounts)
    places: list[Any] = [amount.as_tuple().exponent for amount in amounts]
    return _Units(tuple(int(amount.scaleb(-min(places), EXACT)) for amount in amounts), min(places))


class Sums:
    """Sums over some messages, kept separate by rate because money is tokens times rate."""

    __slots__ = ("first", "groups", "last")

    def __init__(self) -> None:
        self.groups: dict[Key, list[int]] = {}
        self.first: int | None = None
        self.last = 0

    def add(self, rate: int, has_recorded: int, numbers: Iterable[Any]) -> None:
        """Add the `SUMS` columns of one group."""
        *counts, first, last = numbers
        known = self.groups.get((rate, has_recorded))
        if known is None:
            self.groups[rate, has_recorded] = counts
        else:
            known[:] = map(add, known, counts)
        if first is not None and (self.first is None or first < self.first):
            self.first = first
        self.last = max(self.last, last or 0)

    def merge(self, other: Sums) -> None:
        """Add the sums of other messages."""
        for (rate, has_recorded), counts in other.groups.items():
            self.add(rate, has_recorded, (*counts, other.first, other.last))

    def row(
        self,
        key: dict[str, str | None],
        about: dict[str, str],
        rates: Mapping[int, Rate],
        mode: str,
        breakdown: tuple[UsageRow, ...] = (),
    ) -> UsageRow:
        totals = [0] * 10
        unpriced = taken = understated = 0
        amount, saved, extra = _Money(), _Money(), _Money()
        is_priced = False
        missing: set[str] = set()
        for (number, has_recorded), counts in self.groups.items():
            rate = rates[number]
            totals = list(map(add, totals, counts))
            prices = _unit_prices(rate)
            if has_recorded and mode != "calculate":
                amount.add(counts[8:9], _BILLIONTHS)
                taken += counts[0]
            elif prices.costs is None or mode == "recorded":
                unpriced += counts[0]
                missing.add(rate.model)
                continue
            else:
                amount.add(counts[2:8], prices.costs)
                understated += counts[0] if _is_understated(rate) else 0
            is_priced = True
            if prices.saves is not None and prices.extra is not None:
                saved.add(counts[4:5], prices.saves)
                extra.add(counts[5:7], prices.extra)
        is_known = is_priced or not self.groups
        return UsageRow(
            key=key,
            about=about,
            input_tokens=totals[2],
            output_tokens=totals[3],
            cache_read_tokens=totals[4],
            cache_write_5m_tokens=totals[5],
            cache_write_1h_tokens=totals[6],
            web_searches=totals[7],
            api_messages=totals[0],
            lower_bound_messages=totals[1],
            unpriced_messages=unpriced,
            recorded_messages=taken,
            understated_messages=understated,
            progress_only_messages=totals[9],
            cost_usd=amount.exact() if is_known else None,
            cache_saved_usd=saved.exact() if is_known else None,
            cache_extra_usd=extra.exact() if is_known else None,
            unpriced_models=tuple(sorted(missing)),
            first_at=from_milliseconds(self.first),
            last_at=from_milliseconds(self.last or None),
            breakdown=breakdown,
        )


def charge(rate: Rate, tokens: Tokens, *, has_recorded: bool, billionths: int, mode: str) -> Any:
    """What a group of messages costs in a mode, as a Decimal; None if unknown."""
    if has_recorded and mode != "calculate":
        return recorded(billionths)
    return None if mode == "recorded" else cost(rate, tokens)
