"""Who may read the files that Hansard makes: only their owner; and a lock between processes that is one of these files."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
_STEP = 0.1  # seconds after which ctrl-c is noticed


@contextlib.contextmanager
def file_lock(path: str, wait_seconds: float) -> Iterator[bool]:
    """Hold a lock; gives False when another process holds it and does not let go in time.

    It is an exclusive transaction on an empty SQLite file of its own, so the operating system lets go of it when its holder
    dies, whatever the platform.
    """
    db: apsw.Connection | None = None
    until = time.monotonic() + wait_seconds
    while (db := _take(path, min(_STEP, wait_seconds))) is None and time.monotonic() < until:
        pass
    try:
        yield db is not None
    finally:
        if db is not None:
            db.close()


def _take(path: str, wait_seconds: float) -> apsw.Connection | None:
    """The lock; None where another has it for all of this time."""
    import apsw

    # SQLite's word for "no link" is about the whole path. The file is made by SQLite and by nobody else: a process that
    # closes a file lets go of all its locks on it.
    place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    db = apsw.Connection(place, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW)
    try:
        db.set_busy_timeout(int(wait_seconds * 1000))
        db.execute("BEGIN EXCLUSIVE")
        if not os.path.exists(place):  # its former holder removed it
            db.close()
            return None
        with contextlib.suppress(OSError):
            if os.stat(place).st_mode & 0o777 != FILE_MODE:
                os.chmod(place, FILE_MODE)
    except BaseException as error:
        db.close()
        if isinstance(error, apsw.BusyError):
            return None
        raise
    return db


def write_private(path: str, content: bytes) -> None:
    """Replace a small file as a whole; nobody else may read it, and nobody sees half of it."""
    partial = f"{path}.{os.getpid()}.part"
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), FILE_MODE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def remove_stale_partials(folder: str) -> None:
    """Remove what killed processes left of `write_private`."""
    for name in os.listdir(folder):
        stem, _, suffix = name.rpartition(".")
        pid = stem.rpartition(".")[2]
        if suffix == "part" and pid.isascii() and pid.isdigit() and not is_alive(int(pid)):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))


def is_alive(pid: int) -> bool:
    """Whether a process exists; always True on Windows, where the question would end it."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
