"""The tables of the documented schema, with the rows of the sessions that are wanted and columns of the right type."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError
from hansard.model.time import from_milliseconds
from hansard.storage.ids import OFFSET_BITS

if TYPE_CHECKING:
    from hansard.query.reader import Reader


class Type(StrEnum):
    """What a column holds."""

    TEXT = "text"
    INTEGER = "integer"
    TIME = "time"
    MONEY = "money"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: Type


_WANTED = "(SELECT value FROM json_each(?1))"
_BY_SESSION = f"SELECT {{columns}} FROM {{table}} x WHERE x.session_id IN {_WANTED}"
_BY_TRANSCRIPT = f"SELECT {{columns}} FROM {{table}} x WHERE x.transcript IN (SELECT id FROM transcripts WHERE session_id IN {_WANTED})"
_BY_PLACE = (
    f"SELECT {{columns}} FROM (SELECT id AS t FROM transcripts WHERE session_id IN {_WANTED} ORDER BY id) CROSS JOIN {{table}} x"
    f" ON x.id >= t << {OFFSET_BITS} AND x.id < (t + 1) << {OFFSET_BITS}"
)
_BY_RECORD = f"SELECT {{columns}} FROM {{table}} x WHERE x.record_id >> {OFFSET_BITS} IN (SELECT id FROM transcripts WHERE session_id IN {_WANTED})"
_ALL = "SELECT {columns} FROM {table} x"

# Every table, and how the rows of some sessions are found in it. Not here is what the index keeps for its own work: meta,
# dirty, unsettled, usage_copies, shared_records, originals.
TABLES: dict[str, str] = {
    "sessions": _BY_SESSION,
    "transcripts": _BY_SESSION,
    "records": _BY_PLACE,
    "blocks": _BY_PLACE,
    "messages": _BY_PLACE,
    "usage": _BY_SESSION,
    "tool_calls": _BY_PLACE,
    # Lines of history.jsonl name their session themselves.
    "prompts": f"{_BY_PLACE} UNION ALL SELECT {{columns}} FROM {{table}} x WHERE x.session_id IN {_WANTED}",
    "progress_answers": _BY_PLACE,
    "turn_durations": _BY_PLACE,
    "compactions": _BY_PLACE,
    "summaries": _BY_PLACE,
    "sidechains": _BY_PLACE,
    "agent_refs": _BY_TRANSCRIPT,
    "sightings": _BY_RECORD,
    "issues": _BY_PLACE,
    "record_kinds": _BY_TRANSCRIPT,
    "drift": _BY_TRANSCRIPT,
    "side_files": _BY_SESSION,
    "todos": _BY_SESSION,
    "session_usage": _BY_SESSION,
    "session_costs": _BY_SESSION,
    "rates": _ALL,
    "spending": _BY_SESSION,
    "session_tools": _BY_SESSION,
    "session_files": _BY_SESSION,
    "agents": _BY_SESSION,
    "links": f"SELECT {{columns}} FROM {{table}} x WHERE x.source IN {_WANTED} OR x.target IN {_WANTED}",
    "remarks": _BY_SESSION,
}
# Given only where they are asked for: what they say is in the tables.
VIEWS: dict[str, str] = {"charges": _BY_SESSION, "file_changes": _BY_SESSION}
_TIMES = frozenset("ts first_ts last_ts mtime started_at ended_at result_ts tool_ts set_at since until".split())
_UNKNOWN_AS_ZERO = frozenset({"usage", "spending", "charges"})  # tables in which a time of 0 is none
_MONEY = {
    "rates": frozenset("input output cache_read cache_write_5m cache_write_1h web_search".split()),
    "session_costs": frozenset({"cost_usd"}),
}


def choose(names: Sequence[str]) -> list[str]:
    """The tables of these names, each once; raises when there is no such table."""
    known = {**TABLES, **VIEWS}
    for name in names:
        if name not in known:
            raise UsageError(f"there is no table {name!r}; choose from {', '.join(sorted(known))}")
    return list(dict.fromkeys(names))


class Table:
    """A table, or the rows of some sessions in it."""

    def __init__(self, reader: Reader, name: str, session_ids: Sequence[str] | None) -> None:
        self._reader = reader
        self._selection = {**TABLES, **VIEWS}[name] if session_ids is not None else _ALL
        self._session_ids = session_ids
        self.name = name
        self.columns = [
            Column(column, kind)
            for _, column, declared, *_ in reader.rows(f"PRAGMA table_info({name})")
            if (kind := _type(name, column, declared)) is not None
        ]

    def raw(self) -> Iterator[tuple[Any, ...]]:
        """The rows as the index has them; a time of 0 that means none is None."""
        columns = ", ".join(self._expression(column) for column in self.columns)
        values = (json.dumps(list(self._session_ids or ())),) if "?1" in self._selection else ()
        return self._reader.rows(self._selection.format(columns=columns, table=self.name), values)

    def rows(self) -> Iterator[list[Any]]:
        """The rows as values: times as times, money as decimals."""
        types = [column.type for column in self.columns]
        for row in self.raw():
            yield [_value(value, kind) for value, kind in zip(row, types, strict=True)]

    def _expression(self, column: Column) -> str:
        # Quoted: some columns have the names of functions.
        name = f'x."{column.name}"'
        return f"nullif({name}, 0)" if column.type is Type.TIME and self.name in _UNKNOWN_AS_ZERO else name


def _type(table: str, column: str, declared: str) -> Type | None:
    if declared == "BLOB":
        return None  # what a sync goes on from
    if column in _MONEY.get(table, ()):
        return Type.MONEY
    if column in _TIMES:
        return Type.TIME
    return Type.TEXT if declared == "TEXT" else Type.INTEGER


def _value(value: Any, kind: Type) -> Any:
    if value is None:
        return None
    if kind is Type.TIME:
        return from_milliseconds(value)
    return Decimal(value) if kind is Type.MONEY else value
