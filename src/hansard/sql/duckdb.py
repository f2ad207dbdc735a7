"""Queries in DuckDB: it reads the public views from the index as Arrow batches, and only what a query needs of them.

A view is read when a query scans it: the columns that it names, and of the rows those that pass simple conditions (comparisons of ids,
names, numbers and times). All scans of a query see one state of the index.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

from hansard.errors import HansardError, UsageError
from hansard.lazy_regex import lazy_compile
from hansard.model.arrow import NO_DOWNLOADS
from hansard.model.arrow import duckdb as load_duckdb
from hansard.model.sql import Row, SqlResult, bounded
from hansard.model.time import to_milliseconds
from hansard.query.reader import Reader
from hansard.sql.arrow import BATCH, FIRST, LAST, Stream, schema_of
from hansard.sql.parameters import check_parameters
from hansard.sql.provided import Provider
from hansard.sql.view import OF_SESSIONS, Column, Type, View
from hansard.sql.views import VIEWS

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.model.store_requests import SqlRequest
    from hansard.sql.texts import Texts

_ALLOWED = ("SELECT", "EXPLAIN", "MULTI")  # MULTI: PIVOT is rewritten into several
_FETCH = 2_000  # rows
_KINDS = {
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
    "DOUBLE": "real",
    "FLOAT": "real",
    "BLOB": "bytes",
    "DATE": "text",
    '"NULL"': "null",
}
_AT = lazy_compile(rb"(?i)at\b(?!\s*(\(|time\s+zone\b))")
_MOST_VALUES = 1_000
_OPERATORS = frozenset({"=", "!=", "<", "<=", ">", ">="})


def query_duckdb(
    home: str, request: SqlRequest, texts: Texts, redact: Redact | None = None, sessions: frozenset[str] | None = None
) -> SqlResult:
    """Run a query on the index in `home`, over all sessions or some."""
    duckdb = load_duckdb()
    db = duckdb.connect(":memory:", config=settings(request))
    source = Source(home, redact, sessions)

    def close() -> None:
        db.close()
        source.close()

    try:
        statement = _only(duckdb, db, request.query)
        check_parameters(sorted(statement.named_parameters), request.parameters)
        for name in VIEWS:
            db.register(name, source.scan_of(VIEWS[name]))
        _teach(duckdb, db, request.query, texts)
        with _told(duckdb, source):
            db.execute(statement, dict(request.parameters) or None)
        names = [name for name, *_ in db.description]
        kinds = [_kind(str(kind)) for _, kind, *_ in db.description]
        rows = bounded(_rows(duckdb, db, source, kinds), request.most_bytes)
        return SqlResult("duckdb", names, rows, types=kinds, limit=request.limit, close=close)
    except BaseException:
        close()
        raise


def settings(request: SqlRequest) -> dict[str, Any]:
    """How DuckDB is opened: without access to anything outside, unless that is allowed, and with limits nobody can change."""
    return {
        "enable_external_access": "true" if request.allow_external else "false",
        **NO_DOWNLOADS,
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",  # no variables of this program
        "memory_limit": f"{request.memory}MB",
        "temp_directory": "",
        "lock_configuration": "true",
    }


class Source:
    """The views as one state of the index has them; scans share a connection, one at a time."""

    def __init__(self, home: str, redact: Redact | None, sessions: frozenset[str] | None = None) -> None:
        self._reader = Reader(home)
        self._sessions = sessions
        self._redact = redact
        self._provider = Provider(self._reader, redact)
        self._lock = threading.Lock()
        self._is_closed = False
        self.error: Exception | None = None  # of a scan, which DuckDB reports in other words
        self._reader.one("BEGIN")

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._reader.close()

    def scan_of(self, view: View) -> object:
        """An object that DuckDB reads a view from."""
        try:
            from duckdb._sources.arrow import ArrowScanSource
        except ImportError:  # another release: it reads all columns and rows
            return Stream(view.columns, lambda: self.rows(view, view.columns))
        return _make_scan(ArrowScanSource)(self, view)

    def rows(self, view: View, columns: Sequence[Column], filters: Sequence[Any] = ()) -> Iterator[Row]:
        """The values of some columns, of the rows that pass all filters."""
        conditions = [condition for condition in (_condition(view, item) for item in filters) if condition is not None]
        sessions = next(filter(None, (_sessions(view, item) for item in filters)), None)
        if self._sessions is not None:
            sessions = sorted(self._sessions if sessions is None else self._sessions.intersection(sessions))
        known = {column.name for column in columns}
        needed = [*columns, *(column for column in view.columns if column.name not in known and conditions)]
        sql = view.sql(
            of_sessions=sessions is not None, only=self._sessions is not None, columns=needed, write=self._written
        )
        values: list[Any] = [] if sessions is None else [_json(sessions)]
        if conditions:
            names = ", ".join(f'"{column.name}"' for column in columns) or "NULL"
            sql = f"SELECT {names} FROM ({sql}) WHERE {' AND '.join(condition[0] for condition in conditions)}"
            values += [value for condition in conditions for value in condition[1]]
        try:
            with self._lock:
                self._provider.provide(sql)
                rows = self._reader.rows(sql, tuple(values))
            while True:
                with self._lock:
                    if self._is_closed:
                        return
                    some = list(islice(rows, BATCH))
                yield from some
                if len(some) < BATCH:
                    return
        except Exception as error:
            self.error = error
            raise

    def _written(self, column: Column) -> str:
        return f"redact({column.sql})" if self._redact is not None and column.is_free_text else column.sql


def _make_scan(base: Any) -> Callable[[Source, View], object]:
    class Scan(base):  # type: ignore[misc]  # DuckDB has no types for it
        """A view that is asked for the columns and rows a query needs."""

        schema_is_stable = True

        def __init__(self, source: Source, view: View) -> None:
            super().__init__(view)
            self._source = source

        def __arrow_c_schema__(self) -> object:
            return schema_of(self.obj.columns).__arrow_c_schema__()

        def accepts(self, predicate: Any) -> bool:
            return _condition(self.obj, predicate) is not None

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            # DuckDB takes an object for a source because it has this method, but calls the next one.
            del requested_schema
            return self.stream(None, ())[0]

        def stream(self, columns: Sequence[int] | None, filters: Sequence[Any]) -> tuple[object, bool]:
            view: View = self.obj
            chosen = view.columns if columns is None else [view.columns[place] for place in columns]
            rows = Stream(chosen, lambda: self._source.rows(view, chosen, filters))
            return rows.__arrow_c_stream__(), columns is not None

    return Scan


# -- conditions that SQLite evaluates exactly as DuckDB would


def _condition(view: View, node: Any) -> tuple[str, list[Any]] | None:
    """A predicate of DuckDB as SQL for SQLite and its values; None if DuckDB has to evaluate it."""
    try:
        found = _translated(view, node)
    except RecursionError:
        return None
    return found if found is not None and len(found[1]) <= _MOST_VALUES else None


def _translated(view: View, node: Any) -> tuple[str, list[Any]] | None:
    kind = type(node).__name__
    if kind == "Binary" and node.op in ("AND", "OR"):
        left, right = _translated(view, node.left), _translated(view, node.right)
        if left is None or right is None:
            return None
        return f"({left[0]} {node.op} {right[0]})", left[1] + right[1]
    if kind == "Binary" and node.op in _OPERATORS:
        return _compared(view, node.left, [node.right], f"{node.op} ?")
    if kind == "In":
        return _compared(view, node.operand, node.values, f"IN ({', '.join('?' * len(node.values))})")
    return None


def _compared(view: View, node: Any, literals: list[Any], sql: str) -> tuple[str, list[Any]] | None:
    column = _column(view, node)
    values = [] if column is None else [_literal(column, item) for item in literals]
    if column is None or None in values:
        return None
    # A time that Arrow cannot express is null there.
    bounds = f' AND "{column.name}" BETWEEN {FIRST} AND {LAST}' if column.type is Type.TIME else ""
    return f'("{column.name}" {sql}{bounds})', values


def _column(view: View, node: Any) -> Column | None:
    parts = getattr(node, "parts", ())
    return next((column for column in view.columns if parts == (column.name,)), None)


def _literal(column: Column, node: Any) -> Any:
    """The value that SQLite compares a column with; None if the two might compare differently."""
    value = getattr(node, "value", None)
    if column.type is Type.TEXT and isinstance(value, str):
        return value
    if column.type is Type.BOOLEAN and isinstance(value, bool):
        return int(value)
    if column.type is Type.INTEGER and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62:
        return value
    if column.type is Type.TIME and isinstance(value, datetime) and value.microsecond % 1000 == 0:
        return to_milliseconds(value if value.tzinfo is not None else value.replace(tzinfo=UTC))
    return None


def _sessions(view: View, node: Any) -> list[str] | None:
    """The sessions that a predicate restricts a view to; reading just these is faster than filtering."""
    if view.condition != OF_SESSIONS:
        return None
    kind = type(node).__name__
    if kind == "Binary" and node.op == "=" and getattr(node.left, "parts", ()) == ("session_id",):
        return [node.right.value] if isinstance(node.right.value, str) else None
    if kind == "In" and getattr(node.operand, "parts", ()) == ("session_id",):
        return [item.value for item in node.values]
    return None


def _json(values: list[str]) -> str:
    import json

    return json.dumps(values)


# -- the query


def _only(duckdb: Any, db: Any, query: str) -> Any:
    """The one statement of a query; it must read."""
    try:
        statements = db.extract_statements(quote_at(duckdb, query))
    except duckdb.Error as error:
        raise UsageError(_message(error)) from None
    if not statements:
        raise UsageError("the query is empty")
    if len(statements) > 1:
        raise UsageError("only one statement can be run at a time")
    kind = str(statements[0].type).rpartition(".")[2]
    if kind not in _ALLOWED:
        raise UsageError(f"not allowed: {kind}. A query can only read the views", "; `hansard sql --schema` lists them")
    return statements[0]


def quote_at(duckdb: Any, query: str) -> str:
    """The query with quotes around the columns called `at`, a word that DuckDB reserves for `AT TIME ZONE`."""
    data = query.encode()
    for start, kind in reversed(duckdb.tokenize(query)):
        if str(kind).endswith("keyword") and _AT.match(data, start):
            data = b'%b"at"%b' % (data[:start], data[start + 2 :])
    return data.decode()


def _teach(duckdb: Any, db: Any, query: str, texts: Texts) -> None:
    """Add the functions that SQLite has too; those that read the record only if the query names them: they need numpy."""
    db.execute("CREATE TEMP MACRO decimal_sum(amount) AS sum(amount)").fetchall()  # exact here
    types = duckdb.sqltypes
    for name, (function, arguments) in texts.functions().items():
        if f"{name}(" in query.lower().replace(" ", ""):
            try:
                db.create_function(name, function, [types.BIGINT] * arguments, types.VARCHAR, null_handling="special")
            except duckdb.InvalidInputException as error:
                raise UsageError(f"{name}() in DuckDB needs numpy; add it with: pip install 'hansard[sql]'") from error


@contextlib.contextmanager
def _told(duckdb: Any, source: Source) -> Iterator[None]:
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise MemoryError from error
    except duckdb.Error as error:
        if isinstance(source.error, (HansardError, MemoryError)):
            raise source.error from None
        raise UsageError(_message(error)) from None


def _message(error: Exception) -> str:
    """DuckDB's message, without the name of the class that it begins with."""
    text = str(error).strip()
    head, colon, rest = text.partition(" Error: ")
    text = rest if colon and " " not in head.replace(" ", "", 2) else text
    if "Permission Error" in str(error) or "disabled by configuration" in text:
        text += "\nQueries have no access to files and the network; --allow-external gives it to them."
    return text


def _rows(duckdb: Any, db: Any, source: Source, kinds: list[str]) -> Iterator[Row]:
    has_others = any(kind in ("text", "time", "json") for kind in kinds)
    while True:
        with _told(duckdb, source):
            some = db.fetchmany(_FETCH)
        if not some:
            return
        if has_others:
            yield from (tuple(map(_plain, row)) for row in some)
        else:
            yield from some


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value
    if value is None or isinstance(value, (str, int, float, Decimal, bytes)):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (list, dict, tuple)):
        import json

        return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)


def _kind(name: str) -> str:
    if name in _KINDS:
        return _KINDS[name]
    if name.startswith("DECIMAL"):
        return "decimal"
    if name.endswith("INT") or name == "INTEGER":
        return "integer"
    return "time" if name.startswith("TIMESTAMP") else "text"
