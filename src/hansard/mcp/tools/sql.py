"""`sql`: a SELECT over the public views, for questions that no other tool answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta, field
from msgspec.structs import replace

from hansard.mcp.answer import Answer, Form, one_line
from hansard.mcp.tools import Argument, Ask, Tool
from hansard.model.serialize import plain
from hansard.model.sql import Row, SqlResult, json_value
from hansard.model.store_requests import SqlRequest

DESCRIPTION = """Any other question: a SELECT (SQLite) over sessions, turns, messages, tool_calls, file_changes, prompts, usage (cost_usd), agents, ... Errors list columns. Rows with is_copy repeat others; message_text(transcript, byte_offset) reads one.
Examples: {"query": "SELECT tool, count(*) FROM tool_calls WHERE NOT is_copy GROUP BY 1"}; {"query": "SELECT title FROM sessions WHERE started_at >= $day", "parameters": {"day": "2026-05-01"}}"""

_SECONDS = 10.0
_MEMORY = 512  # MiB
_MOST_BYTES = 16 << 20  # of the rows
_LONGEST_CELL = 2_000  # characters
_LONGEST_ROW = 3_000  # bytes


class SqlRows(SqlRequest, frozen=True, kw_only=True):
    """A query with at most `limit` rows."""

    limit: Annotated[int, Meta(ge=1, le=500, description="Rows")] = 100


class SqlAnswer(Answer):
    """What `sql` gives: the names of the columns, and each row as a quoted JSON array."""

    columns: list[Annotated[str, Form("line", 80)]] = field(default_factory=list)
    rows: tuple[Annotated[str, Form("quoted", _LONGEST_ROW)], ...] = ()


def run(ask: Ask, request: SqlRows) -> SqlAnswer:
    """The first rows of the answer, in which secrets are redacted before the query sees them."""
    packer = ask.packer
    asked = replace(
        request, folder=ask.folder, redact=ask.redact, timeout=_SECONDS, memory=_MEMORY, most_bytes=_MOST_BYTES
    )
    with ask.h.sql(asked) as found:
        rows = found.rows
        answer = packer.begin(SqlAnswer(scope=ask.scope, columns=[column.name for column in found.columns]))
        packer.set_names(answer, "rows", _lines(rows, packer.room * 3 // 4), packer.room)
        return packer.end(answer, [ask.hint, _left(found, len(rows) - len(answer.rows), request.limit)])


def _lines(rows: list[Row], most: int) -> Iterator[str]:
    """Rows as JSON, each cut so that one fits the answer."""
    for row in rows:
        values = [plain(json_value(value)) for value in row]
        is_long = [isinstance(value, str) and len(value) > _LONGEST_CELL for value in values]
        cut = [f"{value[:_LONGEST_CELL]}…" if long else value for value, long in zip(values, is_long, strict=True)]
        yield one_line(msgspec.json.encode(cut).decode(), min(_LONGEST_ROW, most))


def _left(found: SqlResult, left: int, limit: int) -> str:
    if left:
        return f"{left} more rows did not fit: aggregate, select fewer columns, or raise max_tokens."
    return f"Only the first {limit} rows: aggregate, or raise limit." if found.truncated else ""


_TAKES = (Argument("query", longest=8_000), Argument("parameters", "Values of $name"), "limit")
TOOL = Tool("sql", "Ask in SQL", DESCRIPTION, SqlRows, _TAKES, SqlAnswer, run)
