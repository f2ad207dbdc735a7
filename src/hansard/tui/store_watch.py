"""Keeping the store current while the app runs, on a thread with an engine of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.message import Message

from hansard.errors import HansardError

if TYPE_CHECKING:
    from textual.app import App

    from hansard.engine import Hansard
    from hansard.sync.report import Progress


class StoreWatch:
    """Syncs whenever something changes and tells the app, until it is stopped."""

    class Changed(Message):
        """A sync is through."""

        def __init__(self, *, changed: bool, problem: str = "") -> None:
            super().__init__()
            self.changed, self.problem = changed, problem

    class Progressed(Message):
        """A long sync goes on; `is_news` where more can be listed than before."""

        def __init__(self, words: str, *, is_news: bool) -> None:
            super().__init__()
            self.words, self.is_news = words, is_news

    def __init__(self, app: App[Any], open_engine: Callable[[], Hansard]) -> None:
        self._app = app
        self._open_engine = open_engine
        self._stop = threading.Event()
        self._phase = ""
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End soon; what has been kept stays."""
        self._stop.set()
        self._thread.join(2.0)

    def _run(self) -> None:
        try:
            with self._open_engine() as h:
                if not h.roots:
                    self._tell(changed=False)
                    return
                for report in h.watch(self._stop, early=True, listener=self._listen):
                    if report.partial:  # a large first sync: its newest part can be listed
                        self._app.post_message(self.Progressed("reading older sessions", is_news=True))
                    else:
                        self._tell(changed=bool(report.changed or report.gone or report.busy))
        except Exception as error:  # noqa: BLE001 - nothing is to end this thread in silence
            self._tell(changed=True, problem=str(error) if isinstance(error, HansardError) else repr(error))

    def _tell(self, *, changed: bool, problem: str = "") -> None:
        if not self._stop.is_set():
            self._app.post_message(self.Changed(changed=changed, problem=problem))

    def _listen(self, progress: Progress) -> None:
        if progress.bytes_total > 16 << 20:
            share = min(100, progress.bytes * 100 // progress.bytes_total)
            is_news = self._phase == "indexing" and progress.phase != self._phase
            self._phase = progress.phase
            self._app.post_message(self.Progressed(f"{progress.phase} {share} %", is_news=is_news))
