"""The engine behind the screens: a thread that answers them, and one that keeps the store current."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from textual.message import Message

from hansard.background_sync import BackgroundSync
from hansard.errors import HansardError

if TYPE_CHECKING:
    from textual.app import App

    from hansard.engine import Hansard
    from hansard.sync.report import Progress, SyncReport

_T = TypeVar("_T")
_LARGE_BYTES = 16 << 20  # of a sync whose progress is shown


class EngineThread:
    """One engine and the only thread that uses it; a question cancelled before its turn is never asked."""

    def __init__(self, open_engine: Callable[[], Hansard]) -> None:
        self._open_engine = open_engine
        self._engine: Hansard | None = None
        self._thread = ThreadPoolExecutor(1, "engine")

    async def ask(self, question: Callable[[Hansard], _T]) -> _T:
        def run() -> _T:
            if self._engine is None:
                from hansard.thread.store import ThreadCache

                self._engine = self._open_engine()
                self._engine.thread_cache = ThreadCache()
            try:
                return question(self._engine)
            finally:
                self._engine.close_unshared()

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    def reopen(self) -> None:
        """Close the databases before the next question: an index may have been rebuilt in another file."""
        self._thread.submit(self._let_go)

    def close(self) -> None:
        """Close the engine after the waiting questions."""
        self._thread.submit(self._let_go)
        self._thread.shutdown(wait=True, cancel_futures=False)

    def _let_go(self) -> None:
        if self._engine is not None:
            self._engine.close()


class StoreWatch(BackgroundSync):
    """Keeps the store current, and posts messages to the app."""

    class Changed(Message):
        """A sync has finished."""

        def __init__(self, *, changed: bool, problem: str = "") -> None:
            super().__init__()
            self.changed, self.problem = changed, problem

    class Progressed(Message):
        """A long sync goes on; `is_news`: more can be listed than before."""

        def __init__(self, words: str, *, is_news: bool) -> None:
            super().__init__()
            self.words, self.is_news = words, is_news

    def __init__(self, app: App[Any], open_engine: Callable[[], Hansard]) -> None:
        super().__init__(open_engine, self._report, self._fail, early=True, listener=self._progress)
        self._app = app
        self._phase = self._problem = ""

    def _report(self, _: Hansard, report: SyncReport | None) -> None:
        if report is not None and report.partial:  # a large first sync: its newest part can be listed
            self._app.post_message(self.Progressed("reading older sessions", is_news=True))
        else:
            self._problem = ""
            changed = report is not None and bool(report.changed or report.gone or report.busy)
            self._tell(changed=changed)

    def _fail(self, error: Exception) -> None:
        problem = str(error) if isinstance(error, HansardError) else repr(error)
        if problem != self._problem:
            self._problem = problem
            self._tell(changed=True, problem=problem)

    def _tell(self, *, changed: bool, problem: str = "") -> None:
        if not self.is_stopped:
            self._app.post_message(self.Changed(changed=changed, problem=problem))

    def _progress(self, progress: Progress) -> None:
        if progress.bytes_total > _LARGE_BYTES:
            share = min(100, progress.bytes * 100 // progress.bytes_total)
            is_news = self._phase == "indexing" and progress.phase != self._phase
            self._phase = progress.phase
            self._app.post_message(self.Progressed(f"{progress.phase} {share} %", is_news=is_news))
