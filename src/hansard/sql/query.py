"""A query over the public views, in the engine that it asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hansard.errors import UsageError
from hansard.model.store_requests import SQL_ENGINES
from hansard.query.sessions import in_folder
from hansard.sql.texts import Texts

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.model.sql import SqlResult
    from hansard.model.store_requests import SqlRequest
    from hansard.query.reader import Reader
    from hansard.record.store import Record


def query(
    home: str, reader: Reader, record: Callable[[], Record], request: SqlRequest, redact: Redact | None = None
) -> SqlResult:
    """Run a query; with `redact`, what it reads is redacted before it sees it, and with a folder it sees nothing outside."""
    if request.engine not in SQL_ENGINES:
        raise UsageError(f"unknown engine {request.engine!r}; choose one of {', '.join(SQL_ENGINES)}")
    sessions = None if request.folder is None else _sessions_in(reader, request.folder)
    texts = Texts(reader, record, redact, sessions)
    if request.engine == "duckdb":
        from hansard.sql.duckdb import query_duckdb

        return query_duckdb(home, request, texts, redact, sessions)
    if request.allow_external:
        raise UsageError("SQLite cannot read other files; use --engine duckdb with --allow-external")
    from hansard.sql.sqlite import query_sqlite

    return query_sqlite(home, request, texts, redact, sessions)


def _sessions_in(reader: Reader, folder: str) -> frozenset[str]:
    """The ids of the sessions of projects in a folder."""
    inside, values = in_folder(folder)
    return frozenset(id_ for (id_,) in reader.rows(f"SELECT session_id FROM sessions WHERE {inside}", values))
