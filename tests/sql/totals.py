"""Totals of usage by a dimension: from a report, and from a query over the view `usage`."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hansard.engine import Hansard
from hansard.model.ledger import UsageReport
from hansard.model.sql import SqlResult
from tests.sql.here import here

KEYS = {
    "day": "substr(CAST(at AS VARCHAR), 1, 10)",
    "month": "substr(CAST(at AS VARCHAR), 1, 7)",
    "model": "nullif(model, '')",
    "project": "nullif(project, '')",
    "session": "nullif(session_id, '')",
}
"""The dimensions, each with its SQL in both engines."""
Totals = dict[Any, tuple[Any, ...]]
_COUNTS = "input_tokens output_tokens cache_read_tokens cache_write_5m_tokens cache_write_1h_tokens".split()


def totals_of(report: UsageReport, by: str) -> Totals:
    """Messages, tokens and cost of each row of a report."""
    return {
        row.key[by]: (row.api_messages, *(getattr(row, name) for name in _COUNTS), row.cost_usd) for row in report.rows
    }


def totals_in_sql(h: Hansard, by: str, engine: str, ask: Callable[..., SqlResult] = here) -> Totals:
    """The same of a query."""
    sums = ", ".join(f"sum({name})" for name in _COUNTS)
    sql = f"SELECT {KEYS[by]}, count(*), {sums}, decimal_sum(cost_usd) FROM usage GROUP BY 1"
    rows = ask(h, sql, engine=engine).rows
    return {key: (*counts, None if cost is None else Decimal(cost)) for key, *counts, cost in rows}
