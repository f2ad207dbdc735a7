"""The functions and temporary tables that SELECTs of views use and the index does not have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hansard.model.ledger import Rate, Tokens
from hansard.pricing.cost import EXACT, ZERO, charge, rates_of, total
from hansard.query.duplicates import find_copies
from hansard.query.prompts import find_counted_prompts

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.query.reader import Reader

_PRICES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_search")
_LARGEST = 1 << 62


class Provider:
    """Gives a reader's connection what SELECTs need, each thing once."""

    def __init__(self, reader: Reader, redact: Redact | None = None) -> None:
        self._reader = reader
        self._redact = redact
        self._done: set[str] = set()

    def provide(self, sql: str) -> None:
        """Provide what this SQL uses."""
        for name, make in (
            ("unit_prices", self._prices),
            ("decimal_sum", self._decimal_sum),
            ("redact(", self._redacting),
            ("copied_calls", self._copied_calls),
            ("counted_prompts", self._counted_prompts),
        ):
            if name in sql and name not in self._done:
                make()
                self._done.add(name)

    def _prices(self) -> None:
        rates = rates_of(self._reader.rows)
        self._fill("unit_prices", f"rate INTEGER PRIMARY KEY, {', '.join(_PRICES)}", _unit_prices(rates))
        self._reader.db.create_scalar_function("usage_cost", _usage_cost(rates), 9, deterministic=True)

    def _decimal_sum(self) -> None:
        self._reader.db.create_aggregate_function("decimal_sum", DecimalSum, 1)  # type: ignore[arg-type]  # it is one

    def _redacting(self) -> None:
        if self._redact is not None:
            self._reader.db.create_scalar_function("redact", _redacting(self._redact), 1, deterministic=True)

    def _copied_calls(self) -> None:
        self._fill("copied_calls", "id INTEGER PRIMARY KEY", ((id_,) for id_ in find_copies(self._reader)))

    def _counted_prompts(self) -> None:
        self._fill("counted_prompts", "id INTEGER PRIMARY KEY", ((id_,) for id_ in find_counted_prompts(self._reader)))

    def _fill(self, table: str, columns: str, rows: Iterator[tuple[Any, ...]]) -> None:
        self._reader.one(f"CREATE TEMP TABLE IF NOT EXISTS {table} ({columns})")
        self._reader.one(f"DELETE FROM temp.{table}")
        values = ", ".join(f"value ->> {place}" for place in range(columns.count(",") + 1))
        self._reader.one(f"INSERT INTO temp.{table} SELECT {values} FROM json_each(?)", (json.dumps(list(rows)),))


def _unit_prices(rates: dict[int, Rate]) -> Iterator[tuple[int | None, ...]]:
    """What one token, or one search, costs in 10**-12 dollars; null if unknown, or no whole number."""
    for number, rate in rates.items():
        prices = [getattr(rate, name) or ZERO for name in _PRICES]
        units = [_whole(price, 9 if name == "web_search" else 6) for name, price in zip(_PRICES, prices, strict=True)]
        if rate.priced_as is None or None in units:
            units = [None] * len(_PRICES)
        yield number, *units


def _whole(price: Decimal, places: int) -> int | None:
    scaled = price.scaleb(places, EXACT)
    return int(scaled) if scaled == scaled.to_integral_value() and abs(scaled) < _LARGEST else None


def _usage_cost(rates: dict[int, Rate]) -> Any:
    def usage_cost(*values: Any) -> str | None:
        rate, has_recorded, recorded, *tokens = values
        cost = charge(rates[rate], Tokens(*tokens), has_recorded=bool(has_recorded), billionths=recorded, mode="auto")
        return None if cost is None else format(cost, "f")

    return usage_cost


def _redacting(redact: Redact) -> Any:
    from functools import lru_cache

    again = lru_cache(maxsize=10_000)(redact)

    def call(value: Any) -> Any:
        return again(value) if isinstance(value, str) else value

    return call


class DecimalSum:
    """The exact sum of decimal numbers, as text or as the numbers that are written so; null if there are none."""

    def __init__(self) -> None:
        self._sum: Decimal | None = None

    def step(self, value: str | float | None) -> None:
        if value is not None:
            self._sum = total((self._sum or ZERO, Decimal(str(value))))

    def final(self) -> str | None:
        return None if self._sum is None else format(self._sum, "f")
