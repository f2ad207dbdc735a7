"""What sums of tokens cost: at our rates, or as others charge for long prompts."""

from __future__ import annotations

import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hansard.model.ledger import PriceOverride, Rate, Tokens
from hansard.model.time import to_milliseconds
from hansard.pricing.cost import EXACT, cost, rates_of
from hansard.pricing.settle import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import apsw

    from hansard.query.reader import Reader

OVER = 200_000
"""Prompts with more tokens are long, in every price list that makes the distinction."""
# Factors on the usual rate for long prompts, for models that had a window of a million tokens.
_LONGER = {
    "input": Decimal(2),
    "output": Decimal("1.5"),
    "cache_read": Decimal(2),
    "cache_write_5m": Decimal(2),
    "cache_write_1h": Decimal(2),
}
_CLASSES = tuple(_LONGER)
SCALE = 10**9
"""SQL prices are millionths of a dollar for one token or search, times this: integers, so nothing is lost."""
_INSERT = f"INSERT INTO rate VALUES ({','.join('?' * 15)})"


class LineRates:
    """The rates of an index, and those of models that occur only in lines we do not count."""

    def __init__(self, reader: Reader, overrides: Sequence[PriceOverride] = ()) -> None:
        self._overrides = overrides
        self.rates: dict[int, Rate] = rates_of(reader.rows)
        self._home = os.path.dirname(reader.path)

    def attach(self, db: apsw.Connection) -> None:
        """Create a table of rates to join lines with."""
        db.execute(
            "CREATE TABLE rate (id INTEGER PRIMARY KEY, model, tier, speed, geo, since INTEGER, until INTEGER,"
            " above INTEGER, upto INTEGER, input INTEGER, output INTEGER, cache_read INTEGER, write_5m INTEGER,"
            " write_1h INTEGER, searches INTEGER);"
            "CREATE INDEX rate_of ON rate (model, tier, speed, geo)"
        )
        db.executemany(_INSERT, map(_row, self.rates.items()))

    def complete(self, db: apsw.Connection, table: str) -> None:
        """Find rates for what a table names and that have not been looked up yet."""
        new = db.execute(
            f"SELECT DISTINCT model, tier, speed, geo FROM {table} EXCEPT SELECT model, tier, speed, geo FROM rate"
        ).fetchall()
        if not new:
            return
        from hansard.pricing.book import load
        from hansard.pricing.rates import RateKey, resolve

        book = load(self._home)
        for model, tier, speed, geo in new:
            for rate in resolve(book, self._overrides, RateKey(str(model), str(tier), str(speed), str(geo))):
                number = max(self.rates, default=0) + 1
                self.rates[number] = rate
                db.execute(_INSERT, _row((number, rate)))

    def cost(self, number: int, sums: Sequence[int], *, long: str = "whole", longer: bool = False) -> Decimal | None:
        """What sums of tokens cost: five classes, searches, and the part of each class above the limit of a usual prompt."""
        rate = self.rates[number]
        if long != "above":
            return cost(rate, Tokens(*sums[:6]))
        dearer = self._long(rate, longer=longer)
        over = Tokens(*sums[6:])
        within = Tokens(*[whole - above for whole, above in zip(sums[:6], [*sums[6:], 0], strict=True)])
        usual, dear = cost(rate, within), cost(dearer, over)
        return None if usual is None or dear is None else EXACT.add(usual, dear)

    def _long(self, rate: Rate, *, longer: bool) -> Rate:
        """The rate for long prompts that corresponds to this one for short ones."""
        for other in self.rates.values():
            if other.above == OVER and (
                other.model,
                other.service_tier,
                other.speed,
                other.inference_geo,
                other.since,
            ) == (rate.model, rate.service_tier, rate.speed, rate.inference_geo, rate.since):
                return other
        if not longer or not rate.is_priced:
            return rate
        prices: Any = {name: _times(getattr(rate, name), _LONGER[name]) for name in _CLASSES}
        return replace(rate, **prices)

    def of_model(self, model: str, at: datetime | None) -> Rate | None:
        """The rate of a model for usual prompts at a time; if there is none, the newest."""
        found = [rate for rate in self.rates.values() if rate.model == model and rate.above is None]
        for rate in found:
            if at and (rate.since is None or rate.since <= at) and (rate.until is None or at < rate.until):
                return rate
        return found[-1] if found else None


def _times(price: Decimal | None, factor: Decimal) -> Decimal | None:
    return None if price is None else EXACT.multiply(price, factor)


def _row(item: tuple[int, Rate]) -> tuple[Any, ...]:
    number, rate = item
    return (
        number,
        rate.model,
        rate.service_tier,
        rate.speed,
        rate.inference_geo,
        -FOREVER if rate.since is None else to_milliseconds(rate.since),
        FOREVER if rate.until is None else to_milliseconds(rate.until),
        -1 if rate.above is None else rate.above,
        FOREVER if rate.upto is None else rate.upto,
        *(_scaled(getattr(rate, name), 1) for name in _CLASSES),
        _scaled(rate.web_search, 1000),
    )


def _scaled(price: Decimal | None, factor: int) -> int | None:
    return None if price is None else int(price * SCALE * factor)
