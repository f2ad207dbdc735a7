"""The engine behind the screens: a thread that answers them, and one that keeps the store current."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from textual.message import Message

from hansard.background_sync import BackgroundSync, StoreState
from hansard.errors import HansardError

if TYPE_CHECKING:
    from textual.app import App

    from hansard.engine import Hansard

_T = TypeVar("_T")


class EngineThread:
    """One engine and the only thread that uses it; a question cancelled before its turn is never asked."""

    def __init__(self, open_engine: Callable[[], Hansard]) -> None:
        self._open_engine = open_engine
        self._engine: Hansard | None = None
        self._thread = ThreadPoolExecutor(1, "engine")

    async def ask(self, question: Callable[[Hansard], _T]) -> _T:
        def run() -> _T:
            if self._engine is None:
                from hansard.thread.store import thread_cache

                self._engine = self._open_engine()
                self._engine.thread_cache = thread_cache()
            try:
                return question(self._engine)
            finally:
                self._engine.close_unshared()

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    def reopen(self) -> None:
        """Close the databases before the next question: an index may have been rebuilt in another file."""
        self._thread.submit(self._close_engine)

    def close(self) -> None:
        """Close the engine after the waiting questions."""
        self._thread.submit(self._close_engine)
        self._thread.shutdown(wait=True, cancel_futures=False)

    def _close_engine(self) -> None:
        if self._engine is not None:
            self._engine.close()


class StoreWatch(BackgroundSync):
    """Keeps the store current, and posts messages to the app."""

    class Changed(Message):
        """The state of the store is new."""

        def __init__(self, state: StoreState) -> None:
            super().__init__()
            self.state = state

    def __init__(self, app: App[Any], open_engine: Callable[[], Hansard], *, syncing: bool) -> None:
        super().__init__(open_engine, self._post, syncing=syncing, early=True, describe=_describe)
        self._app = app

    def _post(self, state: StoreState) -> None:
        if not self.is_stopped:
            self._app.post_message(self.Changed(state))


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, HansardError) else repr(error)
