from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from hansard.errors import NotFound
from hansard.web import caches
from hansard.web.caches import PageCache
from tests.web.serving import elsewhere


class Store:
    """A store whose state is a number, and a page that waits before it reads it."""

    def __init__(self) -> None:
        self.state = 0
        self.drawn = 0
        self.may_read, self.may_answer = asyncio.Event(), asyncio.Event()
        self.may_read.set()
        self.may_answer.set()
        engines, live = SimpleNamespace(state=lambda: self.state), SimpleNamespace(state=None)
        self.cache = PageCache(engines, live)  # type: ignore[arg-type]

    async def page(self, request: Request) -> Response:
        self.drawn += 1
        await self.may_read.wait()
        seen = self.state
        await self.may_answer.wait()
        return HTMLResponse(f"{request.url.path} {seen}")

    def ask(self, address: str = "/sessions?q=a") -> Coroutine[Any, Any, Response]:
        path, _, query = address.partition("?")
        scope = {
            "type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": [(b"host", b"localhost")],
            "scheme": "http", "server": ("localhost", 80),
        }  # fmt: skip
        return self.cache.get(Request(scope), self.page)


async def begun(*coroutines: Coroutine[Any, Any, Response]) -> list[asyncio.Task[Response]]:
    """Tasks that have come as far as they can."""
    tasks = [asyncio.create_task(one) for one in coroutines]
    for _ in range(10):
        await asyncio.sleep(0)
    return tasks


def bodies(answers: list[Response]) -> list[bytes]:
    return [bytes(answer.body) for answer in answers]


async def drawn_for_all_at_once() -> None:
    store = Store()
    store.may_answer.clear()
    tasks = await begun(store.ask(), store.ask(), store.ask("/sessions?q=b"))
    store.may_answer.set()
    assert bodies(await asyncio.gather(*tasks)) == [b"/sessions 0"] * 3
    assert store.drawn == 2  # one for each address
    await store.ask()
    assert store.drawn == 2


async def changed_while_it_was_drawn() -> None:
    store = Store()
    store.may_answer.clear()
    early = await begun(store.ask())
    store.state = 1
    late = await begun(store.ask())
    store.may_answer.set()
    assert bodies(await asyncio.gather(*early, *late)) == [b"/sessions 0", b"/sessions 1"]
    store.state = 2
    assert bodies([await store.ask()]) == [b"/sessions 2"]


async def changed_before_anything_was_read() -> None:
    store = Store()
    store.may_read.clear()
    early = await begun(store.ask())
    store.state = 1
    late = await begun(store.ask())
    store.may_read.set()
    assert bodies(await asyncio.gather(*early, *late)) == [b"/sessions 1", b"/sessions 1"]
    assert store.drawn == 2


async def failed_for_all_and_tried_again() -> None:
    store = Store()

    async def refuse(request: Request) -> Response:
        store.drawn += 1
        await store.may_answer.wait()
        raise NotFound(f"no {request.url.path}")

    store.page = refuse  # type: ignore[method-assign]
    store.may_answer.clear()
    tasks = await begun(store.ask(), store.ask())
    store.may_answer.set()
    errors = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(error) for error in errors] == [NotFound, NotFound]
    with pytest.raises(NotFound):
        await store.ask()
    assert store.drawn == 2


async def gone_with_its_reader() -> None:
    store = Store()
    store.may_answer.clear()
    first, second = await begun(store.ask(), store.ask())
    first.cancel()
    await asyncio.wait([first])
    store.may_answer.set()
    assert bodies([await second]) == [b"/sessions 0"]


async def in_pieces_for_all() -> None:
    store = Store()
    store.may_answer.clear()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"head "
        await store.may_answer.wait()
        yield b"rest"
        raise RuntimeError("told in the terminal")

    async def page(request: Request) -> Response:
        store.drawn += 1
        return StreamingResponse(pieces())

    async def read(response: Response) -> tuple[list[bytes], bool]:
        assert isinstance(response, StreamingResponse)
        got: list[bytes] = []
        try:
            async for piece in response.body_iterator:
                got.append(bytes(piece))  # type: ignore[arg-type]  # noqa: PERF401 - what came before an error counts
        except RuntimeError:
            return got, True
        return got, False

    store.page = page  # type: ignore[method-assign]
    reading = [asyncio.create_task(read(await store.ask())) for _ in range(2)]
    store.may_answer.set()
    assert sorted(await asyncio.gather(*reading)) == [([b"head ", b"rest"], False), ([b"head ", b"rest"], True)]
    assert store.drawn == 1


async def too_large_to_be_kept() -> None:
    store = Store()

    async def page(request: Request) -> Response:
        store.drawn += 1
        return HTMLResponse(b"x" * (caches._MOST_BYTES + 1))

    store.page = page  # type: ignore[method-assign]
    await store.ask()
    await store.ask()
    assert store.drawn == 2


async def no_more_than_some_are_kept() -> None:
    store = Store()
    for number in range(caches._MOST_PAGES + 5):
        await store.ask(f"/sessions?q={number}")
    assert len(store.cache._pages) == caches._MOST_PAGES


@pytest.mark.parametrize(
    "story",
    [
        drawn_for_all_at_once, changed_while_it_was_drawn, changed_before_anything_was_read, failed_for_all_and_tried_again,
        gone_with_its_reader, in_pieces_for_all, too_large_to_be_kept, no_more_than_some_are_kept,
    ],
)  # fmt: skip
def test_a_page_is(story: Any) -> None:
    elsewhere(lambda: asyncio.run(story()))
