"""Pieces that an open page fetches: more windows, subagents, news, search hits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import urlencode

from msgspec import Struct
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hansard.errors import HansardError, UsageError
from hansard.model.requests import about
from hansard.render.html.escaping import escaped
from hansard.thread.store import Budget
from hansard.web.pages.session.show import (
    MANY,
    ThreadRequest,
    agent_tree,
    find_by_id,
    head_values,
    list_pins,
    read_thread,
    zone_of,
)
from hansard.web.pages.session.thread_html import draw_context, draw_outline, draw_window, drawing_of
from hansard.web.parameters import Nothing, read_params
from hansard.web.responses import Json, page

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.blame import Commit
    from hansard.model.search import Hit, SearchPage
    from hansard.thread.thread import Thread

NEXT = Budget(records=140, bytes=512 << 10, turns=25)
"""Size of the piece that is fetched when the reader nears the end of a window."""
_INSIDE = Budget(records=100, bytes=384 << 10, turns=20)  # of a subagent where it was called
_FOUND = 30
_MATCHES = 500
_RELATED = 12
_COMMITS = 20


class NewsRequest(ThreadRequest, frozen=True, kw_only=True):
    """The state of an open page."""

    known: Annotated[str | None, about("The fingerprint of its thread.")] = None
    outlined: Annotated[int, about("The first turn of its outline.", ge=1, le=MANY)] = 1


class MatchesRequest(Struct, frozen=True, kw_only=True):
    """A search in one thread."""

    agent: Annotated[str | None, about("The whole id of a subagent.")] = None
    branch: Annotated[int, about("The branch that is shown.", ge=0, le=MANY)] = 0
    text: Annotated[str, about("The query.", http="q")] = ""


class FindRequest(MatchesRequest, frozen=True, kw_only=True):
    """A search in one session, from one of its threads."""

    bare: Annotated[bool, about("Only the hits, for an open page.")] = False


class ThreadMatches(NamedTuple):
    """The matches of a search in one session, as its page counts them."""

    page: SearchPage
    own: list[Hit]  # in the thread
    offsets: list[int]  # of the entries of the thread with a match
    elsewhere: int  # entries of other threads


async def turns(request: Request) -> Response:
    """The next windows of a thread."""
    wanted = ThreadRequest.of(request)
    return await _answer(request, lambda h, zone: _window(wanted.thread(h), wanted, zone))


def _window(thread: Thread, wanted: ThreadRequest, zone: tzinfo) -> str:
    return draw_window(thread, wanted.window(thread, NEXT), zone, wanted.target(thread)).html


async def agent(request: Request) -> Response:
    """A subagent's turns, to be put where it was called."""
    wanted = ThreadRequest.of(request)
    if wanted.agent is None:
        raise UsageError("name the subagent with agent=ID")
    return await _answer(request, lambda h, zone: _agent(h, wanted, zone))


def _agent(h: Hansard, wanted: ThreadRequest, zone: tzinfo) -> str:
    thread = wanted.thread(h)
    window = thread.windows.after(max(0, wanted.start), _INSIDE)
    drawing = drawing_of(thread, zone)
    drawn = "".join(drawing.inner(thread.window(window), wanted.agent or ""))
    if not drawn:
        drawn = '<p class="empty">This subagent has no messages.</p>'
    if window.end is None:
        return drawn
    rest = escaped(drawing.address.after(window.end))
    return f'{drawn}<p class="agent-more"><a href="{rest}" data-from="{window.end}">More of this subagent</a></p>'


async def course(request: Request) -> Response:
    """The timeline and the whole outline of a thread, with what each turn used."""
    wanted = ThreadRequest.of(request)

    def draw(h: Hansard, _: tzinfo) -> str:
        thread = wanted.thread(h)
        outline = draw_outline(thread, 1, len(thread.starts), figures=True)
        return page("session_course.html", timeline=draw_context(thread), outline=outline)

    return await _answer(request, draw)


async def news(request: Request) -> Response:
    """What is new since the page has the given fingerprint: nothing, or the head and the end of the conversation."""
    wanted = NewsRequest.of(request)
    return await _answer(request, lambda h, zone: _news(h, wanted, zone))


