"""Opening the disposable databases: made when absent, made again when damaged, of another version or of another record."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import apsw

from hansard.errors import StoreBusy, StoreCorrupt, StoreUnusable

_APPLICATION_ID = 0x48416E78  # "HAnx"


def create_private(path: str) -> None:
    """Create an empty file that only its owner can read, if there is none."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def discard(path: str) -> None:
    """Remove a disposable database and its journals."""
    for suffix in ("-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


class Disposable:
    """A database that can be made again from the record at any time."""

    def __init__(self, path: str, tables: str, version: int, store_id: str, revision: int) -> None:
        self.path = path
        self.fresh = False
        try:
            self._open(tables, version, store_id, revision)
        except (apsw.CorruptError, apsw.NotADBError):
            discard(path)
            self._open(tables, version, store_id, revision)

    def _open(self, tables: str, version: int, store_id: str, revision: int) -> None:
        try:
            create_private(self.path)
            self.db = apsw.Connection(self.path)
            self._tune()
            if not self._fits(version, store_id, revision):
                self.db.close()
                discard(self.path)
                create_private(self.path)
                self.db = apsw.Connection(self.path)
                self._tune()
                self._create(tables, version, store_id)
        except (apsw.CantOpenError, apsw.ReadOnlyError, PermissionError) as error:
            message = f"cannot write {self.path}: {error}. Check the permissions of the data directory, or name another with --home"
            raise StoreUnusable(message) from error

    def _tune(self) -> None:
        self.db.set_busy_timeout(10_000)
        self.db.execute("PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768")

    def _fits(self, version: int, store_id: str, revision: int) -> bool:
        if self.db.pragma("application_id") != _APPLICATION_ID or self.db.pragma("user_version") != version:
            return False
        known = self.meta("revision")
        # An index from the future: the record was put back to an older copy, and no cursor can be trusted to fit it.
        return self.meta("store_id") == store_id and isinstance(known, int) and known <= revision

    def _create(self, tables: str, version: int, store_id: str) -> None:
        self.fresh = True
        self.db.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL")
        with self.transaction():
            self.db.execute(tables)
            self.db.execute("INSERT INTO meta VALUES ('store_id', ?), ('revision', 0)", (store_id,))
            self.db.execute(f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {version}")

    def meta(self, name: str) -> object:
        """One value of the meta table, None when it is not there."""
        row = self.db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def set_meta(self, name: str, value: object) -> None:
        """Set one value of the meta table."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction; what SQLite complains about becomes an error that says what to do."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise
            self.db.execute("COMMIT")
        except apsw.FullError as error:
            message = f"the disk is full while writing {self.path}; nothing is lost. Free some space and run `hansard sync` again"
            raise StoreUnusable(message) from error
        except apsw.BusyError as error:
            raise StoreBusy(f"another process is writing {self.path}") from error
        except (apsw.CorruptError, apsw.NotADBError) as error:
            message = f"{self.path} is damaged; it holds nothing that the record does not. Run `hansard rebuild`"
            raise StoreCorrupt(message) from error
        except (apsw.ReadOnlyError, apsw.IOError) as error:
            raise StoreUnusable(f"cannot write {self.path}: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        self.db.close()


def signature(path: str) -> tuple[object, object] | None:
    """The store and the revision that a disposable database was made from, None when it is not there or not readable."""
    if not os.path.exists(path):
        return None
    try:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            db.set_busy_timeout(2000)
            rows = dict(db.execute("SELECT name, value FROM meta WHERE name IN ('store_id', 'revision')"))  # type: ignore[arg-type]
        finally:
            db.close()
    except apsw.Error:
        return None
    return rows.get("store_id"), rows.get("revision")
