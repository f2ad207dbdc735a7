"""Keeping the store current while a front end runs: a thread with an engine of its own, which watches the roots and syncs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.sync.report import Listener, SyncReport

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds between attempts
_LOCK_SECONDS = 5.0  # how long a sync waits for that of another process before it tries again


class BackgroundSync:
    """Syncs whenever something changes, until it is stopped; after a failure it tries again.

    `synced` gets the engine and each report, None if there are no roots; `failed` gets what was raised. Both are called on
    the thread.
    """

    def __init__(
        self,
        open_engine: Callable[[], Hansard],
        synced: Callable[[Hansard, SyncReport | None], None],
        failed: Callable[[Exception], None],
        *,
        early: bool = False,
        listener: Listener | None = None,
    ) -> None:
        self._open_engine = open_engine
        self._synced, self._failed = synced, failed
        self._early, self._listener = early, listener
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    @property
    def is_running(self) -> bool:
        """Whether the roots are watched."""
        return self._thread.is_alive()

    @property
    def is_stopped(self) -> bool:
        """Whether it was asked to stop."""
        return self._stop.is_set()

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float = 0.0) -> None:
        """End soon, and wait so long for it; what has been stored stays."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stop.is_set():
            try:
                with self._open_engine() as h:
                    if not h.roots:
                        self._synced(h, None)
                        return
                    reports = h.watch(
                        self._stop, early=self._early, listener=self._listener, wait_seconds=_LOCK_SECONDS
                    )
                    for report in reports:
                        self._synced(h, report)
                        if report.busy:
                            break  # another process syncs: begin again, so that nothing is left out
                        pause = _FIRST_PAUSE
                        h.close()  # hold nothing open while nothing changes
            except Exception as error:  # noqa: BLE001 - the front end decides how to report it
                self._failed(error)
            self._stop.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
