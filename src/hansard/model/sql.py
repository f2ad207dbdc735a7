"""Answers of `hansard sql`: rows with the names and types of their columns."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct

from hansard.errors import UsageError

if TYPE_CHECKING:
    from types import TracebackType

Row = tuple[Any, ...]
_INT64 = 1 << 63
_SAMPLE = 1000  # rows that decide the types of columns where the engine does not


class SqlColumn(Struct, frozen=True):
    """A column of an answer; its type is text, integer, real, decimal, boolean, time, bytes or null."""

    name: str
    type: str


class SqlResult:
    """The answer to a query: its columns, and rows that are computed while they are read.

    Iterate over it once, or ask for `rows`, `to_arrow()`, `to_pandas()` or `to_polars()`. Close it, or use it in a `with`; reading it to
    its end closes it too.
    """

    def __init__(
        self,
        engine: str,
        names: Sequence[str],
        rows: Iterator[Row],
        *,
        types: Sequence[str | None] | None = None,
        limit: int | None = None,
        close: Callable[[], object] = lambda: None,
    ) -> None:
        self.engine = engine
        self.truncated = False  # known when the rows have been read
        self._close = close
        self._limit = limit
        known = types or [None] * len(names)
        self._head = self._sample(rows, limit) if None in known else []
        self._rest = rows
        self._rows: list[Row] | None = None
        self._is_begun = False
        self._stream: Any = None
        sample = _columns(self._head, len(names))
        found = [kind or _type_of(cells) for kind, cells in zip(known, sample, strict=True)]
        self.columns = tuple(map(SqlColumn, _distinct(names), found))

    def _sample(self, rows: Iterator[Row], limit: int | None) -> list[Row]:
        try:
            return list(islice(rows, _SAMPLE if limit is None else min(_SAMPLE, limit + 1)))
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the query."""
        self._close()

    def __iter__(self) -> Iterator[Row]:
        """The rows, at most the limit."""
        if self._rows is not None:
            yield from self._rows
            return
        if self._is_begun:
            raise UsageError("these rows have been read already; `rows` keeps them for several readers")
        self._is_begun = True
        with contextlib.closing(self):
            for number, row in enumerate(self._all()):
                if self._limit is not None and number >= self._limit:
                    self.truncated = True
                    return
                yield row

    def _all(self) -> Iterator[Row]:
        yield from self._head
        self._head = []
        yield from self._rest

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        if self._rows is None:
            self._rows = list(self)
        return self._rows

    def as_plain(self) -> dict[str, Any]:
        """The answer as it is in JSON: rows are objects."""
        names = [column.name for column in self.columns]
        rows = [dict(zip(names, map(json_value, row), strict=True)) for row in self.rows]
        return {"columns": self.columns, "rows": rows, "truncated": self.truncated, "engine": self.engine}

    def __arrow_c_schema__(self) -> object:
        """The types of the columns in Arrow (PyCapsule interface)."""
        return self._arrow().schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream (PyCapsule interface), which pyarrow, polars, pandas and DuckDB read while they are computed."""
        return self._arrow().__arrow_c_stream__(requested_schema)

    def _arrow(self) -> Any:
        if self._rows is not None:
            return self.to_arrow()
        from hansard.model.arrow import stream_of

        self._stream = self._stream or stream_of(self.columns, self)
        return self._stream

    def to_arrow(self) -> Any:
        """The rows as an `arro3.core.Table`; `pyarrow.table()` takes it without a copy."""
        from hansard.model.arrow import table_of

        return table_of(self.columns, self.rows)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        pd = _library("pandas")
        cells = _columns(self.rows, len(self.columns))
        return pd.DataFrame(
            {
                column.name: pd.Series(list(values), dtype=_pandas_type(column.type, values))
                for column, values in zip(self.columns, cells, strict=True)
            }
        )

    def to_polars(self) -> Any:
        """The rows as a polars DataFrame."""
        pl = _library("polars")
        return pl.DataFrame(self.to_arrow())


def _library(name: str) -> Any:
    """An optional library that gets the rows."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(f"{name} is not installed; add it with: pip install {name}") from error


def _pandas_type(kind: str, values: tuple[Any, ...]) -> str | None:
    """The type of a column in pandas; only object keeps decimals and integers of any size as they are."""
    if kind == "integer" and all(value is None or -_INT64 <= value < _INT64 for value in values):
        return "Int64" if None in values else "int64"
    has_null = {"time": "datetime64[us, UTC]", "boolean": "boolean" if None in values else "bool", "real": "float64"}
    return has_null.get(kind, "object")


def json_value(value: Any) -> Any:
    """A value as `model.serialize` writes it; bytes become hexadecimal digits."""
    return value.hex() if isinstance(value, bytes) else value


def _columns(rows: Sequence[Row], count: int) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * count


def bounded(rows: Iterator[Row], most_bytes: int | None) -> Iterator[Row]:
    """The rows, until their texts come to more than this."""
    if most_bytes is None:
        return rows
    return _bounded(rows, most_bytes)


def _bounded(rows: Iterator[Row], most_bytes: int) -> Iterator[Row]:
    taken = 0
    for row in rows:
        taken += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if taken > most_bytes:
            raise UsageError(f"the answer is larger than {most_bytes >> 20} MiB: select less")
        yield row


_NAMES: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "real",
    Decimal: "decimal",
    datetime: "time",
    str: "text",
    bytes: "bytes",
}


def _type_of(values: Sequence[Any]) -> str:
    """The type of a column whose engine has none: that of its values, text if they differ."""
    found = {_NAMES.get(type(value), "text") for value in values if value is not None}
    if found == {"integer", "real"}:
        return "real"
    return found.pop() if len(found) == 1 else "text" if found else "null"


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, with a number after those that are there already."""
    found: dict[str, None] = {}
    for name in names:
        number, distinct = 1, name
        while distinct in found:
            number, distinct = number + 1, f"{name}_{number}"
        found[distinct] = None
    return list(found)
