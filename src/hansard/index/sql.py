"""The part of a database connection that writers of derived rows use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

Values = tuple[Any, ...]


class Answer(Protocol):
    """The rows of a query."""

    def __iter__(self) -> Iterator[Any]:
        """One row after the other."""

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """All rows."""


class Sql(Protocol):
    """A connection like apsw's; rows are typed by the columns that were selected."""

    def execute(self, sql: str, values: Values = ..., /) -> Answer:
        """Run a statement."""

    def executemany(self, sql: str, rows: Iterable[Values], /) -> object:
        """Run a statement once per row."""
