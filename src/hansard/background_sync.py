"""Keeping the store current while a front end runs, and reporting every new revision of it.

One thread watches the roots and syncs. A second one searches what came for secrets. Another reads the store's revision when the index's files have changed: any process may have
written them, so the revision is the only sign of something new. A sync that finds nothing does not change it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import HansardError
from hansard.storage.heartbeat import sync_progress

if TYPE_CHECKING:
    from hansard.engine import Hansard

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds between attempts
_LOCK_SECONDS = 5.0  # how long a sync waits for that of another process before it tries again
_WORK_SECONDS = 0.05  # that a scan for secrets works before it rests
_LOOK_SECONDS = 1.0  # between two looks at the index's files
_CHANGING = ("index.db", "index.db-wal")


class StoreState(Struct, frozen=True):
    """What a front end reports of the store."""

    revision: int = 0  # another number: something has changed
    syncing: bool = False  # the first sync of this run, or a long one of another process, is not over
    progress: str | None = None  # how far that is, in words
    trouble: str | None = None  # why the store cannot be kept current


class BackgroundScan:
    """Searches for secrets after a sync, until it is stopped; it rests as long as it works, so that answers do not wait for it."""

    def __init__(self, open_engine: Callable[[], Hansard], stop: threading.Event) -> None:
        self._open_engine, self._stop = open_engine, stop
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="secrets", daemon=True)
        self._worked_since = 0.0

    def wake(self) -> None:
        """Search what is new."""
        self._woken.set()
        if self._thread.ident is None:
            self._thread.start()

    def end(self, seconds: float) -> None:
        """Wait so long for its end; `stop` is set."""
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._woken.wait()
            self._woken.clear()
            if self._stop.is_set():
                return
            self._worked_since = time.monotonic()
            # What hinders it is said where secrets are listed, with what was not searched.
            with contextlib.suppress(Exception), self._open_engine() as h:
                h.scan_secrets(is_stopped=self._rested)

    def _rested(self) -> bool:
        """Whether to stop, after a rest if it is time for one."""
        worked = time.monotonic() - self._worked_since
        if worked > _WORK_SECONDS:
            self._stop.wait(worked)
            self._worked_since = time.monotonic()
        return self._stop.is_set()


class BackgroundSync:
    """Syncs whenever the roots change, and reports the state of the store whenever that changes, until it is stopped.

    `changed` is called on a thread. Without `syncing` only other processes sync. `describe` turns an exception into `trouble`.
    """

    def __init__(
        self,
        open_engine: Callable[[], Hansard],
        changed: Callable[[StoreState], object] = lambda _: None,
        *,
        syncing: bool = True,
        early: bool = False,
        describe: Callable[[Exception], str] = str,
    ) -> None:
        self._open_engine, self._changed = open_engine, changed
        self._early, self._describe = early, describe
        self._stop, self._woken = threading.Event(), threading.Event()
        self._is_busy, self._trouble = syncing, ""  # what the sync reports
        self._sync = threading.Thread(target=self._watch, name="watch", daemon=True) if syncing else None
        self._look = threading.Thread(target=self._keep_looking, name="look", daemon=True)
        self._scan = BackgroundScan(open_engine, self._stop)
        self._reading = threading.Lock()
        self._seen = self._reported = StoreState(syncing=syncing)
        self._home = ""  # known once an engine was opened

    @property
    def state(self) -> StoreState:
        """The state of the store as last read, with the present progress of a sync."""
        progress = sync_progress(self._home) if self._home else None
        words = progress.words if progress is not None else None
        return replace(self._seen, syncing=self._seen.syncing or progress is not None, progress=words)

    @property
    def is_syncing(self) -> bool:
        """Whether the roots are watched, or synced now."""
        return self._sync is not None and self._sync.is_alive()

    @property
    def is_stopped(self) -> bool:
        """Whether it was asked to stop."""
        return self._stop.is_set()

    def start(self) -> None:
        self._look.start()
        if self._sync is not None:
            self._sync.start()

    def stop(self, seconds: float = 0.0) -> None:
        """End soon, and wait so long for it; what has been stored stays."""
        self._stop.set()
        self._woken.set()
        for thread in (self._sync, self._look):
            if thread is not None and thread.is_alive():
                thread.join(seconds)
        self._scan.end(seconds)

    def refresh(self) -> StoreState:
        """Read the state of the store now, and report it if it is new."""
        with self._open_engine() as h:
            return self._read(h)

    def catch_up(self, seconds: float) -> StoreState:
        """Sync once instead of watching, and wait so long for it, or for the one that is running."""
        if not self.is_syncing:
            self._is_busy = True
            self._sync = threading.Thread(target=self._sync_once, name="sync", daemon=True)
            self._sync.start()
        if self._sync is not None:
            self._sync.join(seconds)
        with self._open_engine() as h:
            return self._read(h, is_same=True)  # the answer that waits for it reads the store itself

    # -- the thread that syncs

    def _watch(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stop.is_set():
            try:
                with self._open_engine() as h:
                    if not h.roots:
                        self._report("")
                        return
                    for report in h.watch(self._stop, early=self._early, wait_seconds=_LOCK_SECONDS):
                        if report.busy:
                            break  # another process syncs: begin again, so that nothing is left out
                        if report.partial:
                            self._woken.set()
                            continue
                        self._report("")
                        self._scan.wake()
                        pause = _FIRST_PAUSE
                        h.close()  # hold nothing open while nothing changes
            except Exception as error:  # noqa: BLE001 - the front end decides how to report it
                self._report(self._describe(error))
            self._stop.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _sync_once(self) -> None:
        try:
            with self._open_engine() as h:
                if h.roots:
                    h.sync()
            self._report("")
        except HansardError as error:
            self._report(self._describe(error))

    def _report(self, trouble: str) -> None:
        self._is_busy, self._trouble = False, trouble
        self._woken.set()

    # -- the thread that looks

    def _keep_looking(self) -> None:
        seen, is_new, is_woken = "", True, True
        with self._open_engine() as h:
            while not self._stop.is_set():
                files = index_fingerprint(h.home)
                # Once more after a change: a second one in the same tick of the clock may have left the same fingerprint.
                must_read = is_woken or is_new or files != seen
                is_new, seen = files != seen, files
                self._read(h, is_same=not must_read)
                is_woken = self._woken.wait(_LOOK_SECONDS)
                self._woken.clear()

    def _read(self, h: Hansard, *, is_same: bool = False) -> StoreState:
        """Read the state, without the revision if that is the same, and report what is new."""
        with self._reading:
            # What the sync reports comes first, so that the revision is never older.
            is_busy, trouble, revision = self._is_busy, self._trouble, self._seen.revision
            if not is_same:
                with contextlib.suppress(HansardError):  # questions to the store report it
                    revision = h.revision() or revision  # 0: it is being rebuilt, and nothing is new until that is over
                h.close()  # an index may be rebuilt in another file
            self._home, self._seen = h.home, StoreState(revision, is_busy, None, trouble or None)
            state = self.state
            if state != self._reported:
                self._reported = state
                self._changed(state)
            return state


def follow(open_engine: Callable[[], Hansard], *, syncing: bool = True) -> Generator[StoreState]:
    """The state of the store, now and after every change, for a front end that waits for it."""
    states: list[StoreState] = []
    came = threading.Event()

    def take(state: StoreState) -> None:
        states.append(state)
        came.set()

    background = BackgroundSync(open_engine, take, syncing=syncing)
    background.start()
    try:
        while True:
            came.wait(_LOOK_SECONDS)  # not for ever: Windows delivers Ctrl-C in between
            came.clear()
            while states:
                yield states.pop(0)
    finally:
        background.stop()


def index_fingerprint(home: str) -> str:
    """A value that changes when the index is written to, from the state of its files."""
    return "-".join(file_fingerprint(os.path.join(home, name)) for name in _CHANGING)


def file_fingerprint(path: str) -> str:
    """A value that changes when a file is written to or replaced."""
    try:
        found = os.stat(path)
    except OSError:
        return "none"
    return f"{found.st_ino:x}.{found.st_size:x}.{found.st_mtime_ns:x}"
