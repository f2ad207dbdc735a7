"""The public views as tables of a new SQLite database, for programs that read SQLite files, such as Datasette."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import apsw

from hansard.files import FILE_MODE
from hansard.query.reader import Reader
from hansard.sql.provided import Provider
from hansard.sql.sqlite import view_sql
from hansard.sql.view import Type
from hansard.sql.views import VIEWS

if TYPE_CHECKING:
    from hansard.model.gate import Redact

_TYPES = {Type.TEXT: "TEXT", Type.INTEGER: "INTEGER", Type.BOOLEAN: "INTEGER", Type.TIME: "TEXT", Type.MONEY: "REAL"}
_INDEXED = ("session_id", "message_key")


def write_snapshot(
    home: str, path: str, redact: Redact | None = None, progress: Callable[[int, int], None] | None = None
) -> None:
    """Write all views as the index has them now; `path` must not exist."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))
    reader = Reader(home)
    with closing(reader), closing(apsw.Connection(path)) as made:
        reader.one("BEGIN")
        provider = Provider(reader, redact)
        made.pragma("journal_mode", "off")
        made.pragma("synchronous", "off")
        made.execute("BEGIN")
        for number, (name, view) in enumerate(VIEWS.items()):
            columns = ", ".join(f'"{column.name}" {_TYPES[column.type]}' for column in view.columns)
            made.execute(f"CREATE TABLE {name} ({columns})")
            sql = view.sql(write=lambda column: view_sql(column, redact))
            provider.provide(sql)
            made.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(view.columns))})", reader.rows(sql))
            for column in view.columns:
                if column.name in _INDEXED:
                    made.execute(f"CREATE INDEX {name}_{column.name} ON {name} ({column.name})")
            if progress is not None:
                progress(number + 1, len(VIEWS))
        made.execute("COMMIT")
