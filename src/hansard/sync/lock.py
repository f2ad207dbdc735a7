"""One sync at a time: a lock that the operating system lets go of when its holder dies, whatever the platform."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

import apsw

from hansard.errors import StoreUnusable


@contextlib.contextmanager
def sync_lock(home: str, wait_seconds: float) -> Iterator[bool]:
    """Hold the store's sync lock; gives False when another process holds it and does not let go in time.

    The lock is an exclusive transaction on an empty SQLite file of its own.
    """
    path = os.path.join(home, "sync.lock")
    db: apsw.Connection | None = None
    try:
        try:
            os.makedirs(home, mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            db = apsw.Connection(path)
            db.set_busy_timeout(int(wait_seconds * 1000))
            db.execute("BEGIN EXCLUSIVE")
            held = True
        except apsw.BusyError:
            held = False
        except (OSError, apsw.Error) as error:
            if isinstance(error, apsw.FullError) or getattr(error, "errno", None) == errno.ENOSPC:
                raise StoreUnusable(
                    f"no space left to write in {home}; nothing is lost. Free some space and run this again"
                ) from error
            reason = getattr(error, "strerror", None) or error
            raise StoreUnusable(
                f"cannot write in {home}: {reason}. Check its permissions, or name another with --home"
            ) from error
        yield held
    finally:
        if db is not None:
            db.close()
