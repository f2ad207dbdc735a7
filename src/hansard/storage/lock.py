"""A lock between processes that the operating system lets go of when its holder dies, whatever the platform."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import apsw

from hansard.errors import StoreUnusable
from hansard.storage.failures import os_error, store_error


@contextlib.contextmanager
def file_lock(path: str, wait_seconds: float) -> Iterator[bool]:
    """Hold a lock; gives False when another process holds it and does not let go in time.

    It is an exclusive transaction on an empty SQLite file of its own.
    """
    db: apsw.Connection | None = None
    try:
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            db = apsw.Connection(path)
            db.set_busy_timeout(int(wait_seconds * 1000))
            db.execute("BEGIN EXCLUSIVE")
            held = True
        except apsw.BusyError:
            held = False
        except OSError as error:
            raise os_error(error, path) from error
        except apsw.Error as error:
            raise store_error(error, path, lambda reason: StoreUnusable(f"{path}: {reason}. Remove it")) from error
        yield held
    finally:
        if db is not None:
            db.close()
