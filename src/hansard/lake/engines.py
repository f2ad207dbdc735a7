"""Where the views of a lake are computed: DuckDB in this process, or Spark on a cluster. Both get the same SQL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from hansard.errors import UsageError
from hansard.lake.relations import columns_in_lake
from hansard.lake.storage import LakeUnusable
from hansard.lake.views import VIEWS_SQL
from hansard.model.arrow import NO_DOWNLOADS, duckdb
from hansard.sql.duckdb import quote_at
from hansard.sql.view import Type

if TYPE_CHECKING:
    from hansard.model.sql import Row

ENGINES = ("duckdb", "spark")
Files = Callable[[str], list[str]]
"""The files with a relation's rows, as the engine finds them."""
Values = Sequence[Any] | Mapping[str, Any]
_DUCKDB = {
    Type.TEXT: "VARCHAR",
    Type.INTEGER: "BIGINT",
    Type.BOOLEAN: "BOOLEAN",
    Type.TIME: "TIMESTAMP",
    Type.MONEY: "DECIMAL(38, 18)",
}


class Engine(Protocol):
    """Runs SQL over the views."""

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        """The rows of a query; `values` are those of each `?` or, by name, of each `$name` in it."""

    def close(self) -> None: ...


def open_engine(name: str, files: Files, relations: Iterable[str], scratch: str, master: str | None = None) -> Engine:
    """An engine with the views that need no more than these relations."""
    if name not in ENGINES:
        raise UsageError(f"unknown engine {name!r}; choose one of {', '.join(ENGINES)}")
    if name == "spark":
        from hansard.lake.spark import Spark

        return Spark(files, relations, master)
    if master is not None:
        raise UsageError("--master is for --engine spark")
    return DuckDB(files, relations, scratch)


class DuckDB:
    """The views in DuckDB: what does not fit into memory goes to `scratch`."""

    def __init__(self, files: Files, relations: Iterable[str], scratch: str) -> None:
        engine = duckdb()
        self._errors = engine.Error
        self._db = engine.connect(
            ":memory:", config={**NO_DOWNLOADS, "temp_directory": os.path.join(scratch, "spilled")}
        )
        made = set()
        for name in relations:
            columns = columns_in_lake(name)
            empty = ", ".join(f'NULL::{_DUCKDB[column.type]} AS "{column.name}"' for column in columns)
            names = ", ".join(f'"{column.name}"' for column in columns)
            sql = f"SELECT {names} FROM (SELECT {empty} WHERE false"
            if paths := files(name):  # an older file may have fewer columns
                listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
                sql += f" UNION ALL BY NAME SELECT * FROM read_parquet([{listed}], union_by_name=true, hive_partitioning=false)"
            self.rows(f"CREATE VIEW pushed_{name} AS {sql})")
            made.add(name)
        for name, sql in possible_views(made):
            self.rows(f"CREATE VIEW {name} AS {sql}")

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        given = dict(values) if isinstance(values, Mapping) else list(values)
        try:
            return list(self._db.execute(quote_at(duckdb(), sql), given or None).fetchall())
        except self._errors as error:
            raise LakeUnusable(f"DuckDB: {str(error).strip().splitlines()[0]}") from error

    def close(self) -> None:
        self._db.close()


def possible_views(made: set[str]) -> Iterable[tuple[str, str]]:
    """The views of which everything that they read is there."""
    import re

    there = {f"pushed_{name}" for name in made}
    for name, sql in VIEWS_SQL.items():
        read = set(re.findall(r"(?:FROM|JOIN) ([a-z_]+)", sql))
        if read <= there:
            there.add(name)
            yield name, sql
