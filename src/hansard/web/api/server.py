"""The state of the store and of the server: health, tags, the event stream, and links that let another browser in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import defstruct
from msgspec.structs import replace
from starlette.responses import Response, StreamingResponse

from hansard.background_sync import StoreState
from hansard.model.fields import Timestamp
from hansard.model.health import Diagnosis, Status
from hansard.model.serialize import encoded
from hansard.model.sessions import Tagged
from hansard.web.api.endpoint import Endpoint
from hansard.web.parameters import Nothing
from hansard.web.redirect_file import LINK_SECONDS
from hansard.web.responses import Json

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.web.auth import Auth
    from hansard.web.engine_pool import Live

_KIND = "text/event-stream"


async def _events(request: Request, given: Nothing) -> Response:  # noqa: ARG001 - there is nothing to ask with
    """Server-sent events: `revision` with the `StoreState`, at once and whenever they change."""
    live: Live = request.app.state.live
    if request.method == "HEAD":
        return Response(media_type=_KIND)
    news = live.events()
    first = await anext(news, None)  # an error here still sets the status

    async def stream() -> AsyncIterator[bytes]:
        yield _event(first)
        async for one in news:
            yield _event(one)

    return StreamingResponse(stream(), media_type=_KIND)


def _event(news: StoreState | None) -> bytes:
    return b": nothing new\n\n" if news is None else b"event: revision\ndata: " + encoded(news) + b"\n"


async def _link(request: Request, given: Nothing) -> Json:  # noqa: ARG001 - there is nothing to ask with
    auth: Auth = request.app.state.auth
    expires_at = datetime.now(UTC) + timedelta(seconds=LINK_SECONDS)
    return Json({"link": auth.link(auth.issue_token()), "expires_at": expires_at})


ENDPOINTS = (
    Endpoint(
        "/api/status",
        "The store at a glance, and what the client's clean-up deletes next",
        lambda call: call.h.status(),
        Status,
    ),
    Endpoint(
        "/api/doctor",
        "The store's health, bad lines, and unknown record types",
        lambda call: call.h.doctor(),
        Diagnosis,
    ),
    Endpoint(
        "/api/tags",
        "All tags with their number of sessions",
        lambda call: {"tags": call.h.tags()},
        defstruct("Tags", [("tags", list[Tagged])]),
        has_etag=True,
    ),
    Endpoint(
        "/api/revision",
        "Whether the store has changed, as the events report it",
        lambda call: replace(call.live.state, revision=call.h.revision()),
        StoreState,
    ),
    Endpoint(
        "/api/events",
        "Server-sent events: `revision` with what /api/revision answers, immediately and after every change",
        _events,
        str,
        kind=_KIND,
    ),
    Endpoint(
        "/api/links",
        "A link that signs in one more browser, valid once and for five minutes",
        _link,
        defstruct("LoginLink", [("link", str), ("expires_at", Timestamp)]),
        method="POST",
    ),
)
