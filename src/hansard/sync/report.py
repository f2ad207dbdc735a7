"""Progress of a sync, and its final report."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from hansard.storage.heartbeat import clear_progress, note_progress

if TYPE_CHECKING:
    from hansard.record.store import Record

Change = Callable[["Record"], "bool | None"]
"""Writes to the record; True if it erased something, which is then removed from the indexes too."""
COMPARE_BYTES = 256 << 20
"""How many bytes of files whose ctime alone changed are compared in one sync."""

_NOTE_SECONDS = 0.5
_MANY_FILES = 20  # progress of more is noted at once
DEFAULT_MAX_FILE = 64 << 20  # bytes of a small file; larger ones are listed as left out


class Progress(Struct):
    """How far a sync is; the same object is passed each time, and each phase counts from zero."""

    phase: str = "reading"  # reading: from the sources; indexing: what only the record had; text: the full text
    files: int = 0
    files_total: int = 0
    bytes: int = 0
    bytes_total: int = 0  # an estimate: files grow and are rewritten while they are read


class Listener(Protocol):
    """Called with the progress at the start and the end of each phase, and a few times a second between them."""

    def __call__(self, progress: Progress) -> None:
        """Take the progress."""


class SyncRequest(Struct, frozen=True, kw_only=True):
    """How to sync.

    `only` names changed files by absolute paths, which saves the walk. `change` writes what no source has,
    such as remarks, in a transaction of its own before anything is stored; it may be called again when an index turns out to be
    damaged. `reread` compares every file in full with the record, regardless of its status. `compare_bytes` limits how much is
    compared of files whose ctime alone changed (None: no limit); the rest waits for the next sync. `newest_only`
    ends a large first sync when the newest transcripts are indexed, and its report is `partial`; any other is done in full. `workers`
    allows other processes for a large backlog; `row_workers` is how many of them make rows, None as many as pay off. Without `text` there
    is no full text: only for a store that is read once and thrown away.
    """

    listener: Listener | None = None
    wait_seconds: float = 2.0  # for another process that syncs
    only: Collection[str] | None = None
    workers: bool = True
    row_workers: int | None = None
    change: Change | None = None
    reread: bool = False
    compare_bytes: int | None = COMPARE_BYTES
    newest_only: bool = False
    text: bool = True


class ProgressReporter:
    """Counts progress and calls a listener periodically; a long sync is also noted in `home`, for other processes."""

    def __init__(self, listener: Listener | None, home: str | None = None) -> None:
        self.progress = Progress()
        self._listener = listener
        self._told = 0.0
        self._home = home
        self._noted = time.perf_counter()

    def begin(self, phase: str, *, files: int, size: int) -> None:
        """Begin a phase with this number of files and bytes."""
        progress = self.progress
        progress.phase, progress.files_total, progress.bytes_total = phase, files, size
        progress.files = progress.bytes = 0
        if files >= _MANY_FILES:
            self._noted = 0.0
        self._tell()

    def step(self, size: int = 0, *, files: int = 0) -> None:
        progress = self.progress
        progress.files += files
        progress.bytes += size
        progress.bytes_total = max(progress.bytes_total, progress.bytes)
        if time.perf_counter() - self._told > 0.1:
            self._tell()

    def end(self) -> None:
        """End a phase; all of it is done, even if the estimate was wrong."""
        progress = self.progress
        progress.files_total = progress.files = max(progress.files_total, progress.files)
        progress.bytes_total = progress.bytes
        self._tell()

    def _tell(self) -> None:
        self._told = time.perf_counter()
        if self._listener is not None:
            self._listener(self.progress)
        if self._home is not None and self._told - self._noted > _NOTE_SECONDS and self.progress.files_total:
            self._noted = self._told
            progress = self.progress
            from hansard.model.health import SyncProgress

            note_progress(self._home, SyncProgress(progress.phase, progress.files, progress.files_total))

    def close(self) -> None:
        """Clear the noted progress, also that of a sync that was killed."""
        if self._home is not None:
            clear_progress(self._home)


class SyncReport(Struct, frozen=True):
    """What a sync did."""

    transcripts: int = 0  # logs in the roots now
    changed: int = 0  # files with something new
    bytes_read: int = 0
    records: int = 0
    issues: int = 0
    gone: int = 0  # files that disappeared
    seconds: float = 0.0
    busy: bool = False  # another process is syncing; nothing was done
    partial: bool = False  # only the newest part of a large history was indexed, as requested
    unreadable: tuple[str, ...] = field(default=())
    problems: int = 0  # in quarantine: files that could not be stored, transcripts that could not be indexed
    forgotten: int = 0  # files that are not stored because the user had them forgotten
    unfinished: str = ""  # why erased bytes may still be on the disk
    unfollowed_links: int = 0  # links out of a root, to places that the user did not allow
