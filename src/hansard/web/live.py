"""Keeping the store current while the server runs, and notifying open pages of changes.

One thread watches the sources and syncs. Pages listen to one stream of events; as long as any does, the files of the store
are also looked at every second, since others may sync it too. Without listeners and changes nothing runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.background_sync import BackgroundSync
from hansard.engine import Hansard
from hansard.errors import HansardError
from hansard.web.responses import HttpError

if TYPE_CHECKING:
    from hansard.sync.report import SyncReport
    from hansard.web.engine_pool import EnginePool

_LOOK_SECONDS = 1.0
_BEAT_SECONDS = 20.0  # how often a quiet stream shows that it lives
_MOST_STREAMS = 200


class News(Struct, frozen=True):
    """Events pushed to open pages (SSE)."""

    revision: int  # another number: something has changed
    syncing: bool  # the first sync of this run, or a long one of another process, is not over
    progress: str | None  # how far that is, in words
    trouble: str | None  # why the server cannot keep current


class Live:
    """The revision of the store, and the pages that wait for the next one."""

    def __init__(self, engines: EnginePool, *, syncing: bool) -> None:
        self._engines = engines
        self._syncs = syncing
        self._sync: BackgroundSync | None = None
        self.is_over = False  # the server is going down
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._look: asyncio.Task[None] | None = None
        self.listeners = 0
        self.revision = 0
        self.busy = False  # the first sync of this run is not over
        self.trouble: str | None = None  # why the last sync failed

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.look()
        if self._syncs and self._engines.settings.roots:
            self.busy = True
            self._sync = BackgroundSync(self._engines.engine, self._synced, self._failed)
            self._sync.start()

    def end(self) -> None:
        self.is_over = True
        if self._sync is not None:
            self._sync.stop()
        self._tell()
        if self._look is not None:
            self._look.cancel()

    async def finish(self) -> None:
        """Wait until the watch has stopped."""
        self.end()
        if self._sync is not None:
            await asyncio.to_thread(self._sync.stop, 10)

    @property
    def progress(self) -> str | None:
        """How far a sync is, of this process or another, in words; None when none takes long."""
        progress = Hansard(self._engines.settings.home, ()).sync_progress()
        return progress.words if progress is not None else None

    @property
    def is_watching(self) -> bool:
        """Whether the sources are watched."""
        return self._sync is not None and self._sync.is_running

    def news(self, revision: int | None = None) -> News:
        """The current state, with the revision that the caller has just read."""
        progress = self.progress
        syncing = self.busy or progress is not None
        return News(self.revision if revision is None else revision, syncing, progress, self.trouble)

    async def look(self) -> None:
        """Look for a change now."""
        with contextlib.suppress(HansardError):
            self._learn(await self._engines.read(_revision), self.busy, self.trouble)

    async def events(self) -> AsyncIterator[News | None]:
        """The current state, and again whenever it changes; None now and then as a heartbeat."""
        if self.listeners >= _MOST_STREAMS:
            raise HttpError(503, "busy", f"too many open pages ({_MOST_STREAMS}): close some")
        self.listeners += 1
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._keep_looking())
        try:
            await self.look()
            told: News | None = None
            while not self.is_over:
                news = self._news
                if told != self.news():
                    told = self.news()
                    yield told
                    continue
                try:
                    await asyncio.wait_for(news.wait(), _BEAT_SECONDS)
                except TimeoutError:
                    yield None
        finally:
            self.listeners -= 1

    # -- the two sources of news

    def _synced(self, h: Hansard, report: SyncReport | None) -> None:
        if report is not None and not report.busy:
            self._hear(h.revision(), busy=False)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, (HansardError, OSError)):
            trouble = str(error)
        else:
            logging.getLogger(__name__).error("watching the source directories failed", exc_info=error)
            trouble = "cannot watch the source directories; see the server's terminal"
        self._hear(None, busy=False, trouble=trouble)

    async def _keep_looking(self) -> None:
        seen = self._engines.fingerprint()
        told = self.news()
        while self.listeners and not self.is_over:
            await asyncio.sleep(_LOOK_SECONDS)
            if self.news() != told:
                told = self.news()
                self._tell()
            now = self._engines.fingerprint()
            if now != seen:
                seen = now
                await self.look()

    def _hear(self, revision: int | None, *, busy: bool, trouble: str | None = None) -> None:
        """Pass news from the watching thread to the server's."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is over
                self._loop.call_soon_threadsafe(self._learn, revision, busy, trouble)

    def _learn(self, revision: int | None, busy: bool, trouble: str | None) -> None:
        before = self.news()
        self.revision = self.revision if revision is None else revision
        self.busy, self.trouble = busy, trouble
        if self.news() != before:
            self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


def _revision(h: Hansard) -> int:
    """A number that grows with every change to the rows of the store."""
    return h.revision()
