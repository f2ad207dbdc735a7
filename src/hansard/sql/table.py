"""Rows of the public views, read from the index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError
from hansard.model.gate import put_behind_gate
from hansard.model.ledger import Tokens
from hansard.model.time import from_milliseconds
from hansard.pricing.cost import ZERO, charge, rates_of, total
from hansard.query.duplicates import find_copies
from hansard.query.prompts import find_counted_prompts
from hansard.sql.views import VIEWS, Type

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.query.reader import Reader


def choose(names: Sequence[str]) -> list[str]:
    """The views of these names, each once; raises when there is no such view."""
    for name in names:
        if name not in VIEWS:
            raise UsageError(f"unknown table {name!r}; choose from {', '.join(sorted(VIEWS))}")
    return list(dict.fromkeys(names))


class Table:
    """A view, or its rows of some sessions."""

    def __init__(
        self, reader: Reader, name: str, session_ids: Sequence[str] | None, redact: Redact | None = None
    ) -> None:
        self.redact = redact
        if self.redact is not None:
            put_behind_gate(self)
        self._reader = reader
        self._session_ids = session_ids
        self._view = VIEWS[name]
        self.name = name
        self.columns = self._view.columns

    def raw(self) -> Iterator[tuple[Any, ...]]:
        """The rows as SQL gives them: times in milliseconds, money as text, booleans as 0 and 1."""
        sql = self._view.sql(of_sessions=self._session_ids is not None)
        _provide(self._reader, sql)
        return self._reader.rows(sql, () if self._session_ids is None else (json.dumps(list(self._session_ids)),))

    def rows(self) -> Iterator[list[Any]]:
        """The rows as values: times as times, money as decimals."""
        types = [column.type for column in self.columns]
        for row in self.raw():
            yield [_value(value, kind) for value, kind in zip(row, types, strict=True)]


def _value(value: Any, kind: Type) -> Any:
    if value is None:
        return None
    if kind is Type.TIME:
        return from_milliseconds(value)
    if kind is Type.BOOLEAN:
        return bool(value)
    return Decimal(value) if kind is Type.MONEY else value


def _provide(reader: Reader, sql: str) -> None:
    """Give the connection what a view's SELECT uses and the index does not have."""
    if "usage_cost(" in sql:
        rates = rates_of(reader.rows)

        def usage_cost(*values: Any) -> str | None:
            rate, has_recorded, recorded, *tokens = values
            cost = charge(
                rates[rate], Tokens(*tokens), has_recorded=bool(has_recorded), billionths=recorded, mode="auto"
            )
            return None if cost is None else format(cost, "f")

        reader.db.create_scalar_function("usage_cost", usage_cost, 9, deterministic=True)
    if "decimal_sum(" in sql:
        reader.db.create_aggregate_function("decimal_sum", _DecimalSum, 1)  # type: ignore[arg-type]  # it is one
    for table, find in (("copied_calls", find_copies), ("counted_prompts", find_counted_prompts)):
        if table in sql:
            reader.one(f"CREATE TEMP TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY)")
            reader.one(f"DELETE FROM temp.{table}")
            reader.one(f"INSERT INTO temp.{table} SELECT value FROM json_each(?)", (json.dumps(list(find(reader))),))


class _DecimalSum:
    """The exact sum of decimal numbers stored as text, or null if there are none."""

    def __init__(self) -> None:
        self._sum: Decimal | None = None

    def step(self, value: str | None) -> None:
        if value is not None:
            self._sum = total((self._sum or ZERO, Decimal(value)))

    def final(self) -> str | None:
        return None if self._sum is None else format(self._sum, "f")
