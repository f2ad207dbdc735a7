"""Pages that several readers ask for at the same time are drawn once (request coalescing, and a cache of a second)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

if TYPE_CHECKING:
    from starlette.requests import Request

SECONDS = 1.0
"""How long a page is given out again while the store stays as it is: it says how long ago things were."""
_LARGEST = 512 << 10  # bytes of a page that is kept
_MOST = 32  # pages that are kept

Page = Callable[["Request"], Awaitable[Response]]


class Drawing:
    """A page that is being drawn, or was a moment ago."""

    def __init__(self, state: Callable[[], object]) -> None:
        self._state = state
        self.of: object = None  # the state of the store before anything was read from it; None until then
        self.task: asyncio.Task[Response] | None = None
        self.pieces: SharedPieces | None = None  # of a page that comes in pieces

    def begin(self) -> None:
        """Note the state of the store; called before each question to it, on any thread."""
        if self.of is None:
            self.of = self._state()

    def is_current(self) -> bool:
        """Whether who asks for the page now may have it: nothing was read for it yet, or the store has not changed since."""
        if self.of is None:
            is_drawn = self.task is None or self.task.done()
            return not is_drawn or (self.pieces is not None and not self.pieces.is_over)
        return self.of == self._state()


_drawn_now: ContextVar[Drawing | None] = ContextVar("drawn_now", default=None)


def before_reading() -> Callable[[], None]:
    """What is to be called before the store is asked for the page that is being drawn."""
    drawing = _drawn_now.get()
    return _nothing if drawing is None else drawing.begin


def _nothing() -> None:
    pass


class PageCache:
    """Pages by their addresses; `state` tells the state of all that they are drawn from."""

    def __init__(self, state: Callable[[], object], seconds: float = SECONDS) -> None:
        self._state = state
        self._seconds = seconds
        self._drawings: dict[str, Drawing] = {}

    async def get(self, request: Request, page: Page) -> Response:
        """The answer of a page to a request, or to an equal one at the same time."""
        key = f"{request.url.path}?{request.url.query}"
        drawing = self._drawings.get(key)
        if drawing is None or drawing.task is None or not drawing.is_current():
            drawing = Drawing(self._state)
            drawing.task = asyncio.create_task(self._draw(drawing, request, page, key))
            if len(self._drawings) >= _MOST:
                del self._drawings[next(iter(self._drawings))]
            self._drawings[key] = drawing
        return await asyncio.shield(drawing.task)

    async def _draw(self, drawing: Drawing, request: Request, page: Page, key: str) -> Response:
        _drawn_now.set(drawing)
        is_kept = False
        try:
            answer = await page(request)
            if isinstance(answer, StreamingResponse):
                answer.body_iterator = drawing.pieces = SharedPieces(answer.body_iterator)  # type: ignore[arg-type]
            is_kept = len(getattr(answer, "body", b"")) <= _LARGEST
            return answer
        finally:
            if is_kept:
                asyncio.get_running_loop().call_later(self._seconds, self._drop, key, drawing)
            else:
                self._drop(key, drawing)

    def _drop(self, key: str, drawing: Drawing) -> None:
        if self._drawings.get(key) is drawing:
            del self._drawings[key]


class SharedPieces:
    """The pieces of a page as they are made, for any number of readers, each from the first piece on."""

    def __init__(self, source: AsyncIterator[bytes]) -> None:
        self._pieces: list[bytes] = []
        self._more = asyncio.Event()
        self.is_over = False
        self._error: Exception | None = None  # told to one reader, for the server's terminal
        self._task = asyncio.create_task(self._collect(source))

    async def _collect(self, source: AsyncIterator[bytes]) -> None:
        try:
            async for piece in source:
                self._pieces.append(piece)
                self._tell()
        except Exception as error:  # noqa: BLE001 - raised by who reads the pieces
            self._error = error
        finally:
            self.is_over = True
            self._tell()

    def _tell(self) -> None:
        more, self._more = self._more, asyncio.Event()
        more.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """All pieces."""
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
    """A page that is drawn once for all who ask for it at the same time; it depends on its address and the store only."""

    @wraps(page)
    async def drawn(request: Request) -> Response:
        cache: PageCache = request.app.state.pages
        return await cache.get(request, page)

    return drawn
