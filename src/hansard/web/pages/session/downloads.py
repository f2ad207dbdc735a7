"""A session as a file: drawn piece by piece while it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from hansard.errors import NotFound
from hansard.export.names import name_sessions
from hansard.web.pages.session.show import zone_of
from hansard.web.params import Params

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.sessions import Session
    from hansard.web.engine_pool import EnginePool

FORMS = {
    "html": ("html", "text/html; charset=utf-8"),
    "markdown": ("md", "text/markdown; charset=utf-8"),
    "json": ("json", "application/json"),
    "jsonl": ("jsonl", "application/x-ndjson"),
}
"""The ending and the type of each."""


async def download(request: Request) -> Response:
    """The session in one of the formats; jsonl is its transcript, byte for byte."""
    asked = Params(request)
    form = asked.choice("format", FORMS, "html")
    asked.done()
    engines: EnginePool = request.app.state.engines
    session_id = request.path_params["session_id"]

    def found(h: Hansard) -> Session:
        session = h.session(session_id)
        if session.session_id != session_id:
            raise NotFound(f"no session has the id {session_id!r}; do you mean {session.session_id}?")
        if form == "jsonl":
            _ = h.read(session).transcript  # an error where there is none
        return session

    session = await engines.read(found)
    ending, media_type = FORMS[form]
    name = f"{name_sessions([session], {})[session_id]}.{ending}"
    return StreamingResponse(
        _pieces(engines, session, form, zone_of(request)),
        media_type=media_type,
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


def _pieces(engines: EnginePool, session: Session, form: str, zone: tzinfo) -> Iterator[bytes]:
    """With an engine of its own: other requests go on with theirs while this one is sent."""
    with engines.engine() as h, h.at_once():
        yield from _drawn(h, session, form, zone)


def _drawn(h: Hansard, session: Session, form: str, zone: tzinfo) -> Iterator[bytes]:
    thread = h.read(session)
    if form == "jsonl":
        yield from thread.raw()
    elif form == "html":
        from hansard.render.html import page

        for piece in page(thread, zone=zone, now=datetime.now(UTC)):
            yield piece.encode("utf-8", "replace")
    elif form == "markdown":
        from hansard.render.markdown import lines

        for line in lines(thread, zone=zone):
            yield line.encode("utf-8", "replace") + b"\n"
    else:
        from hansard.render.document import pieces

        yield from pieces(thread)
