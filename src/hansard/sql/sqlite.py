"""Queries in SQLite, over the index where it is: the public views are temporary views, and nothing can be written.

A query is first compiled in an empty database that has only tables with the names and columns of the views. So it can name nothing
else, however it is written: neither tables of the index nor files. Only then is it compiled again and run where the views are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

import apsw

from hansard.errors import UsageError
from hansard.model.sql import Row, SqlResult, bounded
from hansard.query.reader import Reader
from hansard.sql.parameters import UNNAMED, check_parameters
from hansard.sql.provided import DecimalSum, Provider
from hansard.sql.view import Column, Type
from hansard.sql.views import VIEWS

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.model.store_requests import SqlRequest
    from hansard.sql.texts import Texts

_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: 64 << 20,  # bytes of a text or a row
    apsw.SQLITE_LIMIT_SQL_LENGTH: 1 << 20,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 200,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    apsw.SQLITE_LIMIT_VDBE_OP: 1_000_000,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,  # matching takes exponential time in the number of wildcards
    apsw.SQLITE_LIMIT_ATTACHED: 0,
}
_TABLE_FUNCTIONS = frozenset({"json_each", "json_tree", "generate_series"})
_FORBIDDEN = frozenset({"load_extension", "fts3_tokenizer", "fts5", "sqlite_log", "readfile", "writefile", "edit"})
_COMPOUND = re.compile(
    r"(?is)'(?:[^']|'')*+(?:'|\Z)|\"(?:[^\"]|\"\")*+(?:\"|\Z)|`[^`]*+(?:`|\Z)|\[[^]]*+(?:\]|\Z)|--[^\n]*+"
    r"|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|\b(union|intersect|except)\b"
)
_ISO = "strftime('%Y-%m-%dT%H:%M:%fZ', ({}) / 1000.0, 'unixepoch')"


def query_sqlite(
    home: str, request: SqlRequest, texts: Texts, redact: Redact | None = None, sessions: frozenset[str] | None = None
) -> SqlResult:
    """Run a query on the index in `home`, over all sessions or some."""
    used, kinds = _compile(request, texts)
    reader = Reader(home)
    db = reader.db
    try:
        _limit(db, request.most_bytes)
        db.execute("BEGIN")
        _create_views(reader, used, redact, sessions)
        _teach(db, texts)
        names: list[str] = []
        rows = _rows(db, request, names, reader.close)
        first = next(rows, None)
    except BaseException:
        reader.close()
        raise
    if not names:
        raise UsageError("the query is empty")
    rest = bounded(rows if first is None else chain([first], rows), request.most_bytes)
    types = [None if kind is None else _NAMES[kind] for kind in kinds]
    return SqlResult("sqlite", names, _typed(rest, names, kinds), types=types, limit=request.limit, close=reader.close)


def view_sql(column: Column, redact: Redact | None) -> str:
    """The SQL of a column in SQLite: times are ISO 8601 in UTC, money is a number that prints like the exact one."""
    if column.type is Type.TIME:
        return _ISO.format(column.sql)
    if column.type is Type.MONEY:
        return f"CAST({column.sql} AS REAL)"
    return f"redact({column.sql})" if redact is not None and column.is_free_text else column.sql


def _compile(request: SqlRequest, texts: Texts) -> tuple[set[str], list[Type | None]]:
    """Compile a query against empty tables; gives the views that it reads, and the types of columns that are a view's as they are."""
    shadow = apsw.Connection(":memory:")
    used: set[str] = set()
    kinds: list[Type | None] = []
    # The types of a compound SELECT are those of its first part alone.
    is_compound = any(found[1] for found in _COMPOUND.finditer(request.query))
    # Tables that are always there; what else has a name here is a view or a common table of the query.
    built_in = {name.lower() for (name,) in shadow.execute("PRAGMA module_list")}

    def authorize(operation: int, one: str | None, two: str | None, *_: str | None) -> int:
        if operation in (apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE):
            return apsw.SQLITE_OK
        if operation == apsw.SQLITE_READ and one in VIEWS:
            used.add(one)
            return apsw.SQLITE_OK
        if operation == apsw.SQLITE_READ and (one in _TABLE_FUNCTIONS or not one):
            return apsw.SQLITE_OK
        if operation == apsw.SQLITE_READ and not two:  # none of its columns, as count(*) does
            name = (one or "").lower()
            is_built_in = name.startswith(("sqlite_", "pragma_")) or name in built_in
            return apsw.SQLITE_DENY if is_built_in else apsw.SQLITE_OK
        if operation == apsw.SQLITE_FUNCTION and two not in _FORBIDDEN:
            return apsw.SQLITE_OK
        return apsw.SQLITE_DENY

    def compiled(cursor: apsw.Cursor, _sql: str, _values: Any) -> bool:
        check_parameters(cursor.bindings_names, request.parameters)
        kinds.extend(None if is_compound or not kind else Type(kind.lower()) for _, kind in cursor.get_description())
        return False  # not run

    try:
        for view in VIEWS.values():
            columns = ", ".join(f'"{column.name}" {column.type}' for column in view.columns)
            shadow.execute(f"CREATE TEMP TABLE {view.name} ({columns})")
        _teach(shadow, texts)
        _limit(shadow)
        shadow.authorizer = authorize
        shadow.exec_trace = compiled
        try:
            shadow.execute(request.query, _Lenient(request.parameters))
        except apsw.ExecTraceAbort:
            pass
        except apsw.BindingsError:
            raise UsageError(UNNAMED) from None
        except apsw.Error as error:
            raise _told(error, request.query) from None
        return used, kinds
    finally:
        shadow.close()


