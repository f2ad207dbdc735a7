"""What was said and done in a session, turn by turn, as every front end shows it."""

from __future__ import annotations

from typing import Annotated

from msgspec import defstruct

from hansard.errors import NotFound
from hansard.model.display import Turn
from hansard.model.requests import SessionRequest, about
from hansard.model.serialize import encoded
from hansard.model.threads import Agent
from hansard.web.api.endpoint import Call, Endpoint

_ENOUGH = 8 << 20  # bytes of an answer, after which no further turn is begun


class TurnsRequest(SessionRequest, frozen=True, kw_only=True):
    """Some turns of a session."""

    agent: Annotated[str | None, about("Read this subagent's thread instead of the session's.")] = None
    first: Annotated[int, about("Number of the first turn: 1, or `next` of the previous answer.", ge=1, le=10**9)] = 1
    last: Annotated[bool, about("The last turns instead of `first`.")] = False
    limit: Annotated[int, about("Maximum number; fewer if they are large.", ge=1, le=50)] = 10
    agents: Annotated[bool, about("Include everything subagents did, where they were called.")] = False
    pictures: Annotated[bool, about("Include images, in base64.")] = False


def _turns(call: Call) -> bytes:
    """As many of the turns as were asked for, or fewer where they are large; one at least."""
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


ENDPOINTS = (
    Endpoint(
        "GET",
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
        steady=True,
    ),
)
