"""The files of a data directory: their names, the sync lock, and leftovers of killed processes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

import apsw

from hansard.errors import StoreUnusable
from hansard.files import DIRECTORY_MODE, FileLock
from hansard.sources.databases import COPY_PREFIX
from hansard.storage.sqlite import os_error, remove_partial, store_error

RECORD, INDEX, TEXT = "record.db", "index.db", "text.db"
NEW = ".new"  # an unfinished database of a rebuild
REPAIRED = ".repaired"  # a complete repaired record that has yet to be put in place
SAMPLE_PREFIX = "verify-"  # folders in which `verify` makes indexes of a sample
CHECK = ".check"  # fresh indexes that `verify --full` compares with


def place(home: str, name: str) -> str:
    return os.path.join(home, name)


@contextlib.contextmanager
def sync_lock(home: str, wait_seconds: float) -> Iterator[bool]:
    """Hold the store's sync lock; gives False if another process does not release it in time."""
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
    """Hold a fair lock: it passes to a process that waits.

    Waiting means polling, so a process that syncs without a break would usually win. Only the holder of the queue's lock may
    poll, so a process that has just released the sync lock queues behind those that wait.
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


def remove_leftovers(home: str) -> None:
    """Remove unfinished databases of a rebuild, a repair or a verification; the caller holds the sync lock, as they did."""
    from hansard.index.store import discard

    remove_partial(home)
    for name in (INDEX, TEXT):
        for suffix in (NEW, CHECK):
            if os.path.exists(place(home, name + suffix)):
                discard(place(home, name + suffix))
    for name in os.listdir(home):
        if name.startswith((SAMPLE_PREFIX, COPY_PREFIX)) and os.path.isdir(place(home, name)):
            import shutil

            shutil.rmtree(place(home, name), ignore_errors=True)
