"""Opening SQLite for reading where the -shm file, which WAL mode wants, cannot be made: a full disk, a read-only directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import apsw

from hansard.storage.sqlite import connect

_T = TypeVar("_T")
_SHM_REGION = 1 << 15  # bytes; a -shm file has one or more of these
_SHM_ERRORS = frozenset({apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP})


def connect_readonly(path: str, prepare: Callable[[apsw.Connection], object] = lambda _: None) -> apsw.Connection:
    """Open a database file for reading and read its first page, after `prepare` has set the connection up."""

    def attempt(uri: str) -> apsw.Connection:
        db = connect(uri, readonly=True, flags=apsw.SQLITE_OPEN_URI)
        try:
            prepare(db)
            db.pragma("user_version")
        except BaseException:
            db.close()
            raise
        return db

    return try_uris(path, attempt)


def try_uris(path: str, attempt: Callable[[str], _T]) -> _T:
    """Call `attempt` with the URI of a database for reading, and again with other options if SQLite cannot make its -shm file.

    With `readonly_shm` SQLite builds the index of the log in memory: it sees all that was committed, and notices when another
    process begins to write. (An exclusive lock would do that too, but then only one process could read.) It needs a -shm file of
    any size, and the first attempt leaves one on a full disk. In a read-only directory there is none. There the database is opened
    as immutable, unless it has a log: its content would be ignored.
    """
    try:
        return attempt(uri_of(path, "mode=ro"))
    except apsw.Error as error:
        if not _is_shm_missing(error):
            raise
        without_shm = error
    if os.path.exists(path + "-shm"):
        try:
            return attempt(uri_of(path, "mode=ro&readonly_shm=1"))
        except apsw.Error as error:
            if not _is_shm_missing(error):
                raise
    if _has_log(path):
        raise without_shm
    return attempt(uri_of(path, "immutable=1"))


def has_shared_memory(path: str) -> bool:
    """Whether connections to an open database share memory in a -shm file: all do, unless it could not be made."""
    try:
        return os.path.getsize(path + "-shm") >= _SHM_REGION
    except OSError:
        return False


def uri_of(path: str, options: str) -> str:
    """A path as SQLite's URI; only three characters mean something there, and urllib costs start-up."""
    slashed = os.path.abspath(path).replace(os.sep, "/")
    for character in "%?#":
        slashed = slashed.replace(character, f"%{ord(character):02x}")
    return "file:" + ("" if slashed.startswith("/") else "/") + slashed + "?" + options


def _is_shm_missing(error: apsw.Error) -> bool:
    return (
        isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError) or getattr(error, "extendedresult", 0) in _SHM_ERRORS
    )


def _has_log(path: str) -> bool:
    try:
        return os.path.getsize(path + "-wal") > 0
    except OSError:
        return False
