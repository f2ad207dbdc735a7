"""What SQLite and the file system say, as errors that a person can act on."""

from __future__ import annotations

import errno
from collections.abc import Callable

import apsw

from hansard.errors import HansardError, StoreBusy, StoreUnusable
from hansard.storage.sqlite import is_page_damage, unwritable_file

NO_SPACE = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})


def store_error(error: apsw.Error, path: str, damaged: Callable[[apsw.Error], HansardError]) -> Exception:
    """The error of our tree for an error of SQLite on the database at `path`; `damaged` makes the one for a damaged file.

    A mistake in our own SQL stays what it is: no user can mend it, and the file is not to blame.
    """
    if isinstance(error, apsw.SQLError):
        return error
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreBusy(
            f"{path}: another process is writing to it and did not finish in time. "
            "Wait for it to end (another sync or watch?), then run this again.",
        )
    if is_page_damage(error):
        return damaged(error)
    if isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
        return StoreUnusable(
            f"{path}: no space left to write. What was being written was undone, everything before is intact. "
            "Free some space, or move the data directory to a larger disk and name it with --home, then run this again.",
        )
    if isinstance(error, (apsw.ReadOnlyError, apsw.CantOpenError)):
        blamed = unwritable_file(path)
        if blamed != path:
            return StoreUnusable(
                f"{blamed}: SQLite keeps this file beside the database and cannot write to it. End the programs that use this "
                "store, then make it a file of yours with mode 0600, or remove it if its name ends in -shm, and run this again.",
            )
    if isinstance(error, apsw.ReadOnlyError):
        return StoreUnusable(
            f"{path}: readable but not writable. Check the permissions of the file and of its directory, "
            "or name another data directory with --home.",
        )
    if isinstance(error, (apsw.CantOpenError, apsw.PermissionsError)):
        return StoreUnusable(
            f"{path}: it cannot be opened ({error}). Check that you may read and write this file and its directory, "
            "or name another data directory with --home.",
        )
    if isinstance(error, apsw.TooBigError):
        return StoreUnusable(f"{path}: a file is too large to be kept whole ({error}). Leave it out.")
    return StoreUnusable(
        f"{path}: the database could not be read or written ({type(error).__name__}: {error}). "
        "Check the disk; everything that was committed before is intact.",
    )


def os_error(error: OSError, path: str) -> StoreUnusable:
    """The error of our tree for what the file system refused while making room for the file at `path`."""
    if error.errno in NO_SPACE:
        return StoreUnusable(
            f"{path}: no space left to create it. Free some space, or name another data directory with --home."
        )
    if isinstance(error, (NotADirectoryError, FileExistsError)):
        return StoreUnusable(
            f"{path}: {error.filename or 'its parent'} is not a directory. Name another data directory with --home."
        )
    return StoreUnusable(
        f"{path}: it cannot be created ({error.strerror or error}). "
        "Check the permissions of its directory, or name another data directory with --home.",
    )
