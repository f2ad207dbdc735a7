"""Sessions: the list with its query, filters, order and groups; `part` asks for a piece of it to put into an open page."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from hansard.model.time import DAYS, MONTHS
from hansard.query.activity import LIVE
from hansard.query.language import QueryError
from hansard.query.session_groups import GROUPS
from hansard.query.sessions import SORTS
from hansard.render.format import cost, listed_cost
from hansard.web.form_errors import TIMES, FormError, times_of
from hansard.web.page_cache import shared
from hansard.web.params import Params
from hansard.web.responses import html
from hansard.web.urls import place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.sessions import SessionGroup, SessionPage

_ROWS = 50
_GROUPS = 15
_IN_GROUP = 8
_NO_KEY = "-"  # in an address: the group of what has no project or no day
_PARTS = ("page", "list", "rows", "pane")
_BY_TEXT = ("title", "project")
COLUMNS = (
    ("ended", "When", ""),
    ("title", "Session", ""),
    ("cost", "Cost", "number"),
    ("tokens", "Tokens", "number"),
    ("prompts", "Prompts", "number"),
    ("messages", "Replies", "number wide"),
    ("tools", "Tools", "number wide"),
    ("files", "Files", "number"),
    ("errors", "Errors", "number wide"),
    ("", "Model", "wide"),
)
"""What the columns are ordered by, what they are called, and what they are like."""


@dataclass(frozen=True, slots=True)
class SessionListRequest:
    """What is asked for, as it stands in the address."""

    q: str | None = None
    project: str | None = None
    since: str | None = None
    until: str | None = None
    model: str | None = None
    tool: str | None = None
    tag: str | None = None
    errors: bool = False
    gone: bool = False
    pinned: bool = False
    sort: str = "ended"
    order: str | None = None  # asc, desc; None: as it suits the sort
    group: str | None = None

    def address(self, **changes: Any) -> str:
        """The address of this list, or of one that differs in something."""
        wanted = asdict(replace(self, **{name: value for name, value in changes.items() if name in _NAMES}))
        more = {name: value for name, value in changes.items() if name not in _NAMES}
        if wanted["sort"] == "ended":
            wanted["sort"] = None
        return place("/sessions", **wanted, **more)

    def by(self, column: str) -> str:
        """The same list in the order of a column, or the other way round where that is its order already."""
        if column != self.sort:
            return self.address(sort=column, order=None)
        return self.address(order="desc" if self.is_ascending else "asc")

    @property
    def is_ascending(self) -> bool:
        """Which way it goes."""
        return self.order == "asc" if self.order else self.sort in _BY_TEXT

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is left out."""
        return replace(self, sort="ended", order=None, group=None) != SessionListRequest()

    @property
    def is_detailed(self) -> bool:
        """Whether a filter is used that is not always to be seen."""
        return any((self.until, self.model, self.tool, self.tag, self.since and self.since not in TIMES))


_NAMES = frozenset(SessionListRequest.__dataclass_fields__)


async def show(request: Request) -> Response:
    """The page, or a part of it."""
    asked = Params(request)
    listing = SessionListRequest(
        q=asked.text("q"),
        project=asked.text("project"),
        since=asked.text("since"),
        until=asked.text("until"),
        model=asked.text("model"),
        tool=asked.text("tool"),
        tag=asked.text("tag"),
        errors=asked.flag("errors"),
        gone=asked.flag("gone"),
        pinned=asked.flag("pinned"),
        sort=asked.choice("sort", SORTS, "ended"),
        order=asked.choice("order", ("asc", "desc"), "") or None,
        group=asked.choice("group", GROUPS, "") or None,
    )
    part = asked.choice("part", _PARTS, "page")
    cursor, within, around = asked.text("cursor"), asked.text("in"), asked.text("around")
    asked.done()

    def answer(h: Hansard) -> Response:
        found = _found(h, listing, cursor, within, around, request.app.state.zone)
        if part == "page":
            found |= {"projects": h.field_values("project"), "models": h.field_values("model"), "tags": h.tags()}
        template = {"page": "sessions.html"}.get(part, f"sessions_{part}.html")
        return html(request, template, title="Sessions", at="/sessions", **found)

    drawn: Response = await request.app.state.engines.read(answer)
    return drawn


def _found(
    h: Hansard,
    listing: SessionListRequest,
    cursor: str | None,
    within: str | None,
    around: str | None,
    zone: Zone,
) -> dict[str, Any]:
    """What the templates draw; a mistake in what was typed is told beside the field, with an empty list."""
    now = datetime.now(UTC)
    told: dict[str, Any] = {
        "listing": listing,
        "columns": COLUMNS,
        "times": TIMES,
        "cursor": cursor,
        "within": within,
        "no_key": _NO_KEY,
        "live": h.live(now - LIVE),
        "today": now.astimezone(zone.info).date(),
        "spent": listed_cost,
        "group_spent": _group_spent,
        "day_name": _day_name,
        "mistakes": {},
        "page": None,
        "is_middle": False,
        "groups": None,
    }
    mistakes: dict[str, FormError] = told["mistakes"]
    since, until = times_of(listing.since, listing.until, now, zone.info, mistakes)
    filters: dict[str, Any] = {
        "project": listing.project,
        "model": listing.model,
        "tool": listing.tool,
        "tag": listing.tag,
        "has_errors": listing.errors,
        "source_state": "gone" if listing.gone else None,
        "pinned": listing.pinned,
        "sort": listing.sort,
        "ascending": None if listing.order is None else listing.order == "asc",
        "timezone": zone.asked,
        "since": since,
        "until": until,
    }
    if mistakes:
        return told
    try:
        if listing.group is None or within is not None:
            key = "" if within in (None, _NO_KEY) else within
            inside = (listing.group, key) if listing.group else None
            page = h.sessions(listing.q, **filters, within=inside, limit=_ROWS, cursor=cursor)
            if around and not _holds(page, around):
                middle = h.sessions(listing.q, **filters, within=inside, limit=_ROWS, around=around)
                if _holds(middle, around):
                    page, told["is_middle"] = middle, True
            told["page"] = page
        else:
            told["groups"] = h.session_groups(
                listing.q, **filters, by=listing.group, each=_IN_GROUP, limit=_GROUPS, cursor=cursor
            )
    except QueryError as error:
        mistakes["q"] = FormError.of(error)
    return told


def _holds(page: SessionPage, session_id: str) -> bool:
    return any(session.session_id == session_id for session in page.sessions)


def _group_spent(group: SessionGroup) -> str:
    return cost(group.cost_usd, lower_bound=group.is_lower_bound, unpriced=False)


def _day_name(key: str, today: Any) -> str:
    """A day as people call it."""
    from datetime import date

    if not key:
        return "At an unknown time"
    day = date.fromisoformat(key)
    passed = (today - day).days
    if passed in (0, 1):
        return "Yesterday" if passed else "Today"
    year = "" if day.year == today.year else f" {day.year}"
    return f"{DAYS[day.weekday()]}, {day.day} {MONTHS[day.month - 1]}{year}"


ROUTES = [Route("/sessions", shared(show))]
