"""Reads a team's database as the ledger reads `index.db`: its views have the same names, columns and units."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hansard.query.reader import Reader

if TYPE_CHECKING:
    from hansard.team.connect import Database


class TeamReader(Reader):
    """Runs SELECTs that SQLite and PostgreSQL understand alike; `?` is a value."""

    def __init__(self, database: Database, *, looks_up: bool = False, seconds: int = 0) -> None:
        """For statements that read many rows, or look some up; each has a time limit in seconds."""
        super().__init__("")
        self._database = database
        # Without statistics the planner cannot know which: it would join millions of rows one by one, or read all for a few.
        look_up, read_all = ("on", "off") if looks_up else ("off", "on")
        with database.errors():
            database.run(
                f"SET enable_nestloop = {look_up}; SET enable_seqscan = {read_all}; SET statement_timeout = {seconds * 1000}"
            )

    def rows(self, sql: str, values: tuple[Any, ...] | dict[str, Any] = ()) -> Iterator[Any]:
        with self._database.errors():
            found = self._database.rows(
                sql.replace("%", "%%").replace("?", "%s") if values else sql, tuple(map(_sent, values))
            )
        for row in found:
            yield tuple(map(_plain, row))


def _sent(value: Any) -> Any:
    """A value without what PostgreSQL cannot store, and therefore does not have."""
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """Sums of integers are integers, as in SQLite."""
    return int(value) if isinstance(value, Decimal) and value.as_tuple().exponent == 0 else value
