"""Progress of a sync, and its final report."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from hansard.storage.heartbeat import SyncProgress, clear_progress, note_progress

if TYPE_CHECKING:
    from hansard.record.store import Record

Change = Callable[["Record"], None]
COMPARE_BYTES = 256 << 20
"""How much is compared in one sync of files whose status change time alone moved."""

_NOTE_SECONDS = 0.5
_MANY_FILES = 20  # that are noted as soon as they are known
DEFAULT_MAX_FILE = 64 << 20  # bytes of a file that is kept whole; larger ones are listed as left out


class Progress(Struct):
    """How far a sync is; the same object is passed again and again, and each phase counts from nothing."""

    phase: str = "reading"  # reading: from the sources; indexing: what only the record had; text: the full text
    files: int = 0
    files_total: int = 0
    bytes: int = 0
    bytes_total: int = 0  # an estimate: files grow and are rewritten while they are read


class Listener(Protocol):
    """Called with the progress at the start and the end of each phase, and a few times a second between them."""

    def __call__(self, progress: Progress) -> None:
        """Take note."""


class SyncRequest(Struct, frozen=True, kw_only=True):
    """How to sync.

    `only` names files (absolute paths) that are known to have changed, which saves the walk. `change` writes what no source has,
    the user's remarks, in a transaction of its own before anything is kept; it may be called again when an index turns out to be
    damaged. `reread` compares every file in full with what was kept, regardless of its status. `compare_bytes` limits how much is
    compared of files whose status change time alone moved (None: no limit); the rest waits for the next sync. `newest_only`
    ends a large first sync when the newest transcripts are indexed, and its report is `partial`; any other is done in full. `workers`
    allows other processes for a large backlog; `row_workers` is how many of them make rows, None as many as pay off.
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


class ProgressReporter:
    """Counts, and tells a listener of it now and then; what takes long is also noted in `home`, for other processes."""

    def __init__(self, listener: Listener | None, home: str | None = None) -> None:
        self.progress = Progress()
        self._listener = listener
        self._told = 0.0
        self._home = home
        self._noted = time.perf_counter()

    def begin(self, phase: str, *, files: int, size: int) -> None:
        """Begin a phase, with the files and bytes to do."""
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
        """End a phase: everything is done, even if the estimate was wrong."""
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
            note_progress(self._home, SyncProgress(progress.phase, progress.files, progress.files_total))

    def close(self) -> None:
        """Nothing more is going on, nor in a sync before that was killed."""
        if self._home is not None:
            clear_progress(self._home)


class SyncReport(Struct, frozen=True):
    """What a sync did."""

    transcripts: int = 0  # logs that the roots hold now
    changed: int = 0  # files with something new
    bytes_read: int = 0
    records: int = 0
    issues: int = 0
    gone: int = 0  # files that are no longer at their place
    seconds: float = 0.0
    busy: bool = False  # another process is syncing: the answer is from what is there
    partial: bool = False  # only the newest part of a large history was indexed, as was asked for
    unreadable: tuple[str, ...] = field(default=())
    problems: int = 0  # what is in quarantine: files that could not be kept, transcripts that could not be indexed
    unfollowed_links: int = 0  # links that lead out of a root, and not to where the user allowed it
