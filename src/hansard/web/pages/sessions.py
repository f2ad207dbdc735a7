"""Sessions: the list with its query, filters, order and groups; `part` asks for a piece of it to put into an open page."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import replace
from starlette.routing import Route

from hansard.model.requests import SessionGroupsRequest, SessionsRequest, about, same_for
from hansard.query.activity import LIVE
from hansard.query.language import QueryError
from hansard.query.session_groups import GROUPS
from hansard.render.format import group_cost, listed_cost, weekday_text
from hansard.web.caches import shared
from hansard.web.page_request import TIMES, FormError, parse_page
from hansard.web.responses import engine_route, html

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.sessions import SessionPage
    from hansard.web.page_request import PageRequest

_ROWS = 50
_GROUPS = 15
_IN_GROUP = 8
_NO_KEY = "-"  # in an address: the group of what has no project or no day
_PARTS = ("page", "list", "rows", "pane")
_BY_TEXT = ("title", "project")
COLUMNS = (
    ("ended", "Last active", ""),
    ("title", "Session", ""),
    ("cost", "Cost", "number"),
    ("tokens", "Tokens", "number"),
    ("prompts", "Prompts", "number"),
    ("messages", "Messages", "number wide"),
    ("tools", "Tool calls", "number wide"),
    ("files", "Lines changed", "number"),
    ("errors", "Errors", "number wide"),
    ("", "Model", "wide"),
)
"""The columns: sort key, title and kind."""


class SessionListRequest(SessionsRequest, frozen=True, kw_only=True):
    """A page of sessions, or of groups of them."""

    gone: Annotated[bool, about("Only sessions whose transcript was deleted.")] = False
    group: Annotated[str | None, about("Group by this.", choices=GROUPS)] = None
    part: Annotated[str, about("The piece of the page to send.", choices=_PARTS)] = "page"
    inside: Annotated[str | None, about("The key of the group whose sessions are listed.", http="in")] = None
    around: Annotated[str | None, about("The session to list with its neighbours.")] = None


_FILTERS = ("q", "project", "since", "until", "model", "tool", "tag", "errors", "gone", "pinned")


_NAMES = (
    "query project since until model tool tag has_errors gone pinned sort ascending group part cursor inside around"
)


@engine_route(partial(parse_page, kind=SessionListRequest, names=_NAMES))
def show(h: Hansard, request: Request, listing: PageRequest[SessionListRequest]) -> Response:
    """The page, or a part of it."""
    part = listing.request.part
    found = _found(h, listing)
    if part == "page":
        found |= {"projects": h.field_values("project"), "models": h.field_values("model"), "tags": h.tags()}
    template = "sessions.html" if part == "page" else f"sessions_{part}.html"
    return html(request, template, title="Sessions", at="/sessions", **found)


def _found(h: Hansard, listing: PageRequest[SessionListRequest]) -> dict[str, Any]:
    """Values of the templates; a mistake in the form is shown beside its field, with an empty list."""
    asked, given = listing.request, listing.given
    ascending = asked.ascending if asked.ascending is not None else asked.sort in _BY_TEXT

    def by(column: str) -> str:
        """The address of the list sorted by a column, or the other way round if it is already."""
        if column != asked.sort:
            return listing.address(sort=None if column == "ended" else column, order=None)
        return listing.address(order="desc" if ascending else "asc")

    values: dict[str, Any] = {
        "listing": listing,
        "columns": COLUMNS,
        "sort": asked.sort,
        "is_ascending": ascending,
        "by": by,
        "is_narrowed": listing.has(*_FILTERS),
        "is_detailed": listing.has("until", "model", "tool", "tag") or given["since"] not in (None, *TIMES),
        "times": TIMES,
        "cursor": asked.cursor,
        "within": asked.inside,
        "no_key": _NO_KEY,
        "live": h.live(listing.now - LIVE),
        "secrets": h.secret_counts(),
        "today": listing.span.today,
        "spent": listed_cost,
        "group_spent": group_cost,
        "day_name": _day_name,
        "mistakes": listing.mistakes,
        "page": None,
        "is_middle": False,
        "groups": None,
    }
    if listing.mistakes:
        return values
    request = replace(asked, source_state="gone" if asked.gone else None, limit=_ROWS, around=None)
    try:
        if asked.group is None or asked.inside is not None:
            key = "" if asked.inside in (None, _NO_KEY) else asked.inside
            request = replace(request, within=(asked.group, key) if asked.group else None)
            page = h.sessions(request)
            if asked.around and not _holds(page, asked.around):
                middle = h.sessions(replace(request, around=asked.around, cursor=None))
                if _holds(middle, asked.around):
                    page, values["is_middle"] = middle, True
            values["page"] = page
        else:
            order = {"sort": asked.sort, "ascending": asked.ascending, "cursor": asked.cursor}
            grouped = same_for(SessionGroupsRequest, request, by=asked.group, each=_IN_GROUP, limit=_GROUPS, **order)
            values["groups"] = h.session_groups(grouped)
    except QueryError as error:
        listing.mistakes["q"] = FormError.of(error)
    return values


def _holds(page: SessionPage, session_id: str) -> bool:
    return any(session.session_id == session_id for session in page.sessions)


def _day_name(key: str, today: Any) -> str:
    """A day as people call it."""
    from datetime import date

    if not key:
        return "At an unknown time"
    day = date.fromisoformat(key)
    passed = (today - day).days
    if passed in (0, 1):
        return "Yesterday" if passed else "Today"
    return weekday_text(day)


ROUTES = [Route("/sessions", shared(show))]
