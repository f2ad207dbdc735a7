"""Replacing a record with damaged pages by one made from its readable parts and the sources."""

from __future__ import annotations

import glob
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress

import apsw

from hansard.errors import StoreCorrupt, StoreUnusable
from hansard.files import FILE_MODE
from hansard.index.store import discard
from hansard.record import layout
from hansard.record.broken import remove
from hansard.record.database import record_error
from hansard.record.salvage import SalvageReport, salvage
from hansard.record.store import Record
from hansard.sources.roots import Root
from hansard.storage.sqlite import PARTIAL, os_error
from hansard.sync.data_files import INDEX, RECORD, REPAIRED, TEXT, place

_DAMAGED = ".damaged-"


def has_damaged_pages(home: str) -> bool:
    """Whether the file of the record is damaged, and not only bytes in it that another program changed."""
    try:
        with Record.open(place(home, RECORD), readonly=True) as record:
            return bool(record.page_damage())
    except StoreCorrupt:
        return True


def replace_record(home: str, roots: Sequence[Root]) -> SalvageReport:
    """Build the record anew; the caller holds the sync lock.

    The new record is complete, under another name, before anything changes: from then on every sync and every repair begins by
    putting it in place. The sources are only read.
    """
    path = place(home, RECORD)
    partial = path + REPAIRED + PARTIAL
    remove(partial)
    try:
        try:
            report = salvage(path, partial, roots)
        except StoreCorrupt as error:
            layout.create(partial)
            report = SalvageReport(doubtful=[f"nothing of it could be read: {error}"])
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, path + REPAIRED)
    except apsw.Error as error:
        raise record_error(error, partial) from error
    except OSError as error:
        raise os_error(error, partial) from error
    finish_repair(home)
    return report


def finish_repair(home: str) -> None:
    """Put a repaired record in place, if there is one; the caller holds the sync lock.

    The damaged one is kept beside it. The indexes were made from it, so they are removed; a sync makes them again.
    """
    path = place(home, RECORD)
    if not os.path.exists(path + REPAIRED):
        return
    try:
        _keep_damaged(path)
        for name in (INDEX, TEXT):
            discard(place(home, name))
        for suffix in ("-wal", "-shm"):  # SQLite would take the old log for the new record's
            with suppress(FileNotFoundError):
                os.unlink(path + suffix)
        os.replace(path + REPAIRED, path)
    except OSError as error:
        raise StoreUnusable(
            f"cannot replace {path}: {error.strerror or error}. Close the programs that read it, then run this again."
        ) from error


def damaged_copies(home: str) -> list[str]:
    """The damaged records that repairs kept, the oldest first."""
    found = glob.glob(glob.escape(place(home, RECORD)) + _DAMAGED + "*")
    return sorted(name for name in found if not name.endswith(("-wal", PARTIAL)))


def _keep_damaged(path: str) -> None:
    """Link the damaged record to a second name, its log first: together they are a complete database under that name."""
    if any(os.path.samefile(path, other) for other in damaged_copies(os.path.dirname(path))):
        return  # a repair that was interrupted
    kept = f"{path}{_DAMAGED}{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}"
    if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
        shutil.copyfile(path + "-wal", kept + "-wal")
        os.chmod(kept + "-wal", FILE_MODE)
    try:
        os.link(path, kept)
    except OSError:  # a file system without hard links
        shutil.copyfile(path, kept + PARTIAL)
        os.chmod(kept + PARTIAL, FILE_MODE)
        os.replace(kept + PARTIAL, kept)
