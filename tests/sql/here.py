"""Queries in the process of the tests, without the start of another one for each."""

from __future__ import annotations

from typing import Any

from hansard.engine import Hansard
from hansard.model.sql import SqlResult
from hansard.model.store_requests import SqlRequest
from hansard.sql.query import query


def here(h: Hansard, sql: str, engine: str = "sqlite", **values: Any) -> SqlResult:
    """The answer of `h.sql`, computed here; `test_process.py` is about the process that computes it otherwise."""
    request = SqlRequest(query=sql, engine=engine, **values)
    return query(h.home, h.reader, lambda: h.record, request, h.redact)
