"""Answers to SQL queries as tables."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hansard.model.serialize import plain
from hansard.model.sql import json_value
from hansard.model.table import Column, Kind, Table

if TYPE_CHECKING:
    from hansard.model.sql import SqlResult

_NUMBERS = frozenset({"integer", "real", "decimal"})
_LEAST = 12  # columns of a text that may be cut


def result_table(answer: SqlResult) -> Table:
    """The rows with the values written as SQL has them: no thousands separators, nothing rounded."""
    columns = [
        Column(column.name, Kind.TEXT, least=_LEAST if column.type == "text" else None, right=column.type in _NUMBERS)
        for column in answer.columns
    ]
    return Table(columns, [[cell_text(value) for value in row] for row in answer.rows])


def cell_text(value: Any) -> str | None:
    """A value as text; None for null."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value.normalize():f}" if value else "0"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(json_value(plain(value)))
