"""What was said and done in a session, turn by turn, as every front end shows it."""

from __future__ import annotations

from msgspec import defstruct

from hansard.errors import NotFound
from hansard.model.display import Turn
from hansard.model.serialize import encoded
from hansard.model.threads import Agent
from hansard.web.api.endpoint import Call, Endpoint
from hansard.web.api.parameters import SESSION, Flag, Number, Text

_MOST = 50
_ENOUGH = 8 << 20  # bytes of an answer, after which no further turn is begun


def _turns(call: Call) -> bytes:
    """As many of the turns as were asked for, or fewer where they are large; one at least."""
    given, h = call.given, call.h
    session = h.session(given["session"])
    thread = h.read(session, given["agent"], pictures=given["pictures"], subagents=given["agents"])
    starts = thread.starts
    total = len(starts)
    first = max(1, total - given["limit"] + 1) if given["last"] else given["first"]
    if first > max(total, 1):
        raise NotFound(f"no turn {first}: this conversation has {total}")
    end = min(first - 1 + given["limit"], total)
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
        (SESSION,),
        (
            Text("agent", "Read this subagent's thread instead of the session's."),
            Number("first", "Number of the first turn: 1, or `next` of the previous answer.", 1, 10**9, 1),
            Flag("last", "The last turns instead of `first`."),
            Number("limit", "Maximum number; fewer if they are large.", 1, _MOST, 10),
            Flag("agents", "Include everything subagents did, where they were called."),
            Flag("pictures", "Include images, in base64."),
        ),
        steady=True,
    ),
)