def _create_views(reader: Reader, used: set[str], redact: Redact | None, sessions: frozenset[str] | None) -> None:
    """Create the views that a query reads, and what they need."""
    if sessions is not None:
        reader.db.execute("CREATE TEMP TABLE scope (value TEXT PRIMARY KEY) WITHOUT ROWID")
        reader.db.execute("INSERT INTO temp.scope SELECT value FROM json_each(?)", (json.dumps(sorted(sessions)),))
    made = {
        name: VIEWS[name]
        .sql(of_sessions=sessions is not None, only=True, write=lambda column: view_sql(column, redact))
        .replace("json_each(?1)", "temp.scope")
        for name in sorted(used)
    }
    provider = Provider(reader, redact)
    for sql in made.values():
        provider.provide(sql)  # before there are views with the names of the tables that this reads
    for name, sql in made.items():
        reader.db.execute(f"CREATE TEMP VIEW {name} AS {sql}")


def _teach(db: apsw.Connection, texts: Texts) -> None:
    for name, (function, arguments) in texts.functions().items():
        db.create_scalar_function(name, function, arguments)
    db.create_aggregate_function("decimal_sum", DecimalSum, 1)  # type: ignore[arg-type]  # it is one


def _limit(db: apsw.Connection, most_bytes: int | None = None) -> None:
    for name, value in _LIMITS.items():
        db.limit(name, value)
    if most_bytes is not None:
        db.limit(apsw.SQLITE_LIMIT_LENGTH, min(most_bytes, _LIMITS[apsw.SQLITE_LIMIT_LENGTH]))


def _rows(db: apsw.Connection, request: SqlRequest, names: list[str], close: Callable[[], None]) -> Iterator[Row]:
    cursor = db.cursor()

    def describe(cursor: apsw.Cursor, _sql: str, _values: Any) -> bool:
        if names:
            raise UsageError("only one statement can be run at a time")
        names.extend(name for name, *_ in cursor.get_description())
        return True

    cursor.exec_trace = describe
    try:
        yield from cursor.execute(request.query, dict(request.parameters), can_cache=False)
    except apsw.NoMemError:
        raise MemoryError from None
    except apsw.Error as error:
        raise _told(error, request.query) from None
    finally:
        close()


class _Lenient(dict[str, Any]):
    """Parameters without those that are missing, which are checked with their names."""

    def __missing__(self, name: str) -> None:
        return None


# -- values of columns that are a view's: the types that views promise


def _time(value: str) -> datetime | None:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None  # not in the years 1 to 9999


def _typed(rows: Iterator[Row], names: Sequence[str], kinds: Sequence[Type | None]) -> Iterator[Row]:
    changes: list[tuple[int, Callable[[Any], Any]]] = []
    for place, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if kind in _VALUES:
            changes.append((place, _VALUES[kind]))
        elif kind is None and "_usd" in name:
            changes.append((place, _without_noise))
    if not changes:
        return rows
    return (_changed(row, changes) for row in rows)


def _changed(row: Row, changes: Sequence[tuple[int, Callable[[Any], Any]]]) -> Row:
    values = list(row)
    for place, change in changes:
        if values[place] is not None:
            values[place] = change(values[place])
    return tuple(values)


def _without_noise(value: Any) -> Any:
    """A computed amount with the digits that a floating-point number has for certain."""
    return float(f"{value:.15g}") if isinstance(value, float) else value


_VALUES: dict[Type | None, Callable[[Any], Any]] = {
    Type.TIME: _time,
    Type.BOOLEAN: bool,
    Type.MONEY: lambda value: Decimal(repr(value)),
}
_NAMES = {
    Type.TEXT: "text",
    Type.INTEGER: "integer",
    Type.BOOLEAN: "boolean",
    Type.TIME: "time",
    Type.MONEY: "decimal",
}


def _told(error: apsw.Error, query: str) -> UsageError:
    """SQLite's error, with the place it names."""
    if isinstance(error, apsw.AuthError):
        return UsageError(f"{error}: a query can only read the views", "; `hansard sql --schema` lists them")
    message = str(error)
    offset = getattr(error, "error_offset", -1)
    if offset is not None and 0 <= offset < len(query.encode()):
        before = query.encode()[:offset].decode("utf-8", "replace")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        message += f" (line {line}, column {column})"
    if message.startswith("no such table"):
        message += f"; the views are {', '.join(sorted(VIEWS))}"
    elif message.startswith("no such column"):
        words = set(re.findall(r"\w+", query.lower()))
        for view in VIEWS.values():
            if view.name in words:
                message += f"; {view.name} has {', '.join(column.name for column in view.columns)}"
    return UsageError(message)
