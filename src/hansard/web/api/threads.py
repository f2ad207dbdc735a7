"""What was said and done in a session, turn by turn, and the verbatim bytes of its transcripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

from msgspec import defstruct
from starlette.responses import Response, StreamingResponse

from hansard.errors import NotFound
from hansard.model.display import Turn
from hansard.model.requests import SessionRequest, about
from hansard.model.serialize import encoded
from hansard.model.threads import Agent
from hansard.web.api.endpoint import Call, Endpoint
from hansard.web.parameters import LAST_OFFSET
from hansard.web.responses import refuse_verbatim

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.web.engine_pool import EnginePool

_ENOUGH = 8 << 20  # bytes of an answer, after which no further turn is begun
_KIND = "application/octet-stream"  # a browser must not take it for a page
_PIECE = 1 << 20


class TurnsRequest(SessionRequest, frozen=True, kw_only=True):
    """Some turns of a session."""

    agent: Annotated[str | None, about("Read this subagent's thread instead of the session's.")] = None
    first: Annotated[int, about("Number of the first turn: 1, or `next` of the previous answer.", ge=1, le=10**9)] = 1
    last: Annotated[bool, about("The last turns instead of `first`.")] = False
    limit: Annotated[int, about("Maximum number; fewer if they are large.", ge=1, le=50)] = 10
    agents: Annotated[bool, about("Include everything subagents did, where they were called.")] = False
    pictures: Annotated[bool, about("Include images, in base64.")] = False


def _turns(call: Call) -> bytes:
    """The requested turns, or fewer if they are large; at least one."""
    request: TurnsRequest = call.request
    session = call.h.session(request.session)
    thread = call.h.read(session, request.agent, pictures=request.pictures, subagents=request.agents)
    starts = thread.starts
    total = len(starts)
    first = max(1, total - request.limit + 1) if request.last else request.first
    if first > max(total, 1):
        raise NotFound(f"no turn {first}: this conversation has {total}")
    end = min(first - 1 + request.limit, total)
    turns: list[bytes] = []
    if total:
        until = starts[end].offset if end < total else None
        for turn in thread.turns(starts[first - 1].offset, first, until):
            turns.append(encoded(turn)[:-1])
            if sum(map(len, turns)) > _ENOUGH:
                break
    after = first + len(turns)
    head = {
        "session_id": session.session_id,
        "agent": thread.agent,
        "total": total,
        "next": after if after <= total else None,
    }
    return encoded(head)[:-2] + b', "turns": [' + b", ".join(turns) + b"]}\n"


class RawRequest(SessionRequest, frozen=True, kw_only=True):
    """A transcript, or a line of one."""

    transcript: Annotated[str | None, about("The path of a transcript, the end of one, or a subagent's id.")] = None
    generation: Annotated[
        int | None, about("Another generation of a rewritten file; 1 is the first.", ge=1, le=10**6)
    ] = None
    offset: Annotated[int | None, about("Only the line that begins at this byte.", ge=0, le=LAST_OFFSET)] = None


async def _raw(request: Request, given: RawRequest) -> Response:
    """The bytes of a transcript, or of one line, streamed in pieces."""
    refuse_verbatim(request)
    engines: EnginePool = request.app.state.engines
    transcript, start, end = await engines.read(lambda h: _place(h, given))
    headers = {"content-length": str(end - start)}
    if request.method == "HEAD" or start == end:
        return Response(media_type=_KIND, headers=headers)

    async def piece(position: int) -> bytes:
        return await engines.read(
            lambda h: b"".join(h.transcript_bytes(transcript, position, min(position + _PIECE, end)))
        )

    first = await piece(start)  # the status still reports damage

    async def pieces() -> AsyncIterator[bytes]:
        content, position = first, start
        while content:
            yield content
            position += len(content)
            content = await piece(position) if position < end else b""

    return StreamingResponse(pieces(), media_type=_KIND, headers=headers)


def _place(h: Hansard, given: RawRequest) -> tuple[int, int, int]:
    """The transcript's id in the record, and the requested byte range."""
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
        "/api/sessions/{session}/turns",
        "What was said and done in it, turn by turn: prompts, replies, tool calls with results, costs",
        _turns,
        defstruct(
            "Turns",
            [
                ("session_id", str),
                ("agent", Agent | None),
                ("total", int),
                ("next", int | None),
                ("turns", list[Turn]),
            ],
        ),
        TurnsRequest,
        has_etag=True,
    ),
    Endpoint(
        "/api/sessions/{session}/raw",
        "The verbatim bytes of its main transcript, of another, or of one line",
        _raw,
        bytes,
        RawRequest,
        kind=_KIND,
    ),
)
