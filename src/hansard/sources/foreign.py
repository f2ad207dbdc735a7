"""Reading SQLite databases of other programs, which may be writing them, without creating files in their folders.

Even a read-only connection creates `-wal` and `-shm` files beside a database in WAL mode, and SQLite's `immutable` mode does not
see what is in the journals. So a database without journals is read in place as immutable, and one with journals is copied.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from typing import TYPE_CHECKING, Any

import apsw

from hansard.files import DIRECTORY_MODE, FILE_MODE
from hansard.sources.databases import COPY_PREFIX, JOURNALS, database_status
from hansard.sources.tail import FileStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

LARGE_VALUE = 4 << 20
"""Bytes; a longer value is read in pieces."""

_TRIES = 4
_PAUSE = 0.05  # seconds between two tries
_PIECE = 1 << 20
_NAMED = 5  # unknown tables in a message
_MAGIC = b"SQLite format 3\x00"
_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")  # ends a journal that names another file


class Changed(OSError):
    """The database was written while it was read, so what was read may never have been its content."""


class LargeValue:
    """A text or a blob that is read in pieces."""

    def __init__(self, db: apsw.Connection, table: str, column: str, rowid: int, size: int) -> None:
        self._place = (table, column, rowid)
        self._db = db
        self.size = size

    def __iter__(self) -> Iterator[bytes]:
        with _reading(), self._db.blob_open("main", *self._place, False) as blob:  # noqa: FBT003 - by position only
            while piece := blob.read(_PIECE):
                yield piece


class ForeignDatabase:
    """One state of another program's database."""

    def __init__(self, db: apsw.Connection, path: str, status: FileStatus, folder: str, *, in_place: bool) -> None:
        self._db = db
        self._folder = folder
        self._path = path
        self.status = status
        """That of the file and its journals when it was opened."""
        self._in_place = in_place

    def check(self) -> None:
        """Raise `Changed` if the database is read in place and was written since it was opened."""
        if self._in_place and database_status(self._path) != self.status:
            raise Changed(errno.EAGAIN, "written while it was read", self._path)

    def beside(self, path: str) -> contextlib.AbstractContextManager[ForeignDatabase]:
        """Open another database of the same program."""
        return open_foreign(path, self._folder)

    def require(self, tables: Collection[str]) -> None:
        """Raise an error if some tables are missing though there are others: they may have new names."""
        found = {str(row[0]) for row in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        unknown = sorted(name for name in found.difference(tables) if not name.startswith("sqlite_"))
        if unknown and not found.issuperset(tables):
            raise OSError(errno.EINVAL, f"unknown tables ({', '.join(unknown[:_NAMED])})", self._path)

    def count_rows(self, without: Collection[str]) -> dict[str, int]:
        """How many rows each other table has, if it has any."""
        found = [str(row[0]) for row in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        counts = {}
        for name in found:
            if name not in without and not name.startswith("sqlite_"):
                quoted = name.replace('"', '""')
                counts[name] = next(int(row[0]) for row in self.rows(f'SELECT count(*) FROM "{quoted}"'))
        return {name: count for name, count in counts.items() if count}

    def columns(self, table: str) -> list[str]:
        """The columns of a table; empty if there is no such table, or only a view."""
        known = (
            "EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND sql NOT LIKE 'CREATE VIRTUAL%')"
        )
        return [str(row[0]) for row in self.rows(f"SELECT name FROM pragma_table_info(?1) WHERE {known}", (table,))]

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, one at a time."""
        with _reading():
            yield from self._db.execute(sql, values, can_cache=False)

    def cells(
        self, table: str, columns: Sequence[str], rest: str = "", values: Sequence[Any] = ()
    ) -> Iterator[list[tuple[str, Any]]]:
        """Rows of a table, `rest` being WHERE and ORDER BY: the type and the value of each column.

        A text comes as its bytes, which need not be valid UTF-8; a long text or blob as a `LargeValue`.
        """
        selected = ", ".join(
            f'typeof("{name}"), octet_length("{name}"), CASE WHEN typeof("{name}") NOT IN (\'text\', \'blob\') THEN "{name}"'
            f' WHEN octet_length("{name}") <= {LARGE_VALUE} THEN CAST("{name}" AS BLOB) END'
            for name in columns
        )
        for rowid, *found in self.rows(f'SELECT rowid, {selected} FROM "{table}" {rest}', values):
            row: list[tuple[str, Any]] = []
            for number, name in enumerate(columns):
                kind, size, value = found[3 * number : 3 * number + 3]
                if value is None and kind != "null":
                    value = LargeValue(self._db, table, name, rowid, size)
                row.append((kind, value))
            yield row


@contextlib.contextmanager
def open_foreign(path: str, folder: str) -> Iterator[ForeignDatabase]:
    """Open a database for reading; a copy that this needs is made in a new folder in `folder` and removed at the end."""
    with contextlib.ExitStack() as stack:
        for left in range(_TRIES - 1, -1, -1):
            status = database_status(path)
            with open(path, "rb") as file:
                if file.read(len(_MAGIC)) not in (_MAGIC, b""):
                    raise OSError(errno.EINVAL, "not an SQLite database", path)
            if not has_journals(path):
                db = stack.enter_context(_connected(f"file:{_escaped(path)}?immutable=1", apsw.SQLITE_OPEN_READONLY))
                yield ForeignDatabase(db, path, status, folder, in_place=True)
                return
            attempt = stack.enter_context(contextlib.ExitStack())
            copy = attempt.enter_context(_copied(path, folder))
            # A write-ahead log that only grew is a later state of the same log, so the copy of it is intact.
            is_same = _file_status(path) == copy[1] and (not left or database_status(path) == status)
            if is_same:
                db = stack.enter_context(_connected(f"file:{_escaped(copy[0])}", apsw.SQLITE_OPEN_READWRITE))
                _unlink(copy[0])
                yield ForeignDatabase(db, path, status, folder, in_place=False)
                return
            attempt.close()
            time.sleep(_PAUSE)
        raise Changed(errno.EAGAIN, "written all the time while it was read", path)


@contextlib.contextmanager
def _copied(path: str, folder: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """A copy of a database with its journals, and the size and time that the database had before."""
    place = os.path.join(folder, f"{COPY_PREFIX}{os.getpid()}-{os.urandom(8).hex()}")
    os.mkdir(place, DIRECTORY_MODE)
    try:
        target = os.path.join(place, "db")
        before = _file_status(path)
        _copy(path, target)
        for ending in JOURNALS:
            with contextlib.suppress(FileNotFoundError):
                _copy(path + ending, target + ending)
        if _names_a_file(target + "-journal"):
            raise OSError(errno.EINVAL, "its journal names another file", path)
        yield target, before
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def _connected(address: str, flags: int) -> Iterator[apsw.Connection]:
    with _reading():
        db = apsw.Connection(address, flags=flags | apsw.SQLITE_OPEN_URI)
    try:
        with _reading():
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            db.pragma("locking_mode", "exclusive")  # no -shm file
            db.pragma("mmap_size", 0)
            db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            db.pragma("query_only", 1)
        yield db
    finally:
        db.close()


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Report SQLite's errors as faults of that file, not of our own databases."""
    try:
        yield
    except apsw.Error as error:
        raise OSError(errno.EIO, f"the database cannot be read ({error})") from error


def _unlink(copy: str) -> None:
    """Unlink a copy that is open: it disappears with this process, even if that is killed."""
    if os.name == "posix":
        for ending in ("", *JOURNALS):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(copy + ending)


def _file_status(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def has_journals(path: str) -> bool:
    """Whether part of a database is in files beside it, so that it must be copied."""
    for ending in JOURNALS:
        with contextlib.suppress(FileNotFoundError):
            if os.path.getsize(path + ending):
                return True
    return False


def _names_a_file(journal: str) -> bool:
    """Whether a journal names a super-journal, which SQLite may delete after it has read the journal, wherever that is."""
    try:
        with open(journal, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_SUPER_JOURNAL)))
            return file.read() == _SUPER_JOURNAL
    except FileNotFoundError:
        return False


def _copy(path: str, target: str) -> None:
    """Copy a file; as a reflink if the file system supports it."""
    with open(path, "rb") as source, open(target, "xb", opener=_private) as copy:
        if hasattr(os, "copy_file_range"):
            with contextlib.suppress(OSError):
                while os.copy_file_range(source.fileno(), copy.fileno(), 1 << 30):
                    pass
        source.seek(copy.seek(0, os.SEEK_END))
        shutil.copyfileobj(source, copy, _PIECE)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)


def _escaped(path: str) -> str:
    """A path as a part of a `file:` address."""
    from urllib.parse import quote

    escaped = quote(os.fsencode(path).replace(os.sep.encode(), b"/"), safe="/:")
    return escaped if escaped.startswith("/") else f"/{escaped}"  # C:/...
