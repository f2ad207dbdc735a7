"""The page itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from hansard.render.html.figures import lasting, local, span
from hansard.render.html.head import title_of
from hansard.render.html.items import GROUPS
from hansard.thread.branch_view import list_choices
from hansard.thread.neighbours import list_changed_files, list_neighbours
from hansard.web.pages.session.about import agent_tree, relation, resume_command
from hansard.web.pages.session.params import ThreadRequest, zone_of
from hansard.web.pages.session.rendering import (
    address_of,
    draw_course,
    draw_outline,
    draw_window,
    drawing_of,
    outlined,
)
from hansard.web.params import Params
from hansard.web.reading import FIRST
from hansard.web.responses import html

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.sessions import Session
    from hansard.web.reading import Reading

FILES = 100
AGENTS = 200
_FRESH = timedelta(minutes=10)


async def show(request: Request) -> Response:
    """The page of a session, or of one of its subagents."""
    asked = Params(request)
    wanted = ThreadRequest.of(request, asked)
    whole = asked.flag("whole")
    asked.done()
    values: dict[str, Any] | str = await request.app.state.engines.read(
        lambda h: _values(h, wanted, zone_of(request), whole=whole)
    )
    if isinstance(values, str):
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/sessions/{quote(values, safe='')}{query}", 303)
    return html(request, "session.html", at="/sessions", **values)


def _values(h: Hansard, wanted: ThreadRequest, zone: tzinfo, *, whole: bool) -> dict[str, Any] | str:
    """What the template is filled with; the whole id where the address has the beginning of one."""
    session = h.session(wanted.session_id)
    if session.session_id != wanted.session_id:
        return session.session_id
    reading = wanted.open(h, session)
    agents = agent_tree(h, session.session_id, reading.agents if reading else h.agents(session.session_id))
    values: dict[str, Any] = {
        **head_values(session, zone),
        "title": title_of(session)[:300],
        "reading": reading,
        "agent": reading.agent if reading else None,
        "branch": wanted.branch,
        "agents": agents[:AGENTS],
        "more_agents": max(0, len(agents) - AGENTS),
        "neighbours": [(relation(one), one) for one in list_neighbours(h.reader, session.session_id)],
        "files": list_changed_files(h.reader, session.session_id, FILES),
        "resume": resume_command(session),
        "groups": GROUPS,
        "choices": [],
        "seen": h.revision(),
    }
    return {**values, **(_conversation(reading, wanted, zone, whole=whole) if reading else {})}


def head_values(session: Session, zone: tzinfo) -> dict[str, Any]:
    """What the head says, which is also what is new about a session that grows."""
    started = local(session.started_at, zone) if session.started_at else None
    ended = local(session.ended_at, zone) if session.ended_at else started
    return {
        "session": session,
        "span": span(started, ended) if started and ended else "",
        "lasted": lasting(ended - started) if started and ended and ended > started else "",
        "is_fresh": session.ended_at is not None and datetime.now(UTC) - session.ended_at < _FRESH,
    }


def _conversation(reading: Reading, wanted: ThreadRequest, zone: tzinfo, *, whole: bool) -> dict[str, Any]:
    piece = draw_window(reading, wanted.window(reading, FIRST), zone, wanted.target(reading))
    figures = whole or reading.has_course()
    first, last = (1, len(reading.starts)) if whole else outlined(reading, piece.first)
    drawing = drawing_of(reading, zone)
    others = [agent for agent in reading.agents if agent.tool_use_id is None] if reading.agent is None else []
    timeline = draw_course(reading) if figures else None
    return {
        "place": address_of(reading),
        "window": piece.html,
        "start": piece.start,
        "end": piece.end,
        "turns": len(reading.starts),
        "outline": draw_outline(reading, first, last, figures=figures),
        "outline_first": first,
        "outline_last": last,
        "has_figures": figures,
        "timeline": timeline,
        "choices": list_choices(reading.source),
        "others": [drawing.thread(_empty(agent)) for agent in others[:AGENTS]],
        "log": reading.source.path,
    }


def _empty(agent: Any) -> Any:
    from hansard.model.display import Thread

    return Thread(agent, (), {})
