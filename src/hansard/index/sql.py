"""What the writers of derived rows need of a database connection."""

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
    """A connection, as apsw has it; what comes out of it is typed by the columns that were asked for."""

    def execute(self, sql: str, values: Values = ..., /) -> Answer:
        """Run a statement."""

    def executemany(self, sql: str, rows: Iterable[Values], /) -> object:
        """Run a statement once per row."""
