"""The relations of a lake: what machines push to a team's database, with the machine and the person in front of each row."""

from __future__ import annotations

from hansard.sql.merging import USAGE_LINES
from hansard.sql.tables import EVERY, PRICES, Pushed
from hansard.sql.view import Column, Type, columns_of

MACHINES = "machines"
_WHO = columns_of(
    ("machine", "text", "", "which machine has the row: a pseudonym, unless names are written"),
    ("person", "text", "", "whose machine it is: likewise"),
)
_MILLISECONDS = Column("ts", Type.INTEGER, "", "`at` in milliseconds since 1970 in UTC; 0 if unknown")
_MACHINE_COLUMNS = columns_of(
    ("hansard", "text", "", "the version that pushed last"),
    ("price_data", "text", "", "day and version of the prices: the newest ones of all machines apply"),
    ("price_source", "text", "", "where the prices come from"),
    ("price_version", "text", "", ""),
    ("price_dated", "text", "", "the day of the newest price"),
    ("price_fetched_at", "time", "", "null: they came with Hansard"),
    ("price_overrides", "integer", "", "prices of the machine's own configuration"),
)
RISKS = "risks"
RISK_COLUMNS = columns_of(
    ("session_id", "text", "", "the session"),
    ("agent_id", "text", "", "the subagent; empty in the session's own thread"),
    ("transcript", "integer", "", "`transcripts.transcript`"),
    ("byte_offset", "integer", "", "of the line in it"),
    ("block", "integer", "", "number in the line"),
    ("at", "time", "", ""),
    ("rule", "text", "", "which rule of `hansard audit` found it"),
    ("severity", "text", "", "high, medium, low"),
    ("outcome", "text", "", "done, failed, denied, unanswered, mode"),
)
TABLES: dict[str, Pushed] = {table.view.name: table for table in EVERY}
"""Relations of the rows of sessions, by name."""


def columns_in_lake(name: str) -> tuple[Column, ...]:
    """The columns of a relation's files."""
    if name == MACHINES:
        return _WHO + _MACHINE_COLUMNS
    if name == RISKS:
        return (*_WHO, *RISK_COLUMNS, _MILLISECONDS)
    if name == PRICES.view.name:
        return _WHO + PRICES.view.columns
    more = (_MILLISECONDS,) if name == USAGE_LINES.name else ()
    return _WHO + TABLES[name].view.columns + more


RELATIONS = (*TABLES, RISKS, PRICES.view.name, MACHINES)
