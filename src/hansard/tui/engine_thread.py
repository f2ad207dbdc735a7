"""The engine on a thread of its own: screens ask it and go on drawing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from hansard.engine import Hansard

_T = TypeVar("_T")


class EngineThread:
    """One engine and the only thread that uses it. A question that is cancelled before its turn is never asked."""

    def __init__(self, open_engine: Callable[[], Hansard]) -> None:
        self._open_engine = open_engine
        self._engine: Hansard | None = None
        self._thread = ThreadPoolExecutor(1, "engine")

    async def ask(self, question: Callable[[Hansard], _T]) -> _T:
        """The engine's answer."""

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
        """Let go of the databases before the next question: an index may have been made again in another file."""
        self._thread.submit(self._let_go)

    def close(self) -> None:
        """Close what was opened, when the questions that wait have been answered."""
        self._thread.submit(self._let_go)
        self._thread.shutdown(wait=True, cancel_futures=False)

    def _let_go(self) -> None:
        if self._engine is not None:
            self._engine.close()
