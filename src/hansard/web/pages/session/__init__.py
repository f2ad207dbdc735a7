"""The page of one session: head, outline and conversation, its fragments and its raw lines."""

from __future__ import annotations

from starlette.routing import Route

from hansard.web.caches import shared
from hansard.web.pages.session.forget import preview_or_forget
from hansard.web.pages.session.fragments import agent, course, find, matches, news, pins, related, turns
from hansard.web.pages.session.raw import raw, text
from hansard.web.pages.session.show import show

_HERE = "/sessions/{session_id}"

ROUTES = [
    Route(_HERE, shared(show)),
    Route(f"{_HERE}/turns", turns),
    Route(f"{_HERE}/news", news),
    Route(f"{_HERE}/agent", agent),
    Route(f"{_HERE}/course", course),
    Route(f"{_HERE}/related", related),
    Route(f"{_HERE}/pins", pins),
    Route(f"{_HERE}/find", find),
    Route(f"{_HERE}/matches", matches),
    Route(f"{_HERE}/raw", raw),
    Route(f"{_HERE}/text", text),
    Route(f"{_HERE}/forget", preview_or_forget, methods=["GET", "POST"]),
]
