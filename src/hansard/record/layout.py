"""Opening the database file: whose it is, which layout it has, and the steps that bring an older one up to date."""

from __future__ import annotations

import os
import time

import apsw

from hansard.errors import StoreNewer, StoreUnusable
from hansard.record import schema
from hansard.record.failures import told_os

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
WAL_LIMIT = 16 << 20
"""The write-ahead log is cut back to this after a checkpoint, so a first sync does not leave a large file behind."""


def now() -> str:
    """The present moment as ISO 8601 UTC with milliseconds."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{nanoseconds // 1_000_000:03d}Z"


def create_file(path: str) -> None:
    """Make the directory and an empty database file where they are missing, private from their first moment."""
    try:
        os.makedirs(os.path.dirname(path), mode=DIRECTORY_MODE, exist_ok=True)
        # SQLite gives the -wal and -shm files the mode of the database, so this one call settles all three.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
    except FileExistsError as error:
        if not os.path.isfile(path):
            if os.path.isdir(path):
                raise StoreUnusable(
                    f"{path}: it is a directory, where a database file should be. Move it away, or name another data directory with --home."
                ) from None
            raise told_os(error, path) from None
    except OSError as error:
        raise told_os(error, path) from None


def connect(path: str, *, readonly: bool, busy_seconds: float) -> apsw.Connection:
    """Open a connection that leaves a left-over write-ahead log alone until `prepare` has accepted the database."""
    if readonly and not os.path.isfile(path):
        raise StoreUnusable(
            f"{path}: there is no record here yet. Run `hansard sync` to make one, or name another data directory with --home."
        )
    flags = apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE
    db = apsw.Connection(path, flags=flags)
    try:
        _configure(db, busy_seconds)
        db.pragma("user_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        db.close()
        if not readonly or _pending_log(path):
            raise
        # On a read-only medium SQLite cannot make its -shm file; without a pending log none is needed.
        db = apsw.Connection(_immutable(path), flags=flags | apsw.SQLITE_OPEN_URI)
        _configure(db, busy_seconds)
    except BaseException:
        db.close()
        raise
    return db


def prepare(db: apsw.Connection, path: str, *, readonly: bool, busy_seconds: float) -> None:
    """Refuse what is not ours or is newer, create or migrate what must be, and set the connection up."""
    latest = schema.MIGRATIONS[-1].version
    version = _version(db, path)
    if version > latest:
        raise StoreNewer(
            f"{path}: written by a newer Hansard (layout {version}, this one knows {latest}). "
            "Nothing was changed. Upgrade Hansard, or name another data directory with --home."
        )
    if version < latest:
        if readonly:
            what = "empty" if version == 0 else f"of an older layout ({version}; this Hansard uses {latest})"
            raise StoreUnusable(f"{path}: the record is {what}. Run `hansard sync` to bring it up to date.")
        if version == 0:
            db.pragma("page_size", schema.PAGE_SIZE)
            _use_log(db, busy_seconds)
        db.pragma("synchronous", "full")
        _migrate(db, path, busy_seconds)
    if not readonly:
        db.pragma("synchronous", "full")
        db.pragma("checkpoint_fullfsync", 1)
        db.pragma("foreign_keys", 1)
        db.pragma("journal_size_limit", WAL_LIMIT)
    db.pragma("cell_size_check", 1)
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


def _use_log(db: apsw.Connection, busy_seconds: float) -> None:
    """Switch to a write-ahead log; SQLite does not wait by itself where two processes do so at the same moment."""
    until = time.monotonic() + busy_seconds
    while True:
        try:
            db.pragma("journal_mode", "wal")
            return
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def _configure(db: apsw.Connection, busy_seconds: float) -> None:
    # Closing the last connection would fold the log into a database that may be newer or damaged.
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    db.set_busy_timeout(round(busy_seconds * 1000))


def _immutable(path: str) -> str:
    from urllib.parse import quote

    slashed = path.replace(os.sep, "/")
    return "file:" + ("" if slashed.startswith("/") else "/") + quote(slashed, safe="/:") + "?immutable=1"


def _pending_log(path: str) -> bool:
    try:
        return os.path.getsize(path + "-wal") > 0
    except OSError:
        return False


def _version(db: apsw.Connection, path: str) -> int:
    """The layout of the database, 0 when it is new; read in one transaction, as another process may be creating it."""
    db.execute("BEGIN")
    try:
        application = int(db.pragma("application_id"))
        version = int(db.pragma("user_version"))
        objects = db.execute("SELECT count(*) FROM sqlite_schema").get
    finally:
        db.execute("ROLLBACK")
    if application == schema.APPLICATION_ID:
        return version
    if application == 0 and version == 0 and objects == 0:
        return 0
    raise StoreUnusable(
        f"{path}: a database of another program. It was not changed; name another data directory with --home."
    )


def _migrate(db: apsw.Connection, path: str, busy_seconds: float) -> None:
    """Apply the missing steps in one transaction, after a backup of a store that holds something."""
    backup: str | None = None
    db.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while we waited for the lock.
        version = int(db.pragma("user_version"))
        missing = [step for step in schema.MIGRATIONS if step.version > version]
        if missing and version:
            backup = _back_up(path, version, busy_seconds)
        for step in missing:
            db.execute(step.sql, can_cache=False)
            db.pragma("user_version", step.version)
        if version == 0 and missing:
            import uuid

            db.pragma("application_id", schema.APPLICATION_ID)
            db.execute("INSERT INTO store VALUES (1, ?, ?, 0)", (str(uuid.uuid4()), now()))
        elif missing:
            db.execute("UPDATE store SET revision = revision + 1")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if backup:
            os.unlink(backup)
        raise


def _back_up(path: str, version: int, busy_seconds: float) -> str:
    """Copy the committed state beside the store, privately and under its final name only when complete."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    final = f"{path}.layout-{version}-{stamp}.backup"
    partial = f"{final}.{os.urandom(4).hex()}"
    create_file(partial)
    try:
        source = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            source.set_busy_timeout(round(busy_seconds * 1000))
            target = apsw.Connection(partial, flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                with target.backup("main", source, "main") as copy:
                    copy.step(-1)
            finally:
                target.close()
        finally:
            source.close()
        os.replace(partial, final)
    except BaseException:
        os.unlink(partial)
        raise
    return final
