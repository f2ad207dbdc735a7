"""SQL: questions that no other endpoint answers."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Struct

from hansard.model.requests import about
from hansard.model.sql import SqlColumn
from hansard.web.api.endpoint import Call, Endpoint
from hansard.web.sql_request import ROWS, SqlParameters, make_request, run


class SqlQuery(SqlParameters, frozen=True, kw_only=True):
    """A query with a limited number of rows."""

    limit: Annotated[int, about("Maximum number of rows.", ge=1, le=10_000)] = ROWS


class SqlAnswer(Struct, frozen=True):
    """The columns with their types, and the rows as objects; `truncated` if there are more."""

    columns: list[SqlColumn]
    rows: list[dict[str, Any]]
    truncated: bool
    engine: str


def _sql(call: Call) -> dict[str, Any]:
    asked: SqlQuery = call.request
    with run(call.h, make_request(asked, asked.limit)) as answer:
        return answer.as_plain()


ENDPOINTS = (
    Endpoint(
        "/api/sql",
        "The answer to a SELECT over the public views, read-only, within limits of time and memory",
        _sql,
        SqlAnswer,
        SqlQuery,
    ),
)
