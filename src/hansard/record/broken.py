"""Read the tables of a damaged record, skipping pages that cannot be read."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple

import apsw

from hansard.errors import StoreCorrupt
from hansard.record import layout, schema
from hansard.storage import sqlite

_HIGHEST = 1 << 40  # of any row's id
_WITHOUT_ROWID = frozenset(
    {
        "left_out",
        "worktree",
        "move",
        "unproven",
        "entry",
        "quarantine",
        "seed",
        "blank",
        "tombstone",
        "erasure_step",
        "secret_state",
    }
)
_KEYS = {
    "root": ("sqlite_autoindex_root_1", ("path",)),
    "file": ("sqlite_autoindex_file_1", ("root_id", "path")),
    "generation": ("sqlite_autoindex_generation_1", ("file_id", "seq")),
    "chunk": ("sqlite_autoindex_chunk_1", ("generation_id", "start")),
    "content": ("sqlite_autoindex_content_1", ("hash",)),
    "snapshot": ("snapshot_by_file", ("file_id",)),
}
"""Indexes that hold a second copy of some columns, on pages of their own."""

Row = dict[str, Any]


class FoundRow(NamedTuple):
    """A row of a damaged record, and whether every page it was read from matches its checksum."""

    values: Row
    is_proven: bool


class BrokenRecord:
    """A damaged record, opened for reading only; `scratch` is a path for a copy, where its list of tables must be made again."""

    def __init__(self, path: str, scratch: str) -> None:
        """Open it with and without checks."""
        self.unread = 0
        """Places in the tables where nothing could be read, or rows that made no sense."""
        self._scratch = ""
        self._has_checksums = sqlite.is_checksummed(path) or sqlite.has_flipped_bit(path)
        if not self._has_schema(path):
            with_schema(path, scratch)
            path = self._scratch = scratch
        self._plain = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        self._checked = sqlite.connect(path, readonly=True) if self._has_checksums else self._plain
        try:
            self._plain.execute("SELECT count(*) FROM chunk").fetchall()
        except (apsw.SQLError, apsw.NotADBError) as error:
            self.close()
            raise StoreCorrupt(f"{path}: even its list of tables cannot be read ({error}).") from error
        except apsw.Error:
            pass  # of a page below: row by row, more can be read

    def close(self) -> None:
        self._plain.close()
        self._checked.close()
        if self._scratch:
            remove(self._scratch)

    def rows(self, table: str, columns: list[str]) -> Iterator[FoundRow]:
        """Every row that can be read: those on sound pages first, in the order of their ids."""
        names = [name for name in columns if name in self._columns(table)]
        if not names:  # a store of an older layout
            return
        unread = self.unread
        find = self._in_order if table in _WITHOUT_ROWID else self._by_id
        read: set[object] = set()
        for key, values in find(self._checked, table, names):
            read.add(key)
            yield FoundRow(values, is_proven=True)
        if self.unread == unread or self._plain is self._checked:
            return
        keys = self._keys(table)
        for key, values in find(self._plain, table, names):
            # The pages of an index prove the columns that it repeats; a row that no index has never existed.
            if key not in read and (keys is None or key in keys):
                read.add(key)
                yield FoundRow(values | (keys[key] if keys is not None else {}), is_proven=False)
        for key in sorted((keys or {}).keys() - read):
            yield FoundRow({"id": key} | (keys or {})[key], is_proven=False)

    def _keys(self, table: str) -> dict[Any, Row] | None:
        """The columns of every row that an index has too; None if the table has no such index, or it is damaged."""
        if table not in _KEYS:
            return None
        index, names = _KEYS[table]
        try:
            return {
                int(row_id): dict(zip(names, values, strict=True))
                for row_id, *values in self._checked.execute(
                    f"SELECT rowid, {', '.join(names)} FROM {table} INDEXED BY {index}"
                )
            }
        except apsw.Error:
            return None

    def _in_order(self, db: apsw.Connection, table: str, names: list[str]) -> Iterator[tuple[Any, Row]]:
        """The rows of a table that has no ids, up to the first page that cannot be read."""
        try:
            for values in db.execute(f"SELECT {_selected(names)} FROM {table}"):
                row = _row(names, values)
                yield tuple(row.values()), row
        except apsw.Error:
            self.unread += 1

    def _by_id(self, db: apsw.Connection, table: str, names: list[str]) -> Iterator[tuple[Any, Row]]:
        begin: int | None = -1
        while begin is not None:
            try:
                for row_id, *values in db.execute(
                    f"SELECT rowid, {_selected(names)} FROM {table} WHERE rowid > ? ORDER BY rowid", (begin,)
                ):
                    begin = int(row_id)
                    yield begin, _row(names, values)
                return
            except apsw.Error:
                self.unread += 1
                begin = _next_readable(db, table, names, begin)

    def _columns(self, table: str) -> frozenset[str]:
        return frozenset(str(row[1]) for row in self._plain.execute(f"PRAGMA table_info({table})"))

    def _has_schema(self, path: str) -> bool:
        try:
            with closing(
                sqlite.connect(path, readonly=True)
                if self._has_checksums
                else apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
            ) as db:
                db.execute("SELECT * FROM sqlite_schema").fetchall()
        except apsw.Error:
            return False
        return True


def _selected(names: list[str]) -> str:
    """Columns whose text is read as bytes: on a damaged page it may not be UTF-8 any more."""
    return ", ".join(f"iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name}), typeof({name})" for name in names)


def _row(names: list[str], values: Sequence[Any]) -> Row:
    pairs = zip(values[::2], values[1::2], strict=True)
    return {
        name: value.decode("utf-8", "surrogateescape") if kind == "text" else value
        for name, (value, kind) in zip(names, pairs, strict=True)
    }


def _next_readable(db: apsw.Connection, table: str, names: list[str], bad: int) -> int | None:
    """One less than the lowest id from which rows can be read again, or None."""

    def is_readable(above: int) -> bool:
        try:
            db.execute(
                f"SELECT {_selected(names)} FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT 1", (above,)
            ).fetchall()
        except apsw.Error:
            return False
        return True

    step = 1
    while not is_readable(bad + step):
        step *= 2
        if bad + step > _HIGHEST:
            return None
    low, high = bad + step // 2, bad + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_readable(middle) else (middle, high)
    return high


def remove(path: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + suffix)


# -- a list of tables, made again


def with_schema(path: str, copy: str) -> None:
    """Copy a database whose list of tables is damaged, with a first page that lists them again.

    Where tables begin is read from the damaged list as far as it can be; a new record has the rest at the same places, unless an
    older layout was migrated.
    """
    fresh = copy + ".fresh" + sqlite.PARTIAL
    listing = copy + ".list" + sqlite.PARTIAL
    try:
        layout.create(fresh)
        with closing(sqlite.connect(fresh, readonly=True)) as db:
            tables: list[Any] = db.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema").fetchall()
        places = _root_pages(path, {row[1] for row in tables})
        with closing(sqlite.connect(listing, flags=apsw.SQLITE_OPEN_CREATE)) as db:
            db.pragma("page_size", sqlite.PAGE_SIZE)
            sqlite.reserve_checksums(db)
            db.pragma("application_id", schema.APPLICATION_ID)
            db.pragma("user_version", schema.MIGRATIONS[-1].version)
            db.pragma("writable_schema", 1)
            db.executemany(
                "INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)",
                (
                    (kind, name, table, places.get(name, place), _short(sql))
                    for kind, name, table, place, sql in tables
                    if name != "sqlite_sequence"
                ),
            )
        with open(listing, "rb") as file:
            page = bytearray(file.read(sqlite.PAGE_SIZE))
        shutil.copyfile(path, copy)
        os.chmod(copy, 0o600)
        if os.path.exists(path + "-wal"):
            shutil.copyfile(path + "-wal", copy + "-wal")
            _put_first_page(copy, page)  # else SQLite may not take it for a database
            with suppress(apsw.Error), closing(apsw.Connection(copy, flags=apsw.SQLITE_OPEN_READWRITE)) as db:
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            for suffix in ("-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.unlink(copy + suffix)
        _put_first_page(copy, page)
    finally:
        remove(fresh)
        remove(listing)


def _put_first_page(path: str, page: bytearray) -> None:
    page[18:20] = b"\2\2"  # with a write-ahead log
    page[28:32] = (os.path.getsize(path) // sqlite.PAGE_SIZE).to_bytes(4)  # pages in all
    page[92:96] = page[24:28]  # else SQLite does not believe that number
    page[-sqlite.RESERVED :] = sqlite.page_checksum(bytes(page[: -sqlite.RESERVED]))
    with open(path, "r+b") as file:
        file.write(page)


def _root_pages(path: str, known: set[str]) -> dict[str, int]:
    """Where tables and indexes begin, as far as a damaged list of tables says."""
    last = os.path.getsize(path) // sqlite.PAGE_SIZE
    found: dict[str, int] = {}
    try:
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as db:
            db.pragma("writable_schema", 1)
            for _ in range(2):  # the first attempt reads the tables that make sense, and fails
                with suppress(apsw.Error):
                    for name, place in db.execute("SELECT name, rootpage FROM sqlite_schema"):
                        if name in known and isinstance(place, int) and 1 < place <= last:
                            found[str(name)] = place
    except apsw.Error:
        pass
    return found


def _short(sql: str | None) -> str | None:
    """A definition without comments, so that all of them fit one page."""
    return None if sql is None else re.sub(r"\s+", " ", re.sub(r"--[^\n]*", "", sql))
