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
    """Remove a disposable database and its journals.

    The database goes first: SQLite throws away the log of an empty one, but would trust an old one that lost its log.
    """
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


class IndexDamaged(StoreCorrupt):
    """A disposable database is damaged; whoever holds the sync lock may discard it and make it again."""

    def __init__(self, path: str, reason: object) -> None:
        super().__init__(
            f"{path} is damaged ({reason}); it holds nothing that the record does not. Run `hansard rebuild`"
        )
        self.path = path


@contextlib.contextmanager
def telling(path: str) -> Iterator[None]:
    """Turn what SQLite and the file system say about a disposable database into errors that say what to do."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise IndexDamaged(path, error) from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ:
            raise IndexDamaged(path, error) from error
        raise StoreUnusable(f"cannot read or write {path}: {error}. Check the disk") from error
    except apsw.FullError as error:
        raise StoreUnusable(
            f"no space left while writing {path}; nothing is lost. Free some space and run `hansard sync` again"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"another process is writing {path}. Wait for it to end, then run this again") from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreUnusable(
            f"cannot write {path}: {error}. Check the permissions of the data directory, or name another with --home"
        ) from error
    except apsw.Error as error:
        # Another layout under our version number, a missing table: whatever it is, it can be made again.
        raise IndexDamaged(path, error) from error


class Disposable:
    """A database that can be made again from the record at any time."""

    def __init__(self, path: str, tables: str, version: int, store_id: str, revision: int) -> None:
        self.path = path
        self.fresh = False
        try:
            self._open(tables, version, store_id, revision)
        except IndexDamaged:
            self._discard()
            self._open(tables, version, store_id, revision)

    def _open(self, tables: str, version: int, store_id: str, revision: int) -> None:
        with telling(self.path):
            self._connect()
            try:
                if not self._fits(version, store_id, revision):
                    self.db.close()
                    self._discard()
                    self._connect()
                    self._create(tables, version, store_id)
            except BaseException:
                self.db.close()
                raise

    def _connect(self) -> None:
        try:
            create_private(self.path)
        except OSError as error:
            raise StoreUnusable(
                f"cannot write {self.path}: {error.strerror or error}. Check the data directory, or name another with --home"
            ) from error
        self.db = apsw.Connection(self.path)
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
                f"cannot make {self.path} again: {error.strerror or error}. Close the programs that read it, or remove it by hand"
            ) from error

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

    def set_meta(self, name: str, value: str | int | None) -> None:
        """Set one value of the meta table."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction; what SQLite complains about becomes an error that says what to do."""
        with telling(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise

    def sign(self, revision: int) -> None:
        """Note the revision of the record that this was made from in full."""
        self.set_meta("revision", revision)

    def close(self) -> None:
        """Close the connection."""
        self.db.close()


def meta(path: str, name: str) -> object:
    """One value of a disposable database's meta table; None where it cannot be read."""
    try:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            db.set_busy_timeout(2000)
            row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        finally:
            db.close()
    except apsw.Error:
        return None
    return row[0] if row else None


def signature(path: str, version: int) -> tuple[object, object] | None:
    """The store and the revision that a disposable database was made from, None when it is absent, unreadable or of another version."""
    if not os.path.exists(path):
        return None
    try:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            db.set_busy_timeout(2000)
            if db.pragma("application_id") != _APPLICATION_ID or db.pragma("user_version") != version:
                return None
            rows: dict[object, object] = {}
            rows.update(db.execute("SELECT name, value FROM meta WHERE name IN ('store_id', 'revision')"))
        finally:
            db.close()
    except apsw.Error:
        return None
    return rows.get("store_id"), rows.get("revision")
