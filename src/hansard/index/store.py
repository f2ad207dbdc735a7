"""Opening disposable databases: created if missing; made again if damaged, of another version or of another record."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

import apsw

from hansard.errors import HansardError, StoreCorrupt, StoreUnusable
from hansard.storage import sqlite
from hansard.storage.sqlite import connect_readonly, store_error

if TYPE_CHECKING:
    from hansard.clients.lines import Issue

_APPLICATION_ID = 0x48416E78  # "HAnx"


REBUILD = "hansard rebuild"
"""The command that makes the indexes again."""


def discard(path: str) -> None:
    """Remove a disposable database and its journals.

    The database is removed first: SQLite discards the log of an empty one, but would trust an old one without its log.
    """
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


class IndexDamaged(StoreCorrupt):
    """A disposable database is damaged; the holder of the sync lock may discard it and make it again."""

    def __init__(self, path: str, reason: object, repair: str = REBUILD) -> None:
        super().__init__(f"{path} is damaged ({reason}); it can be rebuilt from the record: run `{repair}`")
        self.path = path


@contextlib.contextmanager
def telling(path: str, repair: str = REBUILD) -> Iterator[None]:
    """Turn errors of SQLite and the file system about a disposable database into errors that say what to do."""
    try:
        yield
    except apsw.Error as error:
        if is_index_damage(error):
            raise IndexDamaged(path, error, repair) from error
        translated = store_error(error, path, lambda reason: IndexDamaged(path, reason, repair))
        if translated is error:
            raise
        raise translated from error


def is_index_damage(error: apsw.Error) -> bool:
    """Whether a disposable database does not match its schema, so that it must be made again."""
    if isinstance(error, apsw.SQLError):
        from hansard.index.schema import tables, text_tables

        what, _, name = str(error).partition(": ")
        table = name.rpartition(".")[2]
        created = (f" TABLE {table} ", f"VIRTUAL TABLE {table.partition('_')[0]} ")  # FTS5 has tables of its own
        schema = tables() + text_tables()
        is_ours = any(phrase in schema for phrase in created)
        return what in _BROKEN_TABLE or (what == "no such table" and is_ours)
    return isinstance(error, (apsw.ConstraintError, apsw.MismatchError)) or sqlite.is_page_damage(error)


_BROKEN_TABLE = ("vtable constructor failed", "fts5")


class Origin(Protocol):
    """The part of the record that an index uses."""

    store_id: str

    def head(self) -> tuple[int, bytes]:
        """Its last revision: number and hash."""

    def has_revision(self, number: object, hash_: object) -> bool:
        """Whether it was once in this state."""


class Disposable:
    """A database that can be made from the record at any time."""

    can_shrink = False

    def __init__(self, path: str, tables: Callable[[], str], version: int, origin: Origin) -> None:
        self.path = path
        self.fresh = False
        self._has_quarantine: bool | None = None
        try:
            self._open(tables, version, origin)
        except IndexDamaged:
            self._discard()
            self._open(tables, version, origin)

    def _open(self, tables: Callable[[], str], version: int, origin: Origin) -> None:
        with telling(self.path):
            if not os.path.exists(self.path):
                self._create(tables, version, origin.store_id)
            self._connect()
            try:
                if not self._fits(version, origin):
                    self.db.close()
                    self._discard()
                    self._create(tables, version, origin.store_id)
                    self._connect()
            except BaseException:
                self.db.close()
                raise

    def _connect(self) -> None:
        self.db = sqlite.connect(self.path)
        try:
            self._tune()
        except BaseException:
            self.db.close()
            raise

    def _discard(self) -> None:
        try:
            discard(self.path)
        except OSError as error:
            raise StoreUnusable(
                f"cannot recreate {self.path}: {error.strerror or error}. Close the programs that read it, or remove it by hand"
            ) from error

    def _tune(self) -> None:
        self.db.set_busy_timeout(10_000)
        self.db.execute("PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768")

    def _fits(self, version: int, origin: Origin) -> bool:
        if self.db.pragma("application_id") != _APPLICATION_ID or self.db.pragma("user_version") != version:
            return False
        if self.db.reserve_bytes("main") != (0 if sqlite.checksum_vfs() is None else sqlite.RESERVED):
            return False  # pages were, or would be, written without checksums
        known = self.meta("revision")
        # The record was restored from an older copy, or diverged since: no cursor can be trusted.
        return self.meta("store_id") == origin.store_id and (
            known == 0 or origin.has_revision(known, self.meta("lineage"))
        )

    def _create(self, tables: Callable[[], str], version: int, store_id: str) -> None:
        self.fresh = True

        def prepare(db: apsw.Connection) -> None:
            with db:
                db.execute(tables())
                db.execute("INSERT INTO meta VALUES ('store_id', ?), ('revision', 0)", (store_id,))
                db.execute(f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {version}")

        try:
            sqlite.create(self.path, prepare, can_shrink=self.can_shrink)
        except OSError as error:
            raise StoreUnusable(
                f"cannot write {self.path}: {error.strerror or error}. Check the data directory, or name another with --home"
            ) from error

    def meta(self, name: str) -> object:
        """A value of the meta table, or None."""
        row = self.db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def set_meta(self, name: str, value: str | int | bytes | None) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction; errors of SQLite become errors that say what to do."""
        with telling(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def isolated(self, stage: str, subject: str, size: int = 0) -> Iterator[None]:
        """A step that leaves only a note if it raises, unless the database itself is at fault.

        `size` is the size of the subject: it is tried again when it grows.
        """
        self.db.execute("SAVEPOINT step")
        try:
            yield
        except BaseException as error:
            with contextlib.suppress(apsw.Error):  # where the transaction is gone already, the first error says why
                self.db.execute("ROLLBACK TO step; RELEASE step")
            if not isinstance(error, Exception) or is_store_error(error):
                raise
            self.quarantine(stage, subject, size, error)
            return
        self.db.execute("RELEASE step")
        self.release(stage, subject)

    def quarantine(self, stage: str, subject: str, size: int, error: Exception) -> None:
        """Note that something could not be indexed."""
        self.db.execute(
            "INSERT INTO quarantine VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET size = excluded.size, reason = excluded.reason",
            (stage, subject, size, f"{type(error).__name__}: {error}"[:300], int(time.time() * 1000)),
        )
        self._has_quarantine = True

    def release(self, stage: str, subject: str) -> None:
        """Remove the note about something that could be indexed after all."""
        if self._quarantined():
            self.db.execute("DELETE FROM quarantine WHERE stage = ? AND subject = ?", (stage, subject))

    def is_quarantined(self, stage: str, subject: str, size: int) -> bool:
        if not self._quarantined():
            return False
        row = self.db.execute(
            "SELECT size FROM quarantine WHERE stage = ? AND subject = ?", (stage, subject)
        ).fetchone()
        return row is not None and row[0] == size

    def quarantined(self) -> int:
        return int(self.db.execute("SELECT count(*) FROM quarantine").get)

    def _quarantined(self) -> bool:
        """Whether anything is in quarantine, which is rare."""
        if self._has_quarantine is None:
            self._has_quarantine = self.db.execute("SELECT 1 FROM quarantine LIMIT 1").fetchone() is not None
        return self._has_quarantine

    def sign(self, revision: tuple[int, bytes]) -> None:
        """Note the revision of the record that this was completely made from."""
        self.set_meta("revision", revision[0])
        self.set_meta("lineage", revision[1])

    def close(self) -> None:
        self.db.close()


def internal_error(error: Exception, line: bytes, offset: int) -> Issue:
    """The issue for a line on which our own code failed; raises the error again if the line is not at fault."""
    if isinstance(error, (MemoryError, HansardError, apsw.Error)):
        raise error
    from hansard.clients.lines import Issue, length_of

    if isinstance(error, RecursionError):
        return Issue(offset, length_of(line), "too_deep")
    return Issue(offset, length_of(line), "internal_error", f"{type(error).__name__}: {error}"[:300])


def is_store_error(error: Exception) -> bool:
    """Whether the database or the disk is at fault, and not the data."""
    of_data = (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, apsw.RangeError)
    return isinstance(error, (HansardError, apsw.Error)) and not isinstance(error, of_data)


def count_quarantined(path: str) -> int:
    """The number of quarantined items in a disposable database."""
    with telling(path):
        db = sqlite.connect(path)  # writable, or its log would be left behind
        try:
            db.set_busy_timeout(2000)
            return int(db.execute("SELECT count(*) FROM quarantine").get)
        finally:
            db.close()


def signature(path: str, version: int) -> tuple[object, object, object, object] | None:
    """The store, the number and hash of the revision, and the prices that a disposable database was made from.

    None if it is missing, unreadable or of another version.
    """
    if not os.path.exists(path):
        return None
    try:
        db = connect_readonly(path, lambda db: db.set_busy_timeout(2000))
        try:
            if db.pragma("application_id") != _APPLICATION_ID or db.pragma("user_version") != version:
                return None
            rows: dict[object, object] = {}
            rows.update(
                db.execute("SELECT name, value FROM meta WHERE name IN ('store_id', 'revision', 'lineage', 'prices')")
            )
        finally:
            db.close()
    except apsw.Error:
        return None
    return rows.get("store_id"), rows.get("revision"), rows.get("lineage"), rows.get("prices")
