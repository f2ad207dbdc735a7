"""One sync of a store at a time."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

import apsw

from hansard.errors import StoreUnusable
from hansard.files import DIRECTORY_MODE, FileLock
from hansard.storage.sqlite import os_error, store_error


@contextlib.contextmanager
def sync_lock(home: str, wait_seconds: float) -> Iterator[bool]:
    """Hold the store's sync lock; gives False when another process holds it and does not let go in time."""
    path = os.path.join(home, "sync.lock")
    with contextlib.ExitStack() as stack:
        try:
            os.makedirs(home, mode=DIRECTORY_MODE, exist_ok=True)
            held = stack.enter_context(_in_turn(path, wait_seconds))
        except OSError as error:
            raise os_error(error, path) from error
        except apsw.Error as error:
            raise store_error(error, path, lambda reason: StoreUnusable(f"{path}: {reason}. Remove it")) from error
        yield held


@contextlib.contextmanager
def _in_turn(path: str, wait_seconds: float) -> Iterator[bool]:
    """Hold a lock that is passed on to the process that waits for it.

    A lock is waited for by trying again, so a process that syncs without a break would mostly get it before any other. Only one
    process at a time may try, the one with the queue's lock; whoever lets go of the first lock has to wait for the second.
    """
    end = time.monotonic() + wait_seconds
    with contextlib.ExitStack() as stack:
        with (
            FileLock(f"{path}-queue", wait_seconds)
            if wait_seconds
            else contextlib.nullcontext(enter_result=True) as is_next
        ):
            held = is_next and stack.enter_context(FileLock(path, max(0.0, end - time.monotonic())))
        yield held
