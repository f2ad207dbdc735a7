"""A session as a file: drawn piece by piece while it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from starlette.responses import Response, StreamingResponse

from hansard.export.formats import draw
from hansard.export.names import name_sessions
from hansard.model.requests import about
from hansard.web.pages.session.show import find_by_id, zone_of
from hansard.web.parameters import read_params

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


class DownloadRequest(Struct, frozen=True, kw_only=True):
    """The format of a file."""

    format: Annotated[str, about("Its format.", choices=FORMS)] = "html"


async def download(request: Request) -> Response:
    """The session in one of the formats; jsonl is its transcript, byte for byte."""
    form = read_params(request, DownloadRequest).format
    engines: EnginePool = request.app.state.engines
    session_id = request.path_params["session_id"]

    def found(h: Hansard) -> Session:
        session = find_by_id(h, session_id)
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
        thread = h.read(session)
        yield from thread.raw() if form == "jsonl" else draw(form, thread, zone=zone, now=datetime.now(UTC))
