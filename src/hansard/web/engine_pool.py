"""The engines of the web app: a few threads, each with an engine of its own; and the state of the store, which open pages follow."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, urlencode

from hansard.background_sync import BackgroundSync, StoreState, file_fingerprint, index_fingerprint
from hansard.errors import HansardError
from hansard.thread.store import thread_cache
from hansard.web.auth import cookies
from hansard.web.responses import HttpError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from hansard.config import Settings
    from hansard.engine import Hansard
    from hansard.render.format import ProjectNames

REDACTION_COOKIE = "hansard-redact"
IS_ASKED = "hansard.redact"
"""In the scope of requests whose address says how to redact."""
_Answer = TypeVar("_Answer")
_FILES = ("index.db", "text.db", "record.db")
_WRITTEN = (*_FILES, *(f"{name}-wal" for name in _FILES))
_WORKERS = 4  # each holds connections with caches of some megabytes; Python runs one at a time anyway
_MOST = 500  # questions that wait or are being answered
_HEARTBEAT_SECONDS = 20.0  # between heartbeats of a quiet stream
_MOST_STREAMS = 200


class EnginePool:
    """Asks the engine on threads, so that the server stays responsive; a store that was rebuilt is reopened."""

    def __init__(self, settings: Settings, redact: str = "off") -> None:
        self.settings = settings
        self._redact = redact
        self._pool = ThreadPoolExecutor(_WORKERS, "engines")
        # One action at a time can write, and it may have to wait for a sync: no question waits with it.
        self._writer = ThreadPoolExecutor(1, "writer")
        self._own = threading.local()
        self._opened: list[Hansard] = []
        self.threads = thread_cache()
        self.waiting = 0
        self.names: ProjectNames = {}  # of the projects of the store, as the last question found them

    def engine(self) -> Hansard:
        """A new engine on the store; the caller closes it."""
        h = self.settings.open(redact=self._redact)
        h.thread_cache = self.threads
        return h

    async def read(self, question: Callable[[Hansard], _Answer]) -> _Answer:
        """The answer to a question, or to several, about one state of the store."""
        return await self._run(self._pool, lambda: self._read(question))

    async def write(self, action: Callable[[Hansard], _Answer]) -> _Answer:
        """Run an action that writes, and return its result."""
        return await self._run(self._writer, lambda: action(self._own_engine()))

    def fingerprint(self) -> str:
        """A value that changes when the index is written to, from the state of its files."""
        return index_fingerprint(self.settings.home)

    def prepare(self, work: Callable[[], object]) -> None:
        """Do some work in advance, on one of the threads."""
        self._pool.submit(work)

    def close(self) -> None:
        """Finish running questions, and close the databases."""
        self._writer.shutdown(cancel_futures=True)
        self._pool.shutdown(cancel_futures=True)
        for one in self._opened:
            one.close()

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[], _Answer]) -> _Answer:
        if self.waiting >= _MOST:
            raise HttpError(503, "busy", "too many requests at once: try again in a moment")
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, work)
        finally:
            self.waiting -= 1

    def state(self) -> object:
        """A value that changes when anything in the store is written to."""
        return tuple(file_fingerprint(os.path.join(self.settings.home, name)) for name in _WRITTEN)

    def _read(self, question: Callable[[Hansard], _Answer]) -> _Answer:
        h = self._own_engine()
        try:
            return self._ask(h, question)
        finally:
            h.close_unshared()

    def _ask(self, h: Hansard, question: Callable[[Hansard], _Answer]) -> _Answer:
        with h.at_once():
            with contextlib.suppress(HansardError):  # raised again for questions that need the full text
                self._own.is_whole = h.has_text()
            self.names = h.project_names()
            return question(h)

    def _own_engine(self) -> Hansard:
        """This thread's engine, reopened if the store was rebuilt or only partly open."""
        h: Hansard | None = getattr(self._own, "engine", None)
        files = tuple(_identity(os.path.join(self.settings.home, name)) for name in _FILES)
        if h is None:
            h = self._own.engine = self.engine()
            self._opened.append(h)
        elif files != self._own.files or not self._own.is_whole:
            h.close()
        self._own.files, self._own.is_whole = files, False
        return h


def _identity(path: str) -> tuple[int, int] | None:
    """Which file this is: its device and inode."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def by_redaction(apps: Mapping[str, ASGIApp]) -> ASGIApp:
    """Dispatch a request to the application for the redaction that it or its browser's cookie names; by default to the first."""
    usual = next(iter(apps.values()))

    async def chosen(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await usual(scope, receive, send)
            return
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        asked = [value for name, value in pairs if name == "redact"]
        if asked:
            rest = urlencode([pair for pair in pairs if pair[0] != "redact"], encoding="latin-1")
            scope = {**scope, "query_string": rest.encode(), IS_ASKED: True}
        else:
            headers = [value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"]
            asked = [value for header in headers for value in cookies(header, REDACTION_COOKIE)]
        await apps.get(asked[0] if asked else "", usual)(scope, receive, send)

    return chosen


def outgoing_engines(request: Request) -> EnginePool:
    """The engines for files that are likely to be passed on: they redact unless the request says otherwise."""
    state = request.app.state
    engines: EnginePool = state.engines if IS_ASKED in request.scope else state.outgoing
    return engines


class Unwatched:
    """In place of a background sync where nothing is synced, and no news are announced."""

    state = StoreState()
    is_syncing = False

    def start(self) -> None: ...

    def stop(self, seconds: float = 0.0) -> None: ...

    def refresh(self) -> StoreState:
        return self.state


class Live:
    """The state of the store, and the pages that wait for the next one."""

    def __init__(self, engines: EnginePool, *, syncing: bool, unwatched: Unwatched | None = None) -> None:
        """`unwatched` instead of a sync where there is nothing to watch."""
        is_syncing = syncing and bool(engines.settings.roots)
        self._sync = unwatched or BackgroundSync(
            engines.engine, self._on_change, syncing=is_syncing, describe=_describe
        )
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
        self._notify()

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
        """Check for changes now."""
        await asyncio.to_thread(self._sync.refresh)

    async def events(self) -> AsyncIterator[StoreState | None]:
        """The current state, and again whenever it changes; None now and then as a heartbeat."""
        if self.listeners >= _MOST_STREAMS:
            raise HttpError(503, "busy", f"too many open pages ({_MOST_STREAMS}): close some")
        self.listeners += 1
        try:
            await self.look()
            sent: StoreState | None = None
            while not self.is_over:
                news = self._news
                if sent != self.state:
                    sent = self.state
                    yield sent
                    continue
                try:
                    await asyncio.wait_for(news.wait(), _HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield None
        finally:
            self.listeners -= 1

    def _on_change(self, _: StoreState) -> None:
        """Pass news from the thread that looks to the server's."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is over
                self._loop.call_soon_threadsafe(self._notify)

    def _notify(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


def _describe(error: Exception) -> str:
    """The message that pages show for a failed sync; details of internal errors stay on the server's terminal."""
    if isinstance(error, (HansardError, OSError)):
        return str(error)
    logging.getLogger(__name__).error("watching the source directories failed", exc_info=error)
    return "cannot watch the source directories; see the server's terminal"
