"""Rates as the index has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from hansard.model.ledger import PriceData, Rate
from hansard.model.time import moment_at

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
