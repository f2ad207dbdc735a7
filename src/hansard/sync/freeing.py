"""Removing files from a client's folder, once the record is proven to have all their bytes.

1. Note in the record which files will be removed: if one is missing from now on, it was freed, not lost.
2. Compare each file with the record byte for byte, check that it did not change and that no other process has it open,
   and remove it.
3. Mark them as gone.

After a crash at any moment, each file is in its place or complete in the record, which was written to disk before the first removal. The
next sync marks missing files as gone, and they count as freed because of the note of step 1.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from hansard.errors import StoreBusy, StoreCorrupt
from hansard.files import READ_FLAGS
from hansard.record.layout import now
from hansard.record.store import GONE
from hansard.sources.roots import FileKind
from hansard.sync.report import Change, SyncRequest

if TYPE_CHECKING:
    from hansard.pricing.settle import Prices
    from hansard.record.store import Known, Record
    from hansard.sources.roots import Root

NOT_AS_STORED = "not as it was stored: run `hansard sync`"
DAMAGED = "its copy in the record is damaged: run `hansard verify --repair`"
OPEN = "another program has it open"
_WAIT = 60.0  # seconds for another sync
_PROJECT_DEPTH = 2  # folders like projects/NAME stay


class Candidate(NamedTuple):
    """A file in its place, and what the record has of it."""

    root: Root
    known: Known


Step = Callable[[Candidate, str], None]
"""Called for each file: empty if it was removed, else why it stays."""


def free(
    home: str,
    choose: Callable[[Record], Sequence[Candidate]],
    told: Step,
    *,
    prices: Prices | None = None,
    wait_seconds: float = _WAIT,
) -> None:
    """Remove the files that `choose` returns; it is called while no other process can write."""

    def change(record: Record) -> bool:
        _free(record, choose(record), told)
        return True

    wait_and_change(home, change, "removed", prices=prices, wait_seconds=wait_seconds)


def wait_and_change(
    home: str, change: Change, done: str, *, prices: Prices | None = None, wait_seconds: float = _WAIT
) -> None:
    """Write to the record while no other process does; `done` says what was not done if another one does not end."""
    from hansard.sync.run import sync

    report = sync(home, (), SyncRequest(only=(), wait_seconds=wait_seconds, change=change), prices=prices)
    if report.busy:
        raise StoreBusy(
            f"another process is syncing {home} and did not finish within {wait_seconds:g} s, so nothing was {done}."
            " Wait for it to end, then run this again"
        )


def _free(record: Record, chosen: Sequence[Candidate], told: Step) -> None:
    record.note_freed(item.known.file_id for item in chosen)
    record.commit()  # everything so far is on disk when this returns
    gone: list[int] = []
    there: list[int] = []
    try:
        # Read by another connection: a damaged page would abort this one's transaction.
        with type(record).open(record.path, readonly=True) as reading:
            for item in chosen:
                reason = _remove(reading, item)
                (there if reason else gone).append(item.known.file_id)
                told(item, reason)
    except BaseException:
        with suppress(Exception):  # the next sync finds what is gone; the error above is the one to report
            _end(record, gone, [item.known.file_id for item in chosen if item.known.file_id not in set(gone)])
            record.commit()
        raise
    _end(record, gone, there)


def _end(record: Record, gone: Sequence[int], there: Sequence[int]) -> None:
    record.set_state(gone, GONE, now())
    record.forget_freed(there)


def _remove(record: Record, item: Candidate) -> str:
    place = item.root.locate(item.known.path)
    try:
        with open(os.open(place, READ_FLAGS), "rb") as file:
            if reason := _difference(record, item.known, file, place):
                return reason
            if os.name != "nt":
                os.unlink(place)
        if os.name == "nt":  # which refuses to remove open files
            os.unlink(place)
    except OSError as error:
        return f"cannot be removed ({error.strerror or error})"
    _remove_empty_folders(item.root, item.known.path)
    return ""


def compare(record: Record, item: Candidate) -> str:
    """Why a file cannot be removed; empty if the record has every byte of it."""
    place = item.root.locate(item.known.path)
    try:
        with open(place, "rb") as file:
            return _difference(record, item.known, file, place)
    except OSError as error:
        return f"cannot be read ({error.strerror or error})"


def _difference(record: Record, known: Known, file: BinaryIO, place: str) -> str:
    """Why an open file differs from its copy in the record, or may still change; empty if neither."""
    before = os.fstat(file.fileno())
    if not stat.S_ISREG(before.st_mode) or before.st_size != known.size:
        return NOT_AS_STORED
    try:
        if not all(file.read(len(piece)) == piece for piece in _stored(record, known)) or file.read(1):
            return NOT_AS_STORED
    except StoreCorrupt:
        return DAMAGED
    if is_open_elsewhere(file):
        return OPEN
    return "" if _status(os.lstat(place)) == _status(before) else NOT_AS_STORED


def _status(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode


def _stored(record: Record, known: Known) -> Iterable[bytes]:
    """The content that the record has, checked against its hashes."""
    if FileKind(known.kind).is_log:
        return record.read(known.generation)
    return (record.read_snapshot(known.generation),)


def is_open_elsewhere(file: BinaryIO) -> bool:
    """Whether another process has a file open, where the system can tell: Linux grants a lease only to the sole opener of a file.

    Until the file is closed, other processes that open it wait.
    """
    try:
        import fcntl
        import signal

        fcntl.fcntl(file.fileno(), fcntl.F_SETSIG, signal.SIGURG)  # tells that another one waits; ignored by default
        fcntl.fcntl(file.fileno(), fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except BlockingIOError:
        return True
    except (ImportError, AttributeError, OSError):
        return False  # this system, or this file system, has no leases
    return False


def _remove_empty_folders(root: Root, path: str) -> None:
    """Remove folders of a session that became empty."""
    folder = path.rpartition("/")[0]
    while folder.count("/") >= _PROJECT_DEPTH or (
        folder.count("/") == 1 and not folder.startswith(f"{root.layout.main}/")
    ):
        try:
            os.rmdir(root.locate(folder))
        except OSError:
            return
        folder = folder.rpartition("/")[0]
