"""Prompts: everything that was ever typed; the pieces are for an open page."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from starlette.responses import PlainTextResponse
from starlette.routing import Route

from hansard.errors import NotFound
from hansard.model.requests import PROMPT_SOURCES
from hansard.query.language import QueryError
from hansard.web.form_errors import TIMES, FormError, times_of
from hansard.web.page_cache import shared
from hansard.web.params import LAST_OFFSET, Params
from hansard.web.responses import html
from hansard.web.search_hits import stamp
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.prompts import Prompt

_PAGE = 50
SHOWN = 1_500  # characters of a prompt in the list
_PARTS = ("page", "list", "rows", "count")
_TEMPLATES = {"page": "prompts.html", "list": "prompts_list.html", "rows": "prompts_rows.html"}
KINDS = {
    "prompt": "Prompts",
    "queued": "Queued",
    "command": "Commands",
    "bash": "Shell lines",
    "history": "Lost",
}


@dataclass(frozen=True, slots=True)
class PromptListRequest:
    """What is asked for, as it stands in the address."""

    q: str | None = None
    project: str | None = None
    since: str | None = None
    until: str | None = None
    source: str | None = None
    unique: bool = False

    def address(self, **changes: Any) -> str:
        """The address of this list, or of one that differs in something."""
        own = {name: value for name, value in changes.items() if name in PromptListRequest.__dataclass_fields__}
        more = {name: value for name, value in changes.items() if name not in own}
        return place("/prompts", **asdict(replace(self, **own)), **more)

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is left out."""
        return replace(self, unique=False) != PromptListRequest()


async def show(request: Request) -> Response:
    """The page, or a part of it; how many there are takes going through all of them, so it comes after."""
    asked = Params(request)
    listing = PromptListRequest(
        asked.text("q"),
        asked.text("project"),
        asked.text("since"),
        asked.text("until"),
        asked.choice("source", PROMPT_SOURCES, "") or None,
        asked.flag("unique"),
    )
    part, cursor = asked.choice("part", _PARTS, "page"), asked.text("cursor")
    asked.done()
    zone: Zone = request.app.state.zone

    def answer(h: Hansard) -> Response:
        if part == "count":
            found = _found(h, listing, None, zone, counted=True)
            return PlainTextResponse("" if found["page"] is None else str(found["page"].total))
        found = _found(h, listing, cursor, zone, counted=False)
        if part == "page":
            found["projects"] = h.field_values("project")
        return html(request, _TEMPLATES[part], title="Prompts", at="/prompts", **found)

    drawn: Response = await request.app.state.engines.read(answer)
    return drawn


async def text(request: Request) -> Response:
    """One prompt as it was typed, with nothing left out."""
    asked = Params(request)
    transcript, offset = asked.needed("transcript"), asked.number("offset", 0, 0, LAST_OFFSET)
    asked.done()
    found: str | None = await request.app.state.engines.read(lambda h: h.prompt_text(transcript, offset))
    if found is None:
        raise NotFound("there is no prompt at this place")
    return PlainTextResponse(found.encode("utf-8", "replace"))


def _found(h: Hansard, listing: PromptListRequest, cursor: str | None, zone: Zone, *, counted: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "listing": listing,
        "cursor": cursor,
        "times": TIMES,
        "kinds": KINDS,
        "shown": SHOWN,
        "place_of": place_of,
        "stamp": stamp,
        "mistakes": {},
        "page": None,
    }
    now = datetime.now(UTC)
    mistakes: dict[str, FormError] = told["mistakes"]
    since, until = times_of(listing.since, listing.until, now, zone.info, mistakes)
    if mistakes:
        return told
    try:
        told["page"] = h.prompts(
            listing.q,
            project=listing.project,
            source=listing.source,
            unique=listing.unique,
            limit=1 if counted else _PAGE,
            cursor=cursor,
            counted=counted,
            timezone=zone.asked,
            since=since,
            until=until,
        )
    except QueryError as error:
        mistakes["q"] = FormError.of(error)
    return told


def place_of(prompt: Prompt) -> str | None:
    """Where it was typed, if that is kept."""
    if prompt.session_id is None or not prompt.session_kept:
        return None
    return session_place(prompt.session_id, None if prompt.source == "history" else prompt.offset)


ROUTES = [Route("/prompts", shared(show)), Route("/prompts/text", text)]
