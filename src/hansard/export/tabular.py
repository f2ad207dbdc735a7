"""Exporting tables: each to its file, and only if something changed.

Parquet is written by DuckDB: rows go to it as lines of JSON in a temporary file, so that memory stays bounded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.errors import UsageError
from hansard.export.files import digest_of, not_written, take_over, temporary_beside, write_file
from hansard.export.formats import ENDINGS
from hansard.files import FILE_MODE
from hansard.sql.table import Table, choose
from hansard.sql.views import VIEWS, Type

if TYPE_CHECKING:
    from hansard.export import Exported
    from hansard.export.run import Export, Progress
    from hansard.model.sessions import Session

_READ_AS = {Type.TEXT: "VARCHAR", Type.MONEY: "VARCHAR"}  # else BIGINT
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999, in ms
_SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": "false",  # nothing is fetched
    "autoload_known_extensions": "false",
    "memory_limit": "256MB",
    "temp_directory": "",
    "threads": "1",  # the same rows give the same bytes
}


def export_tables(
    export: Export,
    sessions: Sequence[Session],
    names: Sequence[str] = (),
    *,
    whole: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Export tables with the rows of these sessions; `whole`: with all rows there are."""
    usual = ["sessions"] if export.form == "csv" or export.single else list(VIEWS)
    tables = choose(names) or usual
    if export.single and len(tables) > 1:
        raise UsageError(f"{len(tables)} tables need a directory: set one with --to, without an extension")
    state = export.fingerprints.of_tables(None if whole else sessions)
    paths = {name: export.to if export.single else name + ENDINGS[export.form][0] for name in tables}
    export.refuse_strangers(list(paths.values()))
    parquet = Parquet() if export.form == "parquet" else None
    try:
        for number, (name, path) in enumerate(paths.items()):
            fingerprint = f"{export.form} {name} {state}"
            _export_table(export, parquet, name, path, fingerprint, sessions, whole=whole)
            if progress is not None:
                progress(number + 1, len(paths))
    finally:
        if parquet is not None:
            parquet.close()
        export.save()
    return export.result()


def _export_table(
    export: Export,
    parquet: Parquet | None,
    name: str,
    path: str,
    fingerprint: str,
    sessions: Sequence[Session],
    *,
    whole: bool,
) -> None:
    def write() -> None:
        place = export.manifest.where(path)
        if export.form == "csv" and name == "sessions":
            written = write_file(place, _listing(sessions))
        else:
            ids = None if whole else [session.session_id for session in sessions]
            table = Table(export.store.reader, name, ids, export.store.redact)
            if parquet is None:
                from hansard.export.sheets import sheet

                written = write_file(place, sheet([column.name for column in table.columns], table.rows()))
            else:
                written = parquet.write(place, table)
        export.note_written(path, "", fingerprint, written)

    export.write_one(path, fingerprint, write)


def _listing(sessions: Sequence[Session]) -> Iterator[bytes]:
    """Sessions as they are listed elsewhere, with what they cost."""
    from hansard.export.sheets import sheet
    from hansard.model.sessions import Session

    names = list(Session.__struct_fields__)
    rows: Iterator[list[Any]] = ([getattr(session, name) for name in names] for session in sessions)
    return sheet(names, rows)


class Parquet:
    """Writes tables; DuckDB is started at the first one, and must be installed."""

    def __init__(self) -> None:
        from importlib.util import find_spec

        if find_spec("duckdb") is None:
            raise UsageError(
                "parquet needs DuckDB, which is not installed; add it with: pip install 'hansard[parquet]'"
            )
        self._db: Any = None

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def write(self, path: str, table: Table) -> tuple[int, int, str]:
        """Write a table, all of it or nothing; gives the file's size, its time and its SHA-256."""
        if self._db is None:
            self._db = _connected()
        rows, made = temporary_beside(path), temporary_beside(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            try:
                longest = _write_rows(os.open(rows, flags, FILE_MODE), table)
                os.close(os.open(made, flags, FILE_MODE))  # so that it is private from its first moment
            except OSError as error:
                raise not_written(path, error) from error
            self._db.execute(_statement(table, rows, made, longest))
            with suppress(OSError):
                os.chmod(made, FILE_MODE)
            return take_over(made, path, digest_of(made))
        finally:
            for temporary in (rows, made):
                with suppress(OSError):
                    os.unlink(temporary)


def _connected() -> Any:
    import duckdb

    return duckdb.connect(":memory:", config=_SETTINGS)


def _write_rows(handle: int, table: Table) -> int:
    """Write the rows as lines of JSON; gives the length of the longest."""
    encode = msgspec.json.Encoder().encode
    names = [column.name for column in table.columns]
    longest = 0
    with open(handle, "wb") as file:
        for row in table.raw():
            line = encode(dict(zip(names, row, strict=True)))
            longest = max(longest, len(line))
            file.write(line + b"\n")
    return longest


def _statement(table: Table, rows: str, made: str, longest: int) -> str:
    columns = ", ".join(f"'{column.name}': '{_READ_AS.get(column.type, 'BIGINT')}'" for column in table.columns)
    values = ", ".join(_select(f'"{column.name}"', column.type) for column in table.columns)
    return (
        f"COPY (SELECT {values} FROM read_json({_text(rows)}, format = 'newline_delimited', columns = {{{columns}}},"
        f" maximum_object_size = {max(longest + 2, 1 << 20)})) TO {_text(made)} (FORMAT parquet, COMPRESSION zstd)"
    )


def _select(name: str, kind: Type) -> str:
    if kind is Type.TIME:
        return f"CASE WHEN {name} BETWEEN {_FIRST} AND {_LAST} THEN make_timestamp_ms({name}) END AS {name}"
    stored = {Type.MONEY: "DECIMAL(38, 18)", Type.BOOLEAN: "BOOLEAN"}.get(kind)
    return name if stored is None else f"CAST({name} AS {stored}) AS {name}"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
