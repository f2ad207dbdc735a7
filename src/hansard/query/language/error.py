"""What is wrong with a query, and where."""

from __future__ import annotations

import unicodedata

from hansard.errors import UsageError

_WINDOW = 70
_VALUE = 40


class QueryError(UsageError):
    """An invalid query; `column` counts its characters from 0."""

    def __init__(self, problem: str, query: str, column: int) -> None:
        self.problem = problem
        self.query = query
        self.column = column
        super().__init__(f"{problem}\n{_pointer(query, column)}")

    def __reduce__(self) -> tuple[type[QueryError], tuple[str, str, int]]:
        return QueryError, (self.problem, self.query, self.column)


def shown(value: str) -> str:
    """Quote a value of the query, shortened and safe to print."""
    return f"'{_plain(value[:_VALUE])}{'…' if len(value) > _VALUE else ''}'"


def _pointer(query: str, column: int) -> str:
    first = max(0, min(column - _WINDOW // 2, len(query) - _WINDOW))
    last = first + _WINDOW
    before = ("…" if first else "") + _plain(query[first:column])
    line = before + _plain(query[column:last]) + ("…" if last < len(query) else "")
    return f"  {line}\n  {' ' * sum(map(_columns, before))}^"


def _plain(text: str) -> str:
    """One line without control characters, direction marks and lone surrogates; the length stays the same."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
