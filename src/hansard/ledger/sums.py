"""Adding up: sums of tokens per rate, and the row of a report that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from operator import add, mul
from typing import Any, NamedTuple

from hansard.model.ledger import Rate, Tokens, UsageRow
from hansard.model.time import from_milliseconds
from hansard.pricing.cost import EXACT, cache_effect, cost, parts, recorded

SUMS = (
    "sum(messages), sum(lower_bounds), sum(input), sum(output), sum(cache_read), sum(cache_write_5m), sum(cache_write_1h),"
    " sum(web_searches), sum(recorded), sum(progress_only), min(CASE WHEN first_ts > 0 THEN first_ts END), max(last_ts)"
)
MODES = {
    "auto": "what the client wrote that a message cost, where it did (before 1.0.9), else tokens times rates",
    "calculate": "always tokens times rates",
    "recorded": "only what the client wrote",
}
"""How money is found, by name."""

Key = tuple[int, int]  # rate, has_recorded


class _Units(NamedTuple):
    """Amounts as whole numbers of units of one power of ten."""

    each: tuple[int, ...]
    place: int


_BILLIONTHS = _Units((1,), -9)


class _Money:
    """An exact sum that is kept as a whole number: several times faster than adding decimals."""

    __slots__ = ("_place", "_units")

    def __init__(self) -> None:
        self._units = self._place = 0

    def add(self, counts: Iterable[int], prices: _Units) -> None:
        """Add so many of each at its price."""
        units, place = sum(map(mul, counts, prices.each)), prices.place
        if place < self._place:
            self._units *= 10 ** (self._place - place)
            self._place = place
        self._units += units * 10 ** (place - self._place)

    def exact(self) -> Decimal:
        """The sum."""
        return Decimal(self._units).scaleb(self._place, EXACT)


class _UnitPrices(NamedTuple):
    """What one of each class costs at a rate; None where no price is known."""

    costs: _Units | None
    saves: _Units | None  # one token that was read from the cache
    extra: _Units | None  # one written for 5 minutes, and for an hour


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
    """What some messages add up to, kept apart by rate because money is tokens times rate."""

    __slots__ = ("first", "groups", "last")

    def __init__(self) -> None:
        self.groups: dict[Key, list[int]] = {}
        self.first: int | None = None
        self.last = 0

    def add(self, rate: int, has_recorded: int, numbers: Iterable[Any]) -> None:
        """Take the columns of `SUMS` of one group."""
        *counts, first, last = numbers
        known = self.groups.get((rate, has_recorded))
        if known is None:
            self.groups[rate, has_recorded] = counts
        else:
            known[:] = map(add, known, counts)
        if first is not None and (self.first is None or first < self.first):
            self.first = first
        self.last = max(self.last, last or 0)

    def row(
        self,
        key: dict[str, str | None],
        about: dict[str, str],
        rates: Mapping[int, Rate],
        mode: str,
        breakdown: tuple[UsageRow, ...] = (),
    ) -> UsageRow:
        """The row of a report."""
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
                understated += counts[0] if rate.is_understated else 0
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
    """What a group of messages costs in a mode, a Decimal; None where that is not known."""
    if has_recorded and mode != "calculate":
        return recorded(billionths)
    return None if mode == "recorded" else cost(rate, tokens)
