"""Pieces that an open page fetches: more windows, subagents, news, search hits."""

from __future__ import annotations

from contextlib import suppress
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
from hansard.web.responses import Json, engine_route, page
from hansard.web.search_hits import pieces

if TYPE_CHECKING:
    from datetime import tzinfo

    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.blame import Commit
    from hansard.model.search import Hit, SearchPage
    from hansard.thread.thread import Thread
    from hansard.web.parameters import Nothing

NEXT = Budget(records=140, bytes=512 << 10, turns=25)
"""Size of the piece that is fetched when the reader nears the end of a window."""
_INSIDE = Budget(records=100, bytes=384 << 10, turns=20)  # of a subagent, inside its call
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


@engine_route(ThreadRequest.of)
def turns(h: Hansard, request: Request, wanted: ThreadRequest) -> Response:
    """The next windows of a thread."""
    return HTMLResponse(_window(wanted.thread(h), wanted, zone_of(request)))


def _window(thread: Thread, wanted: ThreadRequest, zone: tzinfo) -> str:
    return draw_window(thread, wanted.window(thread, NEXT), zone, wanted.target(thread)).html


@engine_route(ThreadRequest.of)
def agent(h: Hansard, request: Request, wanted: ThreadRequest) -> Response:
    """A subagent's turns, for the call that started it."""
    if wanted.agent is None:
        raise UsageError("name the subagent with agent=ID")
    thread = wanted.thread(h)
    window = thread.windows.after(max(0, wanted.start), _INSIDE)
    drawing = drawing_of(thread, zone_of(request))
    drawn = "".join(drawing.inner(thread.window(window), wanted.agent))
    if not drawn:
        drawn = '<p class="empty">This subagent has no messages.</p>'
    if window.end is not None:
        rest = escaped(drawing.address.after(window.end))
        drawn += f'<p class="agent-more"><a href="{rest}" data-from="{window.end}">More of this subagent</a></p>'
    return HTMLResponse(drawn)


@engine_route(ThreadRequest.of)
def course(h: Hansard, _: Request, wanted: ThreadRequest) -> Response:
    """The timeline and the whole outline of a thread, with what each turn used."""
    thread = wanted.thread(h)
    outline = draw_outline(thread, 1, len(thread.starts), figures=True)
    return HTMLResponse(page("session_course.html", timeline=draw_context(thread), outline=outline))


@engine_route(NewsRequest.of)
def news(h: Hansard, request: Request, wanted: NewsRequest) -> Response:
    """What is new since the page has the given fingerprint: nothing, or the head and the end of the conversation."""
    session, zone = find_by_id(h, wanted.session_id), zone_of(request)
    thread = wanted.thread_of(h, session)
    if wanted.known == thread.fingerprint:
        return Response(status_code=204)
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
    return HTMLResponse(page("session_news.html", **values))


@engine_route()
def pins(h: Hansard, request: Request, _: Nothing) -> Response:
    """The pinned messages, after a change of them."""
    session = find_by_id(h, request.path_params["session_id"])
    return HTMLResponse(page("session_pins.html", pins=list_pins(h, session)))


@engine_route()
def related(h: Hansard, request: Request, _: Nothing) -> Response:
    """Sessions like this one, and the commits that it had a part in."""
    session_id = request.path_params["session_id"]
    commits: tuple[Commit, ...] = ()
    with suppress(HansardError):  # without git there are none to show
        commits = h.commits(session_id, limit=_COMMITS).commits
    alike, names = h.related(session_id, limit=_RELATED), h.project_names()
    return HTMLResponse(
        page("session_related.html", related=alike, commits=commits, session_id=session_id, names=names)
    )


@engine_route(FindRequest)
def find(h: Hansard, request: Request, asked: FindRequest) -> Response:
    """Places in this session that answer a search; without `bare` the page of the search itself."""
    if not asked.bare:
        query = _within(request.path_params["session_id"], asked.text)
        return RedirectResponse(f"/search?{urlencode({'q': query})}", 303)
    found = _find_matches(request, h, asked)
    return HTMLResponse(
        page("session_found.html", found=found, hits=found.page.hits[:_FOUND], text=asked.text, pieces=pieces)
    )


@engine_route(MatchesRequest)
def matches(h: Hansard, request: Request, asked: MatchesRequest) -> Response:
    """Where a thread answers a search, in the order of its lines, and the words that were found."""
    found = _find_matches(request, h, asked)
    words = {hit.snippet[start:end].lower() for hit in found.own for start, end in hit.highlights}
    return Json({"offsets": found.offsets, "words": sorted(words)})


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
