"""The whole content of a store's indexes in a form that does not depend on how it came about.

Ids tell the order of syncs, so each is replaced by what it stands for: (path, generation, offset) of a line or block.
Columns that only serve the next sync are left out, and so are the dates of source files.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    from pathlib import Path

TABLES = (
    "transcripts records blocks messages usage usage_copies tool_calls prompts compactions permissions summaries sidechains agent_refs sightings shared_records issues "
    "record_kinds drift side_files todos session_usage session_costs rates spending sessions session_tools session_files agents links "
    "originals remarks"
).split()
UNSTEADY = frozenset({"derived", "fold", "tail_fold", "mtime", "set_at"})
PLACES = frozenset({"record_id", "message_id", "call_id", "result_id"})  # besides `id`, which is one nearly everywhere
SNAPSHOT_TEXT = 1 << 62
WHERE = {
    "side_files": "current = 1",
    # Rates that were resolved for what a line said before another one of the same message came stay there, unused.
    "rates": "(model, service_tier, speed, inference_geo) IN (SELECT model, service_tier, speed, inference_geo FROM usage)",
}

Dump = dict[str, list[tuple[Any, ...]]]


class _Store:
    """Two open indexes and the names of the things in them."""

    def __init__(self, home: Path) -> None:
        self.index = apsw.Connection(str(home / "index.db"), flags=apsw.SQLITE_OPEN_READONLY)
        self.text = apsw.Connection(str(home / "text.db"), flags=apsw.SQLITE_OPEN_READONLY)
        self.transcripts: dict[Any, Any] = {
            row[0]: row[1:] for row in self.index.execute("SELECT id, root, path, generation FROM transcripts")
        }
        self.side_files: dict[Any, Any] = {
            row[0]: row[1:] for row in self.index.execute("SELECT id, root, path, current FROM side_files")
        }
        self.places: dict[Any, Any] = dict(self.text.execute("SELECT doc, id FROM places"))
        self.rates: dict[Any, Any] = {row[0]: row[1:] for row in self.index.execute("SELECT * FROM rates")}

    def close(self) -> None:
        self.index.close()
        self.text.close()

    def place(self, value: Any) -> Any:
        return None if value is None else (*self.transcripts[value >> 40], value & ((1 << 40) - 1))

    def cell(self, table: str, column: str, value: Any) -> Any:
        if table in {"side_files", "todos"}:
            return self.side_files[value] if column in {"id", "side_file"} else value
        if table == "remarks":
            return value
        if table == "rates":
            return self.rates[value] if column == "id" else value
        if table == "spending" and column == "rate":
            return self.rates[value]
        if column == "transcript" or (table == "transcripts" and column == "id"):
            return None if value is None else self.transcripts[value]
        return self.place(value) if column in PLACES or column == "id" else value

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        columns: list[Any] = [row[1] for row in self.index.execute(f"PRAGMA table_info({table})")]
        kept = [column for column in columns if column not in UNSTEADY]
        where = f" WHERE {WHERE[table]}" if table in WHERE else ""
        found = [
            tuple(self.cell(table, column, value) for column, value in zip(kept, row, strict=True))
            for row in self.index.execute(f"SELECT {', '.join(kept)} FROM {table}{where}")
        ]
        return sorted(found, key=repr)

    def words(self) -> list[tuple[Any, ...]]:
        found = []
        for table in ("titles", "talk", "work"):
            self.text.execute(f"CREATE VIRTUAL TABLE temp.{table}_words USING fts5vocab('main', '{table}', 'instance')")
            found += [
                (table, term, self._document(document), column, number)
                for term, document, column, number in self.text.execute(
                    f"SELECT term, doc, col, offset FROM temp.{table}_words"
                )
            ]
        return sorted(found, key=repr)

    def _document(self, document: Any) -> Any:
        if document >= SNAPSHOT_TEXT:
            return self.side_files[document - SNAPSHOT_TEXT]
        return self.place(self.places[document])


def dump(home: Path) -> Dump:
    """Everything a question could be answered from."""
    with closing(_Store(home)) as store:
        found = {table: store.rows(table) for table in TABLES}
        found["words"] = store.words()
        assert not store.index.execute("SELECT * FROM dirty").fetchall()
        assert not store.index.execute("SELECT * FROM unsettled").fetchall()
        return found


def assert_same(one: Dump, other: Dump) -> None:
    """Compare two dumps and show the first rows that differ."""
    for table, rows in one.items():
        if rows != other[table]:
            ours, theirs = set(map(repr, rows)), set(map(repr, other[table]))
            only_one, only_other = sorted(ours - theirs)[:3], sorted(theirs - ours)[:3]
            raise AssertionError(
                f"{table}: {len(rows)} and {len(other[table])} rows\n only one: {only_one}\n only other: {only_other}"
            )
