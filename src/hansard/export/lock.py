"""One export to a folder at a time, whoever started it: two would each write a manifest without the other's files.

The lock is an exclusive transaction on an empty SQLite file, as for a sync, so that the operating system lets go of it when
its holder dies.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

import apsw

from hansard.errors import StoreBusy
from hansard.export.files import make_folder
from hansard.files import FILE_MODE
from hansard.sources.names import printable

NAME = ".hansard-export.lock"
_BRIEFLY = 10.0  # seconds that the list of single files may be held by others
_STEP = 0.1  # seconds after which ctrl-c is noticed


@contextlib.contextmanager
def locked(folder: str, manifest: str, wait_seconds: float) -> Iterator[None]:
    """Hold a folder, which is made if it has to be; where no manifest came into it, it is left as it was found."""
    made = _missing(folder)
    make_folder(folder)
    path = os.path.join(folder, NAME)
    try:
        with held(path, folder, wait_seconds):
            try:
                yield
            finally:
                if not os.path.lexists(manifest):
                    _remove(path)
    finally:
        with contextlib.suppress(OSError):
            for place in made:
                os.rmdir(place)


@contextlib.contextmanager
def held(path: str, what: str, wait_seconds: float = _BRIEFLY) -> Iterator[None]:
    """Hold a lock; raises StoreBusy when another process holds it and does not let go in time."""
    db: apsw.Connection | None = None
    until = time.monotonic() + wait_seconds
    try:
        while (db := _taken(path)) is None:
            if time.monotonic() >= until:
                raise StoreBusy(
                    f"another export is writing to {printable(what)} and did not finish within {wait_seconds:g} s."
                    " Wait for it to end, then run this again"
                )
    except apsw.Error:
        pass  # no lock can be had here: if nothing can be written either, that is told where it is tried
    try:
        yield
    finally:
        if db is not None:
            db.close()


def _taken(path: str) -> apsw.Connection | None:
    """The lock; None while another has it."""
    # Made by SQLite and by nobody else: a process that closes a file lets go of all its locks on it.
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW
    db = apsw.Connection(path, flags)
    try:
        db.set_busy_timeout(int(_STEP * 1000))
        db.execute("BEGIN EXCLUSIVE")
        with contextlib.suppress(OSError):
            if os.stat(path).st_mode & 0o777 != FILE_MODE:
                os.chmod(path, FILE_MODE)
    except apsw.BusyError:
        db.close()
        return None
    except BaseException:
        db.close()
        raise
    return db


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        if os.path.isfile(path) and not os.path.islink(path) and not os.path.getsize(path):
            os.unlink(path)


def _missing(folder: str) -> list[str]:
    """The folders that have to be made, the innermost first."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing
