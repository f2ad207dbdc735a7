"""Two caches: slow answers, until the store changes, and whole pages, for concurrent readers and one more second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace
from starlette.responses import Response, StreamingResponse

from hansard.lru import LruCache

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.requests import Dated
    from hansard.web.engine_pool import EnginePool, Live
    from hansard.web.responses import Page

_Request = TypeVar("_Request", bound="Dated")
_MOST_ANSWERS = 12  # the largest, a report by hour of some years, has some megabytes
_LONG = 0.02  # seconds
PAGE_SECONDS = 1.0
"""How long an unchanged page stays fresh: it contains relative times."""
_MOST_BYTES = 512 << 10  # of a page that is kept
_MOST_PAGES = 32


class AnswerCache(LruCache[Any]):
    """Slow answers, by keys that hold everything they depend on, the state of the store included."""

    def __init__(self, most: int = _MOST_ANSWERS, long: float | None = None) -> None:
        super().__init__(most, _LONG if long is None else long)

    def ask(self, h: Hansard, question: str, request: Dated, *, timed: bool = False) -> Any:
        """The engine's answer to a request."""
        key = (question, h.state(), without_time(request, timed=timed))
        return self.get(key, lambda: getattr(h, question)(request))


def without_time(request: _Request, *, timed: bool = False) -> _Request:
    """Drop the time of a request from its cache key, or keep the minute if the answer depends on it, as a query's may."""
    now = request.now
    if now is None:
        return request
    is_timed = timed or bool(getattr(request, "query", None))
    return replace(request, now=now.replace(second=0, microsecond=0) if is_timed else None)


class PageCache:
    """Pages by address and state of the store: equal requests at the same time are drawn once (request coalescing).

    The state is noted before anything is read, so a page may be newer than its key says, never older.
    """

    def __init__(self, engines: EnginePool, live: Live, seconds: float = PAGE_SECONDS) -> None:
        self._engines = engines
        self._live = live
        self._seconds = seconds
        self._pages: dict[object, asyncio.Task[Response]] = {}

    async def get(self, request: Request, page: Page) -> Response:
        """The answer of a page to a request, or to an equal one."""
        key = (request.url.path, request.url.query, self._engines.state(), self._live.state)
        task = self._pages.get(key)
        if task is None:
            if len(self._pages) >= _MOST_PAGES:
                del self._pages[next(iter(self._pages))]
            task = self._pages[key] = asyncio.create_task(self._draw(request, page, key))
        return await asyncio.shield(task)

    async def _draw(self, request: Request, page: Page, key: object) -> Response:
        is_kept = False
        try:
            answer = await page(request)
            if isinstance(answer, StreamingResponse):
                answer.body_iterator = SharedPieces(answer.body_iterator)  # type: ignore[arg-type]
            is_kept = len(getattr(answer, "body", b"")) <= _MOST_BYTES
            return answer
        finally:
            if is_kept:
                asyncio.get_running_loop().call_later(self._seconds, self._pages.pop, key, None)
            else:
                self._pages.pop(key, None)


class SharedPieces:
    """A streamed page that several readers share; each gets all pieces."""

    def __init__(self, source: AsyncIterator[bytes]) -> None:
        self._pieces: list[bytes] = []
        self._more = asyncio.Event()
        self.is_over = False
        self._error: Exception | None = None  # raised for one reader, for the server's terminal
        self._task = asyncio.create_task(self._collect(source))

    async def _collect(self, source: AsyncIterator[bytes]) -> None:
        try:
            async for piece in source:
                self._pieces.append(piece)
                self._notify()
        except Exception as error:  # noqa: BLE001 - raised for a reader
            self._error = error
        finally:
            self.is_over = True
            self._notify()

    def _notify(self) -> None:
        more, self._more = self._more, asyncio.Event()
        more.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        place = 0
        while True:
            more = self._more
            while place < len(self._pieces):
                yield self._pieces[place]
                place += 1
            if self.is_over:
                break
            await more.wait()
        error, self._error = self._error, None
        if error is not None:
            raise error


def shared(page: Page) -> Page:
    """A page that depends on its address and the store only, through the page cache."""

    @wraps(page)
    async def drawn(request: Request) -> Response:
        cache: PageCache = request.app.state.pages
        return await cache.get(request, page)

    return drawn
