"""One sync of a store at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import apsw

from hansard.errors import StoreUnusable
from hansard.files import DIRECTORY_MODE, file_lock
from hansard.storage.failures import os_error, store_error


@contextlib.contextmanager
def sync_lock(home: str, wait_seconds: float) -> Iterator[bool]:
    """Hold the store's sync lock; gives False when another process holds it and does not let go in time."""
    path = os.path.join(home, "sync.lock")
    with contextlib.ExitStack() as stack:
        try:
            os.makedirs(home, mode=DIRECTORY_MODE, exist_ok=True)
            held = stack.enter_context(file_lock(path, wait_seconds))
        except OSError as error:
            raise os_error(error, path) from error
        except apsw.Error as error:
            raise store_error(error, path, lambda reason: StoreUnusable(f"{path}: {reason}. Remove it")) from error
        yield held
