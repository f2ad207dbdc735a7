"""Opening the database file: whose it is, which layout it has, and the steps that bring an older one up to date."""

from __future__ import annotations

import os
import time

import apsw

from hansard.errors import StoreNewer, StoreUnusable
from hansard.files import DIRECTORY_MODE, FILE_MODE
from hansard.record import schema
from hansard.storage import sqlite
from hansard.storage.sqlite import connect_readonly, os_error

_CHECKING = "checksum_verification"
WAL_LIMIT = 16 << 20
"""The write-ahead log is cut back to this after a checkpoint, so a first sync does not leave a large file behind."""


def now() -> str:
    """The present moment as ISO 8601 UTC with milliseconds."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{nanoseconds // 1_000_000:03d}Z"


def create(path: str) -> None:
    """Make the directory and the store where they are missing; another process may do so at the same moment."""
    try:
        os.makedirs(os.path.dirname(path), mode=DIRECTORY_MODE, exist_ok=True)
        if os.path.isdir(path):
            raise StoreUnusable(
                f"{path}: a directory is where the database file should be. Move it away, or name another data directory with --home."
            )
        if os.path.exists(path):
            if os.path.getsize(path):
                return
            os.unlink(path)  # left by a process that was interrupted
        sqlite.create(path, lambda db: _migrate(db, path, busy_seconds=0))
    except OSError as error:
        raise os_error(error, path) from None


def connect(path: str, *, readonly: bool, busy_seconds: float) -> apsw.Connection:
    """Open a connection that leaves a left-over write-ahead log alone until `prepare` has accepted the database."""
    if readonly and not os.path.isfile(path):
        raise StoreUnusable(
            f"{path}: there is no record here yet. Run `hansard sync` to create one, or name another data directory with --home."
        )

    def configure(db: apsw.Connection) -> None:
        _configure(db, busy_seconds)
        try:
            db.pragma("user_version")
        except apsw.IOError as error:
            if not sqlite.is_page_damage(error) or not has_stale_checksums(db, path):
                raise

    if readonly:
        return connect_readonly(path, configure)
    db = sqlite.connect(path)
    try:
        configure(db)
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
        db.pragma("synchronous", "full")
        _migrate(db, path, busy_seconds)
    if not readonly:
        db.pragma("synchronous", "full")
        db.pragma("checkpoint_fullfsync", 1)
        db.pragma("foreign_keys", 1)
        db.pragma("journal_size_limit", WAL_LIMIT)
    if latest >= schema.LINEAGE_VERSION:
        _check_pages(db, path, readonly=readonly)
    db.pragma("cell_size_check", 1)
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


def _check_pages(db: apsw.Connection, path: str, *, readonly: bool) -> None:
    """See to it that each page has a checksum and is checked as it is read, as far as that can be done."""
    stated = db.execute("SELECT page_checksums FROM store").get
    if sqlite.checksum_vfs() is None:
        if stated and not readonly:
            # Pages written from here on have no checksums, so later readers must not require them.
            db.execute("UPDATE store SET page_checksums = 0")
        return
    if stated and checks_pages(db):
        return
    if sqlite.has_flipped_bit(path):
        raise apsw.CorruptError("a bit of its first page has flipped")
    db.pragma(_CHECKING, 0)
    if not readonly:
        try:
            sqlite.reserve_checksums(db)
            db.execute("VACUUM")
            db.execute("UPDATE store SET page_checksums = 1")
        except (apsw.BusyError, apsw.LockedError, apsw.FullError):
            return  # tried again the next time
        db.pragma(_CHECKING, 1)


def has_stale_checksums(db: apsw.Connection, path: str) -> bool:
    """Whether pages lack their checksums because a program wrote them that knows of none; they are not asked for any more."""
    if sqlite.checksum_vfs() is None:
        return False
    db.pragma(_CHECKING, 0)
    if not sqlite.is_checksummed(path):
        return not sqlite.has_flipped_bit(path)
    try:
        return not db.execute("SELECT page_checksums FROM store").get
    except apsw.Error:
        return False


def checks_pages(db: apsw.Connection) -> bool:
    """Whether pages are checked against their checksums as they are read."""
    return sqlite.checksum_vfs() is not None and bool(int(db.pragma(_CHECKING)))


def _configure(db: apsw.Connection, busy_seconds: float) -> None:
    # Closing the last connection would fold the log into a database that may be newer or damaged.
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    db.set_busy_timeout(round(busy_seconds * 1000))


def _version(db: apsw.Connection, path: str) -> int:
    """The layout of the database, 0 when it is new; read in one transaction, as another process may be creating it."""
    db.execute("BEGIN")
    try:
        application = int(db.pragma("application_id"))
        version = int(db.pragma("user_version"))
        objects = db.execute("SELECT count(*) FROM sqlite_schema").get
    finally:
        if db.in_transaction:  # a damaged page has ended it
            db.execute("ROLLBACK")
    if application == schema.APPLICATION_ID:
        return version
    if application == 0 and version == 0 and objects == 0:
        return 0
    raise StoreUnusable(
        f"{path}: belongs to another program. It was not changed; choose another data directory with --home."
    )


def _migrate(db: apsw.Connection, path: str, busy_seconds: float) -> None:
    """Apply the missing steps in one transaction, after a backup of a store that holds something."""
    from hansard.record import chain  # which imports the database, and so this module

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
            db.execute(
                "INSERT INTO store (id, store_id, created_at, revision) VALUES (1, ?, ?, 0)", (str(uuid.uuid4()), now())
            )
        elif missing:
            db.execute("UPDATE store SET revision = revision + 1")
        reached = int(db.pragma("user_version"))
        if schema.LINEAGE_VERSION <= version < schema.DATED_VERSION <= reached:
            chain.extend(db, now())
        if version < schema.LINEAGE_VERSION <= reached:
            chain.begin(db, db.execute("SELECT store_id FROM store").get, now())
            if version == 0 and sqlite.checksum_vfs() is not None:
                db.execute("UPDATE store SET page_checksums = 1")
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
    folder, name = os.path.split(path)
    for other in os.listdir(folder or "."):
        # Of a process that was killed here: nobody else is, as the caller holds the write lock.
        if other.startswith(f"{name}.layout-") and ".backup." in other:
            os.unlink(os.path.join(folder, other))
    partial = f"{final}.{os.urandom(4).hex()}"
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
    try:
        source = sqlite.connect(path, readonly=True)
        try:
            source.set_busy_timeout(round(busy_seconds * 1000))
            target = sqlite.connect(partial)
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
