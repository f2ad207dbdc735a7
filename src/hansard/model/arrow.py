"""Values as Arrow arrays, by arro3: a small library whose arrays DuckDB, polars, pandas and pyarrow read without a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.model.sql import Row, SqlColumn

BATCH = 8_192  # rows
DIGITS, MONEY_PLACES = 38, 18
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT64 = 1 << 63
_CLASSES = {"boolean": bool, "time": datetime, "bytes": bytes}
_MICROSECOND = timedelta(microseconds=1)


def arro3() -> Any:
    """The module `arro3.core`; raises where it is not installed."""
    try:
        import arro3.core
    except ImportError as error:
        raise _missing("arro3-core") from error
    return arro3.core


def duckdb() -> Any:
    """The module `duckdb`; raises where it, or the arrays that it reads, are not installed."""
    arro3()
    try:
        return import_module("duckdb")
    except ImportError as error:
        raise _missing("DuckDB") from error


def must_have_duckdb() -> None:
    """Raise where DuckDB is not installed, without importing it."""
    for name, package in (("arro3-core", "arro3"), ("DuckDB", "duckdb")):
        if find_spec(package) is None:
            raise _missing(name)


def _missing(name: str) -> UsageError:
    return UsageError(f"{name} is not installed; add it with: pip install 'hansard[sql]'")


NO_DOWNLOADS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Settings with which DuckDB fetches nothing."""


def table_of(columns: Sequence[SqlColumn], rows: Sequence[Row]) -> Any:
    """Rows of plain values as an Arrow table."""
    core = arro3()
    cells = list(map(list, zip(*rows, strict=True))) if rows else [[] for _ in columns]
    forms = [_form_of(column.type, values) for column, values in zip(columns, cells, strict=True)]
    arrays = [_array(core, form, values) for form, values in zip(forms, cells, strict=True)]
    return core.Table.from_arrays(arrays, schema=_schema(core, columns, forms))


def stream_of(
    columns: Sequence[SqlColumn],
    rows: Iterable[Row],
    zone: str | None = "UTC",
    failed: Callable[[Exception], None] = lambda _: None,
) -> Any:
    """Rows as an Arrow stream, read while they are computed; the first of them decide the types of columns that may have several.

    `failed` gets an error before the library that reads them does, which reports it in its own words.
    """
    core = arro3()
    waiting = iter(rows)
    first = list(islice(waiting, BATCH))
    cells = zip(*first, strict=True) if first else [()] * len(columns)
    forms = [_form_of(column.type, list(values)) for column, values in zip(columns, cells, strict=True)]
    schema = _schema(core, columns, forms, zone)

    def batches() -> Iterator[Any]:
        some = first
        try:
            while some:
                arrays = [
                    _checked_array(core, column, form, list(values), zone)
                    for column, form, values in zip(columns, forms, zip(*some, strict=True), strict=True)
                ]
                yield core.RecordBatch(arrays, schema=schema)
                some = list(islice(waiting, BATCH))
        except Exception as error:
            failed(error)
            raise

    return core.RecordBatchReader.from_batches(schema, batches())


class _Form(NamedTuple):
    """How the values of a column are written in Arrow."""

    kind: str
    places: int = 0  # of decimals


def _form_of(kind: str, values: list[Any]) -> _Form:
    """The form that all of these values fit."""
    for form in (_Form(kind, MONEY_PLACES), _Form(kind, _places(values)), _Form("decimal")):
        if all(value is None or _fits(form, value) for value in values):
            return form
    return _Form("text")


def _places(values: Iterable[Any]) -> int:
    exponents = (
        -int(value.as_tuple().exponent) for value in values if isinstance(value, Decimal) and value.is_finite()
    )
    return max(0, *exponents, 0)


def _fits(form: _Form, value: Any) -> bool:
    kind = type(value)
    if form.kind == "decimal":
        if kind not in (Decimal, int):
            return False
        number = Decimal(value)
        if not number.is_finite():
            return False
        _, digits, exponent = number.as_tuple()
        left = len(digits) + int(exponent)
        return -int(exponent) <= form.places <= DIGITS and left + form.places <= DIGITS
    if form.kind == "integer":
        return kind is int and -_INT64 <= value < _INT64
    if form.kind == "real":
        return kind is float or kind is int
    return form.kind not in _CLASSES or kind is _CLASSES[form.kind]


def _checked_array(core: Any, column: SqlColumn, form: _Form, values: list[Any], zone: str | None) -> Any:
    if not all(value is None or _fits(form, value) for value in values):
        raise UsageError(f"column {column.name} holds values of several types: CAST it to one of them")
    return _array(core, form, values, zone)


def _schema(core: Any, columns: Sequence[SqlColumn], forms: Sequence[_Form], zone: str | None = "UTC") -> Any:
    return core.Schema(
        [core.Field(column.name, _type(core, form, zone)) for column, form in zip(columns, forms, strict=True)]
    )


def _type(core: Any, form: _Form, zone: str | None) -> Any:
    types = core.DataType
    if form.kind == "decimal":
        return types.decimal128(DIGITS, form.places)
    if form.kind == "time":
        return types.timestamp("us", tz=zone) if zone else types.timestamp("us")
    made = {"integer": types.int64, "real": types.float64, "boolean": types.bool, "bytes": types.binary}
    return made.get(form.kind, types.string)()


def _array(core: Any, form: _Form, values: list[Any], zone: str | None = "UTC") -> Any:
    kind, types = _type(core, form, zone), core.DataType
    if form.kind == "decimal":
        texts = [None if value is None else format(Decimal(value), "f") for value in values]
        return core.Array(texts, type=types.string()).cast(kind)
    if form.kind == "time":
        ticks = [None if value is None else (value - _EPOCH) // _MICROSECOND for value in values]
        return core.Array(ticks, type=types.int64()).cast(kind)
    if form.kind == "real":
        values = [None if value is None else float(value) for value in values]
    elif form.kind not in ("integer", "boolean", "bytes"):
        values = [None if value is None else str(value) for value in values]
    return core.Array(values, type=kind)
