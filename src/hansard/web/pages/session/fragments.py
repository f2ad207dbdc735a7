"""What the page fetches while it is read: further windows, subagents, what is new, what was found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.responses import HTMLResponse, RedirectResponse, Response

from hansard.errors import UsageError
from hansard.render.html.escaping import escaped
from hansard.thread.fingerprint import fingerprint
from hansard.thread.windows import Budget
from hansard.web.pages.session.about import agent_tree
from hansard.web.pages.session.params import MANY, ThreadRequest, zone_of
from hansard.web.pages.session.rendering import draw_course, draw_more, draw_outline, drawing_of
from hansard.web.pages.session.show import head_values
from hansard.web.params import Params
from hansard.web.templating import page

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard

_INSIDE = Budget(records=100, bytes=384 << 10, turns=20)  # of a subagent where it was called
_FOUND = 30
_RELATED = 12


async def turns(request: Request) -> Response:
    """The next windows of a thread."""
    asked = Params(request)
    wanted = ThreadRequest.of(request, asked)
    asked.done()
    return await _answer(request, lambda h, zone: draw_more(wanted.reading(h), wanted, zone).html)


async def agent(request: Request) -> Response:
    """A subagent's turns, to be put where it was called."""
    asked = Params(request)
    wanted = ThreadRequest.of(request, asked)
    asked.done()
    if wanted.agent is None:
        raise UsageError("name the subagent with agent=ID")
    return await _answer(request, lambda h, zone: _agent(h, wanted, zone))


def _agent(h: Hansard, wanted: ThreadRequest, zone: tzinfo) -> str:
    reading = wanted.reading(h)
    window = reading.windows.after(max(0, wanted.start), _INSIDE)
    drawing = drawing_of(reading, zone)
    drawn = "".join(drawing.inner(reading.turns(window), wanted.agent or ""))
    if not drawn:
        drawn = '<p class="empty">Nothing was said in it.</p>'
    if window.end is None:
        return drawn
    rest = escaped(drawing.address.after(window.end))
    return f'{drawn}<p class="agent-more"><a href="{rest}" data-from="{window.end}">More of this subagent</a></p>'


async def course(request: Request) -> Response:
    """The timeline and the whole outline of a thread, with what each turn used."""
    asked = Params(request)
    wanted = ThreadRequest.of(request, asked)
    asked.done()

    def draw(h: Hansard, _: tzinfo) -> str:
        reading = wanted.reading(h)
        timeline = draw_course(reading)
        return page(
            "session_course.html",
            timeline=timeline,
            outline=draw_outline(reading, 1, len(reading.starts), figures=True),
        )

    return await _answer(request, draw)


async def news(request: Request) -> Response:
    """What is new since the page has the given fingerprint: nothing, or the head and the end of the conversation."""
    asked = Params(request)
    wanted = ThreadRequest.of(request, asked)
    known = asked.text("known")
    outlined = asked.number("outlined", 1, 1, MANY)
    asked.done()
    return await _answer(request, lambda h, zone: _news(h, wanted, zone, known, outlined))


def _news(h: Hansard, wanted: ThreadRequest, zone: tzinfo, known: str | None, outlined: int) -> str | None:
    session = wanted.session(h)
    mark = fingerprint(h.reader, session)
    if known == mark:
        return None
    reading = wanted.open(h, session)
    agents = agent_tree(h, session.session_id, reading.agents if reading else h.agents(session.session_id))
    values: dict[str, Any] = {
        **head_values(session, zone),
        "mark": mark,
        "agents": agents,
        "window": "",
        "outline": "",
        "timeline": None,
        "turns": len(reading.starts) if reading else 0,
        "log": reading.source.transcript if reading else 0,
    }
    if reading is not None:
        if wanted.start >= 0:
            values["window"] = draw_more(reading, wanted, zone).html
        figures = reading.has_course()
        count = len(reading.starts)
        first = min(outlined, max(1, count))
        values["outline"] = draw_outline(reading, first, min(count, first + 400), figures=figures)
        if figures:
            values["timeline"] = draw_course(reading)
    return page("session_news.html", **values)


async def related(request: Request) -> Response:
    """Sessions like this one."""
    asked = Params(request)
    asked.done()
    session_id = request.path_params["session_id"]
    return await _answer(
        request, lambda h, _: page("session_related.html", related=h.related(session_id, limit=_RELATED))
    )


async def find(request: Request) -> Response:
    """Places in this session that answer a search; without `bare` the page of the search itself."""
    asked = Params(request)
    text = asked.text("q") or ""
    bare = asked.flag("bare")
    asked.done()
    session_id = request.path_params["session_id"]
    query = f"session:{session_id} {text}"
    if not bare:
        return RedirectResponse(f"/search?{urlencode({'q': query})}", 303)

    def draw(h: Hansard, zone: tzinfo) -> str:
        found = h.search(query, limit=_FOUND, zone=zone)
        return page("session_found.html", found=found, text=text, marked=marked)

    return await _answer(request, draw)


def marked(snippet: str, highlights: tuple[tuple[int, int], ...]) -> list[tuple[str, bool]]:
    """A snippet in pieces, each with whether it was asked for."""
    pieces: list[tuple[str, bool]] = []
    place = 0
    for start, end in highlights:
        pieces += ((snippet[place:start], False), (snippet[start:end], True))
        place = end
    return [*pieces, (snippet[place:], False)]


async def _answer(request: Request, draw: Callable[[Hansard, tzinfo], str | None]) -> Response:
    """A piece of HTML; nothing new is no content."""
    zone = zone_of(request)
    drawn = await request.app.state.engines.read(lambda h: draw(h, zone))
    return HTMLResponse(drawn) if drawn is not None else Response(status_code=204)
