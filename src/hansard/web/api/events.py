"""The stream of events that open pages listen to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse

from hansard.model.serialize import encoded
from hansard.web.api.endpoint import Endpoint

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.web.live import Live, News

_KIND = "text/event-stream"


async def _events(request: Request, given: dict[str, Any]) -> Response:  # noqa: ARG001 - there is nothing to ask with
    """Server-sent events: `revision` with the `News`, at once and whenever they change."""
    live: Live = request.app.state.live
    if request.method == "HEAD":
        return Response(media_type=_KIND)
    news = live.events()
    first = await anext(news, None)  # what hinders it is still told by the status

    async def stream() -> AsyncIterator[bytes]:
        yield _event(first)
        async for one in news:
            yield _event(one)

    return StreamingResponse(stream(), media_type=_KIND)


def _event(news: News | None) -> bytes:
    return b": nothing new\n\n" if news is None else b"event: revision\ndata: " + encoded(news) + b"\n"


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/events",
        "Server-sent events: `revision` with what /api/revision answers, at once and whenever it changes",
        _events,
        str,
        kind=_KIND,
    ),
)