def _news(h: Hansard, wanted: NewsRequest, zone: tzinfo) -> str | None:
    session = find_by_id(h, wanted.session_id)
    thread = wanted.thread_of(h, session)
    if wanted.known == thread.fingerprint:
        return None
    values: dict[str, Any] = {
        **head_values(h, session, zone),
        "mark": thread.fingerprint,
        "agents": agent_tree(thread),
        "window": "",
        "outline": "",
        "agent": thread.agent,
        "has_figures": False,
        "turns": len(thread.starts),
        "log": thread.transcript if thread.has_log else 0,
    }
    if thread.has_log:
        if wanted.start >= 0:
            values["window"] = _window(thread, wanted, zone)
        figures = thread.has_timeline()
        count = len(thread.starts)
        first = min(wanted.outlined, max(1, count))
        values["outline"] = draw_outline(thread, first, min(count, first + 400), figures=figures)
        values["has_figures"] = figures
    return page("session_news.html", **values)


async def pins(request: Request) -> Response:
    """The pinned messages, after a change of them."""
    read_params(request, Nothing)
    session_id = request.path_params["session_id"]
    return await _answer(request, lambda h, _: page("session_pins.html", pins=list_pins(h, find_by_id(h, session_id))))


async def related(request: Request) -> Response:
    """Sessions like this one, and the commits that it had a part in."""
    read_params(request, Nothing)
    session_id = request.path_params["session_id"]

    def found(h: Hansard, _: tzinfo) -> str:
        alike = h.related(session_id, limit=_RELATED)
        return page(
            "session_related.html",
            related=alike,
            commits=_commits(h, session_id),
            session_id=session_id,
            names=h.project_names(),
        )

    return await _answer(request, found)


def _commits(h: Hansard, session_id: str) -> tuple[Commit, ...]:
    try:
        return h.commits(session_id, limit=_COMMITS).commits
    except HansardError:  # without git there are none to show
        return ()


async def find(request: Request) -> Response:
    """Places in this session that answer a search; without `bare` the page of the search itself."""
    asked = read_params(request, FindRequest)
    query = _within(request.path_params["session_id"], asked.text)
    if not asked.bare:
        return RedirectResponse(f"/search?{urlencode({'q': query})}", 303)

    def draw(h: Hansard, _: tzinfo) -> str:
        found = _find_matches(request, h, asked)
        shown = found.page.hits[:_FOUND]
        return page("session_found.html", found=found, hits=shown, text=asked.text, marked=marked)

    return await _answer(request, draw)


async def matches(request: Request) -> Response:
    """Where a thread answers a search, in the order of its lines, and the words that were found."""
    asked = read_params(request, MatchesRequest)

    def answer(h: Hansard) -> dict[str, Any]:
        found = _find_matches(request, h, asked)
        words = {hit.snippet[start:end].lower() for hit in found.own for start, end in hit.highlights}
        return {"offsets": found.offsets, "words": sorted(words)}

    return Json(await request.app.state.engines.read(answer))


def _find_matches(request: Request, h: Hansard, asked: MatchesRequest) -> ThreadMatches:
    session_id = request.path_params["session_id"]
    thread = read_thread(h, find_by_id(h, session_id), asked.agent, asked.branch)
    found = h.search(_within(session_id, asked.text), limit=_MATCHES, timezone=request.app.state.settings.timezone)
    own = [
        hit for hit in found.hits if (hit.session_id, hit.agent_id, hit.is_in_thread) == (session_id, asked.agent, True)
    ]
    others = {(hit.agent_id, hit.offset) for hit in found.hits if hit.agent_id != asked.agent}
    return ThreadMatches(found, own, sorted({thread.call_of(hit.offset) for hit in own}), len(others))


def _within(session_id: str, text: str) -> str:
    """A query limited to one session, including all its alternatives."""
    return f"session:{session_id} ({text})" if text.strip() else f"session:{session_id}"


def marked(snippet: str, highlights: tuple[tuple[int, int], ...]) -> list[tuple[str, bool]]:
    """A snippet in pieces, each with whether it was asked for."""
    pieces: list[tuple[str, bool]] = []
    place = 0
    for start, end in highlights:
        pieces += ((snippet[place:start], False), (snippet[start:end], True))
        place = end
    return [*pieces, (snippet[place:], False)]


async def _answer(request: Request, draw: Callable[[Hansard, tzinfo], str | None]) -> Response:
    """A piece of HTML; 204 if there is nothing new."""
    zone = zone_of(request)
    drawn = await request.app.state.engines.read(lambda h: draw(h, zone))
    return HTMLResponse(drawn) if drawn is not None else Response(status_code=204)
