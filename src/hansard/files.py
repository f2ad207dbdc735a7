"""Private files, which only their owner can read, and a lock between processes.

The status line and hooks import this, so the imports are few.
"""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    import apsw

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
READ_FLAGS = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | _BINARY
"""Flags to open a file for reading: links are not followed, and a pipe does not block."""
CHANGE_FLAGS = os.O_RDWR | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | _BINARY
"""The same for reading and writing."""
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _BINARY
"""Flags to create a file where nothing is."""
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK
_STEP = 0.1  # seconds after which ctrl-c is noticed


class FileLock:
    """A lock to hold in a `with`; it gives False if another process does not release it in time.

    It is an exclusive transaction on an empty SQLite file, so the operating system releases it when its holder
    dies, on every platform.
    """

    def __init__(self, path: str, wait_seconds: float) -> None:
        self._path = path
        self._wait_seconds = wait_seconds
        self._db: apsw.Connection | None = None

    def __enter__(self) -> bool:
        until = time.monotonic() + self._wait_seconds
        while True:
            self._db = _take(self._path, min(_STEP, self._wait_seconds))
            if self._db is not None or time.monotonic() >= until:
                return self._db is not None

    def __exit__(self, *_: object) -> None:
        if self._db is not None:
            self._db.close()


def _take(path: str, wait_seconds: float) -> apsw.Connection | None:
    """The lock; None if another process held it all the time."""
    import apsw

    # NOFOLLOW applies to the whole path. Only SQLite creates the file: a process that
    # closes a file releases all its locks on it.
    place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    db = apsw.Connection(place, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW)
    try:
        db.set_busy_timeout(int(wait_seconds * 1000))
        db.execute("BEGIN EXCLUSIVE")
        if not os.path.exists(place):  # its former holder removed it
            db.close()
            return None
        _restrict(place)
    except BaseException as error:
        db.close()
        if isinstance(error, apsw.BusyError):
            return None
        raise
    return db


def _restrict(path: str) -> None:
    try:
        if os.stat(path).st_mode & 0o777 != FILE_MODE:
            os.chmod(path, FILE_MODE)
    except OSError:
        return


def make_private_folder(path: str) -> None:
    """Create a folder and its missing parents, for their owner only."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above not in ("", path):
        make_private_folder(above)
    try:
        os.mkdir(path, DIRECTORY_MODE)
    except FileExistsError:
        if not os.path.isdir(path):
            raise NotADirectoryError(20, "Not a directory", path) from None


def write_private(path: str, content: bytes) -> None:
    """Replace a small file atomically; only the user can read it."""
    partial = f"{path}.{os.getpid()}.part"
    try:
        with open(os.open(partial, _FLAGS, FILE_MODE), "wb") as file:
            file.write(content)
        os.replace(partial, path)
    except OSError:
        _unlink(partial)
        raise


def overwrite_and_remove(path: str) -> None:
    """Remove a file, its bytes first; a link is removed itself, and a file that has another name keeps its bytes."""
    try:
        # What is there may be exchanged at any moment: a link is not followed, and a pipe does not block.
        file = os.open(path, CHANGE_FLAGS)
    except FileNotFoundError:
        return
    except OSError:
        if os.path.isfile(path) and not os.path.islink(path):
            raise
        _remove(path)
        return
    try:
        status = os.fstat(file)
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
            left = status.st_size
            while left > 0:
                left -= os.write(file, bytes(min(left, 1 << 20))) or left
            os.fsync(file)
    finally:
        os.close(file)
    _remove(path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def remove_stale_partials(folder: str) -> None:
    """Remove partial files of killed processes."""
    for name in os.listdir(folder):
        stem, _, suffix = name.rpartition(".")
        pid = stem.rpartition(".")[2]
        if suffix == "part" and pid.isascii() and pid.isdigit() and not is_alive(int(pid)):
            _unlink(os.path.join(folder, name))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


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
