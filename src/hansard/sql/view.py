"""The form of a public view: typed columns, and the SELECT over `index.db` that makes its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import NamedTuple

from hansard.index.schema import tables
from hansard.storage import OFFSET_BITS, OFFSET_MASK

OF_SESSIONS = "session_id IN (SELECT value FROM json_each(?1))"
_REFERENCE = re.compile(r"\b(FROM|JOIN) (\w+)(?=[\s)]|$)")
_IDS = frozenset({"session_id", "agent_id", "uuid", "parent_uuid", "tool_use_id", "message_key"})


class Type(StrEnum):
    """What a column holds."""

    TEXT = "text"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    TIME = "time"  # milliseconds since 1970 in UTC
    MONEY = "money"  # US dollars, a decimal number as text


class Column(NamedTuple):
    """A column of a view."""

    name: str
    type: Type
    sql: str
    about: str

    @property
    def is_free_text(self) -> bool:
        """Whether it may hold text of a transcript, and so a secret; ids are used to look things up and stay as they are."""
        return self.type is Type.TEXT and self.name not in _IDS


class View(NamedTuple):
    """A view: one row per what, its columns, and where its rows come from."""

    name: str
    about: str
    columns: tuple[Column, ...]
    source: str
    condition: str = OF_SESSIONS
    """Which rows belong to some sessions, over the columns of the view; ?1 is their ids as JSON."""
    inside: str = ""
    """The same for rows that name no other session, where that is another condition."""
    example: tuple[str, str] = ("", "")
    """A question about it in plain words, and the SQL that answers it in every engine."""

    def sql(
        self,
        *,
        of_sessions: bool = False,
        only: bool = False,
        columns: Sequence[Column] | None = None,
        write: Callable[[Column], str] = attrgetter("sql"),
    ) -> str:
        """The SELECT of all of its rows, or of those of some sessions; `write` gives the SQL of a column.

        With `only`, the rows of some sessions do not name others either.

        Tables of the index are named with their schema, so that it can be used in a connection with views of the same names.
        """
        chosen = self.columns if columns is None or of_sessions else columns
        select = ",\n    ".join(f'{write(column)} AS "{column.name}"' for column in chosen) or "NULL"
        source = self.source.replace("{sessions}", f" AND {OF_SESSIONS}" if of_sessions else "")
        sql = _qualified(f"SELECT {select}\n{source}")
        if not of_sessions:
            return sql
        names = "*" if columns is None else ", ".join(f'"{column.name}"' for column in columns) or "NULL"
        condition = self.inside or self.condition if only else self.condition
        return f"SELECT {names} FROM ({sql}) WHERE {_qualified(condition)}"


@cache
def _index_names() -> frozenset[str]:
    return frozenset(re.findall(r"^CREATE (?:TABLE|VIEW) (\w+)", tables(), re.MULTILINE))


def _qualified(sql: str) -> str:
    known = _index_names()
    return _REFERENCE.sub(lambda found: f"{found[1]} main.{found[2]}" if found[2] in known else found[0], sql)


def columns_of(*declared: tuple[str, str, str, str]) -> tuple[Column, ...]:
    """Columns from their name, type, SQL and meaning."""
    return tuple(Column(name, Type(kind), sql, about) for name, kind, sql, about in declared)


_ROW_COLUMN = re.compile(r"[a-z]\.(?!id\b|uuid\b|tool_use_id\b|path\b)\w+")


def scanned(*declared: tuple[str, str, str, str]) -> tuple[Column, ...]:
    """Columns of a view made with `FROM_TRANSCRIPTS`.

    The unary plus keeps SQLite from making an index of a whole table (an automatic index) for each transcript, where a condition on a
    column without one is met: it assumes that a range of ids is most of the table.
    """
    return columns_of(
        *(
            (name, kind, f"+{sql}" if _ROW_COLUMN.fullmatch(sql) and not sql.startswith("t.") else sql, about)
            for name, kind, sql, about in declared
        )
    )


FROM_TRANSCRIPTS = (
    "FROM transcripts t CROSS JOIN {table} {x}"
    f" ON {{x}}.id BETWEEN t.id << {OFFSET_BITS} AND (t.id << {OFFSET_BITS}) + {OFFSET_MASK}"
)


def places(x: str, offset: str = "", agent: str = "t.agent_id") -> tuple[tuple[str, str, str, str], ...]:
    """The columns that say where a row of a transcript is."""
    return (
        ("session_id", "text", "t.session_id", "the session"),
        ("agent_id", "text", agent, "the subagent; empty in the session's own thread"),
        ("transcript", "integer", "t.id", "`transcripts.transcript`"),
        ("byte_offset", "integer", offset or f"{x}.id & {OFFSET_MASK}", "of the line in it"),
    )
