"""The verbatim bytes of a session's transcripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

from starlette.responses import Response, StreamingResponse

from hansard.errors import NotFound
from hansard.model.requests import SessionRequest, about
from hansard.web.api.endpoint import Endpoint

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.web.engine_pool import EnginePool

_KIND = "application/octet-stream"  # a browser must not take it for a page
_PIECE = 1 << 20


class RawRequest(SessionRequest, frozen=True, kw_only=True):
    """A transcript, or a line of one."""

    transcript: Annotated[str | None, about("The path of a transcript, the end of one, or a subagent's id.")] = None
    generation: Annotated[
        int | None, about("Another generation of a rewritten file; 1 is the first.", ge=1, le=10**6)
    ] = None
    offset: Annotated[int | None, about("Only the line that begins at this byte.", ge=0, le=1 << 40)] = None


async def _raw(request: Request, given: RawRequest) -> Response:
    """A transcript from the first byte to the last, or one line of it; no more than a piece is in memory."""
    engines: EnginePool = request.app.state.engines
    transcript, start, end = await engines.read(lambda h: _place(h, given))
    headers = {"content-length": str(end - start)}
    if request.method == "HEAD" or start == end:
        return Response(media_type=_KIND, headers=headers)

    async def piece(position: int) -> bytes:
        return await engines.read(
            lambda h: b"".join(h.transcript_bytes(transcript, position, min(position + _PIECE, end)))
        )

    first = await piece(start)  # damage is still told by the status

    async def pieces() -> AsyncIterator[bytes]:
        content, position = first, start
        while content:
            yield content
            position += len(content)
            content = await piece(position) if position < end else b""

    return StreamingResponse(pieces(), media_type=_KIND, headers=headers)


def _place(h: Hansard, given: RawRequest) -> tuple[int, int, int]:
    """The transcript's id in the record, and from where to where it is wanted."""
    session_id = h.session(given.session).session_id
    transcript, about = h.find_transcript(given.transcript or session_id, generation=given.generation)
    if about.session_id != session_id:
        raise NotFound(f"session {session_id} has no transcript {given.transcript!r}")
    size, offset = h.transcript_size(transcript), given.offset
    if offset is None:
        return transcript, 0, size
    if offset >= size:
        raise NotFound(f"no line at byte {offset:,}: the transcript has {size:,} bytes")
    end = offset
    for piece in h.transcript_bytes(transcript, offset):
        found = piece.find(b"\n")
        if found >= 0:
            return transcript, offset, end + found + 1
        end += len(piece)
    return transcript, offset, end


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/sessions/{session}/raw",
        "The verbatim bytes of its main transcript, of another, or of one line",
        _raw,
        bytes,
        RawRequest,
        kind=_KIND,
    ),
)
