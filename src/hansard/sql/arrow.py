"""Rows of the public views as Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from hansard.model.arrow import DIGITS, MONEY_PLACES, arro3
from hansard.sql.view import Column, Type

BATCH = 32_768  # rows
FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999, in ms


def schema_of(columns: Sequence[Column]) -> Any:
    """The Arrow schema of some columns: times are timestamps without a zone, in UTC; money is a decimal."""
    core = arro3()
    types = _types(core)
    return core.Schema([core.Field(column.name, types[column.type]) for column in columns])


def batches(rows: Iterable[Sequence[Any]], columns: Sequence[Column], size: int = BATCH) -> Iterator[Any]:
    """Record batches of rows as `Table.raw` gives them."""
    core = arro3()
    types, schema = _types(core), schema_of(columns)
    waiting = iter(rows)
    while some := list(islice(waiting, size)):
        cells = zip(*some, strict=True)
        arrays = [_array(core, types, column.type, list(values)) for column, values in zip(columns, cells, strict=True)]
        yield core.RecordBatch(arrays, schema=schema)


class Stream:
    """Rows that any Arrow library reads (PyCapsule interface), each time from the beginning."""

    def __init__(self, columns: Sequence[Column], read: Callable[[], Iterable[Sequence[Any]]]) -> None:
        self._columns = columns
        self._read = read
        self.error: Exception | None = None  # while rows were read; a library reports it in its own words

    def __arrow_c_schema__(self) -> object:
        return schema_of(self._columns).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        del requested_schema
        return arro3().RecordBatchReader.from_batches(schema_of(self._columns), self._batches()).__arrow_c_stream__()

    def _batches(self) -> Iterator[Any]:
        try:
            yield from batches(self._read(), self._columns)
        except Exception as error:
            self.error = error
            raise


def _types(core: Any) -> dict[Type, Any]:
    types = core.DataType
    return {
        Type.TEXT: types.string(),
        Type.INTEGER: types.int64(),
        Type.BOOLEAN: types.bool(),
        Type.TIME: types.timestamp("us"),
        Type.MONEY: types.decimal128(DIGITS, MONEY_PLACES),
    }


def _array(core: Any, types: dict[Type, Any], kind: Type, values: list[Any]) -> Any:
    if kind is Type.INTEGER or kind is Type.TEXT:
        return core.Array(values, type=types[kind])
    if kind is Type.MONEY:
        return core.Array(values, type=types[Type.TEXT]).cast(types[kind])
    if kind is Type.TIME:
        values = [value * 1000 if value is not None and FIRST <= value <= LAST else None for value in values]
    return core.Array(values, type=types[Type.INTEGER]).cast(types[kind])
