"""Values as Arrow arrays, by arro3: a small library whose arrays DuckDB, polars, pandas and pyarrow read without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.model.sql import Row, SqlColumn

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WIDEST = 10**38
_MICROSECOND = timedelta(microseconds=1)


def arro3() -> Any:
    """The module `arro3.core`; raises where it is not installed."""
    try:
        import arro3.core
    except ImportError as error:
        raise UsageError(
            "Arrow needs arro3-core, which is not installed; add it with: pip install 'hansard[sql]'"
        ) from error
    return arro3.core


def table_of(columns: Sequence[SqlColumn], rows: Sequence[Row]) -> Any:
    """Rows of plain values as an Arrow table."""
    core = arro3()
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    arrays = [_array(core, column.type, list(cells)) for column, cells in zip(columns, values, strict=True)]
    fields = [core.Field(column.name, array.type) for column, array in zip(columns, arrays, strict=True)]
    return core.Table.from_arrays(arrays, schema=core.Schema(fields))


def _array(core: Any, kind: str, values: list[Any]) -> Any:
    types = core.DataType
    if kind == "integer":
        try:
            return core.Array(values, type=types.int64())
        except OverflowError:
            if all(value is None or abs(value) < _WIDEST for value in values):
                return _decimals(core, values, 0)
            kind = "text"
    if kind == "decimal":
        places = max((-int(value.as_tuple().exponent) for value in values if value is not None), default=0)
        return _decimals(core, values, max(0, places))
    if kind == "time":
        ticks = [None if value is None else _microseconds(value) for value in values]
        return core.Array(ticks, type=types.int64()).cast(types.timestamp("us"))
    if kind == "real":
        return core.Array([None if value is None else float(value) for value in values], type=types.float64())
    if kind == "boolean":
        return core.Array(values, type=types.bool())
    if kind == "bytes":
        return core.Array(values, type=types.binary())
    return core.Array([None if value is None else str(value) for value in values], type=types.string())


def _decimals(core: Any, values: list[Any], places: int) -> Any:
    texts = [None if value is None else format(Decimal(value), "f") for value in values]
    return core.Array(texts, type=core.DataType.string()).cast(core.DataType.decimal128(38, min(places, 38)))


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
