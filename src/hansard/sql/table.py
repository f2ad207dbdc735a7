"""Rows of the public views, read from the index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError
from hansard.model.gate import put_behind_gate
from hansard.model.time import from_milliseconds
from hansard.sql.provided import Provider
from hansard.sql.view import Column, Type
from hansard.sql.views import VIEWS

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
    """A view, or its rows of some sessions, or some of its columns; only what is chosen is computed."""

    def __init__(
        self,
        reader: Reader,
        name: str,
        session_ids: Sequence[str] | None,
        redact: Redact | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.redact = redact
        if self.redact is not None:
            put_behind_gate(self)
        self._reader = reader
        self._session_ids = session_ids
        self._view = VIEWS[name]
        self.name = name
        self.columns = _chosen(self._view.columns, columns)

    def raw(self) -> Iterator[tuple[Any, ...]]:
        """The rows as SQL gives them: times in milliseconds, money as text, booleans as 0 and 1."""
        sql = self._view.sql(of_sessions=self._session_ids is not None, columns=self.columns)
        Provider(self._reader).provide(sql)
        return self._reader.rows(sql, () if self._session_ids is None else (json.dumps(list(self._session_ids)),))

    def rows(self) -> Iterator[list[Any]]:
        """The rows as values: times as times, money as decimals."""
        types = [column.type for column in self.columns]
        for row in self.raw():
            yield [_value(value, kind) for value, kind in zip(row, types, strict=True)]


def _chosen(columns: tuple[Column, ...], names: Sequence[str] | None) -> tuple[Column, ...]:
    if names is None:
        return columns
    known = {column.name: column for column in columns}
    return tuple(known[name] for name in names)


def _value(value: Any, kind: Type) -> Any:
    if value is None:
        return None
    if kind is Type.TIME:
        return from_milliseconds(value)
    if kind is Type.BOOLEAN:
        return bool(value)
    return Decimal(value) if kind is Type.MONEY else value
