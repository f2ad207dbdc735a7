"""Telling open pages that the store has changed: one stream of events for each browser."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from hansard.background_sync import BackgroundSync, StoreState
from hansard.errors import HansardError
from hansard.web.responses import HttpError

if TYPE_CHECKING:
    from hansard.web.engine_pool import EnginePool

_BEAT_SECONDS = 20.0  # how often a quiet stream shows that it lives
_MOST_STREAMS = 200


class Live:
    """The state of the store, and the pages that wait for the next one."""

    def __init__(self, engines: EnginePool, *, syncing: bool) -> None:
        is_syncing = syncing and bool(engines.settings.roots)
        self._sync = BackgroundSync(engines.engine, self._hear, syncing=is_syncing, describe=_describe)
        self.is_over = False  # the server is going down
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self.listeners = 0

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.look()
        self._sync.start()

    def end(self) -> None:
        self.is_over = True
        self._sync.stop()
        self._tell()

    async def finish(self) -> None:
        """Wait until the watch has stopped."""
        self.end()
        await asyncio.to_thread(self._sync.stop, 10)

    @property
    def state(self) -> StoreState:
        """The state of the store, at most a second old."""
        return self._sync.state

    @property
    def is_watching(self) -> bool:
        """Whether the sources are watched."""
        return self._sync.is_syncing

    async def look(self) -> None:
        """Look for a change now."""
        await asyncio.to_thread(self._sync.refresh)

    async def events(self) -> AsyncIterator[StoreState | None]:
        """The current state, and again whenever it changes; None now and then as a heartbeat."""
        if self.listeners >= _MOST_STREAMS:
            raise HttpError(503, "busy", f"too many open pages ({_MOST_STREAMS}): close some")
        self.listeners += 1
        try:
            await self.look()
            told: StoreState | None = None
            while not self.is_over:
                news = self._news
                if told != self.state:
                    told = self.state
                    yield told
                    continue
                try:
                    await asyncio.wait_for(news.wait(), _BEAT_SECONDS)
                except TimeoutError:
                    yield None
        finally:
            self.listeners -= 1

    def _hear(self, _: StoreState) -> None:
        """Pass news from the thread that looks to the server's."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is over
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


def _describe(error: Exception) -> str:
    """The message that pages show for a failed sync; details of internal errors stay on the server's terminal."""
    if isinstance(error, (HansardError, OSError)):
        return str(error)
    logging.getLogger(__name__).error("watching the source directories failed", exc_info=error)
    return "cannot watch the source directories; see the server's terminal"
