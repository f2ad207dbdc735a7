"""The tables of a team's database: the relations that machines push, with a machine and a scope in front of each row.

A scope is a project on a machine: what row-level security decides by.
"""

from __future__ import annotations

from hansard.sql.merging import USAGE_LINES
from hansard.sql.tables import PRICES, Pushed
from hansard.sql.view import Type

TYPES = {
    Type.TEXT: 'text COLLATE "C"',  # compared byte by byte, as SQLite does
    Type.INTEGER: "bigint",
    Type.BOOLEAN: "boolean",
    Type.TIME: "timestamptz",
    Type.MONEY: "numeric",
}


def create(table: Pushed) -> str:
    """The statements that create a table with its indexes, in the current schema."""
    columns = [f"    {column.name} {TYPES[column.type]}" for column in table.view.columns]
    head = (
        ["    machine integer NOT NULL", "    scope integer NOT NULL"]
        if table is not PRICES
        else ["    machine integer NOT NULL"]
    )
    more = []
    if table.view is USAGE_LINES:
        # The ledger counts in milliseconds; `is_shared` spares the merge of messages that only one machine has.
        more += [
            "    ts bigint NOT NULL GENERATED ALWAYS AS (coalesce((extract(epoch FROM at - timestamptz '1970-01-01 00:00:00+00') * 1000)::bigint, 0)) STORED",
            "    is_shared boolean NOT NULL DEFAULT false",
        ]
    key = [f"    PRIMARY KEY ({', '.join(table.key)})"] if table.key else []
    statements = [f"CREATE TABLE {table.name} (\n" + ",\n".join([*head, *columns, *more, *key]) + "\n)"]
    statements += [f"CREATE INDEX ON {table.name} ({columns})" for columns in table.indexes]
    return ";\n".join(statements)
