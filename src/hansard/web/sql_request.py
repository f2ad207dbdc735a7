"""SQL over HTTP: the parameters of a query, and its answer within limits of time, rows and memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hansard.errors import UsageError
from hansard.lazy_regex import lazy_compile
from hansard.model.requests import about
from hansard.model.store_requests import SQL_ENGINES, SqlRequest
from hansard.sql import QUESTIONS, fill_in
from hansard.web.responses import HttpError

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sql import SqlResult

LONGEST = 6_000
"""Characters of a query: it must fit an address."""
SECONDS = 10.0
ROWS = 1_000
MEMORY = 512  # MiB
_MOST_BYTES = 16 << 20  # of an answer
_AT_ONCE = 2  # queries; other pages need threads of the engine pool too
_running = threading.BoundedSemaphore(_AT_ONCE)
_PARAMETER = lazy_compile(r"'(?:[^']|'')*+'|\"(?:[^\"]|\"\")*+\"|--[^\n]*|/\*.*?\*/|\$([A-Za-z_]\w*)")


class SqlParameters(Struct, frozen=True, kw_only=True):
    """A query or a named question, with the values of its parameters."""

    query: Annotated[str | None, about("One SELECT over the public views.", http="q", longest=LONGEST)] = None
    question: Annotated[str | None, about("A named question instead of a query.", choices=tuple(QUESTIONS))] = None
    parameters: Annotated[
        Mapping[str, str], about("The values of $name in the query, as param[name]=value.", http="param")
    ] = {}
    engine: Annotated[str, about("DuckDB has to be installed.", choices=SQL_ENGINES)] = "sqlite"


def make_request(asked: SqlParameters, limit: int) -> SqlRequest:
    """The query with the limits that every query over HTTP has."""
    if bool(asked.query) == bool(asked.question):
        raise UsageError("give either q, a query, or question, the name of one")
    query, parameters = asked.query or "", dict[str, str | int](asked.parameters)
    if asked.question:
        question = QUESTIONS[asked.question]
        query, parameters = question.sql, fill_in(question, asked.parameters)
    return SqlRequest(
        query=query,
        parameters=parameters,
        engine=asked.engine,
        limit=limit,
        timeout=SECONDS,
        memory=MEMORY,
        most_bytes=_MOST_BYTES,
    )


@contextmanager
def run(h: Hansard, request: SqlRequest) -> Iterator[SqlResult]:
    """The answer with its rows; refuses a query while as many as allowed are running."""
    if not _running.acquire(blocking=False):
        raise HttpError(503, "busy", f"{_AT_ONCE} SQL queries are running already: try again in a moment")
    try:
        with h.sql(request) as answer:
            _ = answer.rows
            yield answer
    finally:
        _running.release()


def parameter_names(query: str) -> list[str]:
    """The names of the parameters in a query, in their order; `$name` in a text or a comment is none."""
    return list(dict.fromkeys(found[1] for found in _PARAMETER.finditer(query) if found[1]))
