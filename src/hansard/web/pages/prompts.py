"""Prompts: everything that was ever typed; the pieces are for an open page."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from hansard.errors import NotFound
from hansard.model.requests import PromptsRequest, about
from hansard.query.language import QueryError
from hansard.render.format import hit_time, prompt_counts
from hansard.web.caches import shared
from hansard.web.page_request import TIMES, FormError, parse_page
from hansard.web.parameters import LAST_OFFSET
from hansard.web.responses import engine_route, html
from hansard.web.urls import session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.search import Prompt
    from hansard.web.page_request import PageRequest

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


class PromptListRequest(PromptsRequest, frozen=True, kw_only=True):
    """A page of prompts, or a piece of it."""

    part: Annotated[str, about("The piece of the page to send.", choices=_PARTS)] = "page"


class PromptTextRequest(Struct, frozen=True, kw_only=True):
    """One prompt."""

    transcript: Annotated[str, about("The path of its transcript.")]
    offset: Annotated[int, about("Where its line begins.", ge=0, le=LAST_OFFSET)] = 0


_NAMES = "query project since until source unique part cursor"


@engine_route(partial(parse_page, kind=PromptListRequest, names=_NAMES))
def show(h: Hansard, request: Request, listing: PageRequest[PromptListRequest]) -> Response:
    """The page, or a piece of it; the total is fetched later, because it takes longer than the first prompts."""
    part = listing.request.part
    if part == "count":
        page = _found(h, listing, limit=1, cursor=None, counted=True)["page"]
        return PlainTextResponse("" if page is None else prompt_counts(page))
    found = _found(h, listing, limit=_PAGE, counted=False)
    if part == "page":
        found["projects"] = h.field_values("project")
    return html(request, _TEMPLATES[part], title="Prompts", at="/prompts", **found)


@engine_route(PromptTextRequest)
def text(h: Hansard, _: Request, asked: PromptTextRequest) -> Response:
    """One prompt as it was typed, in full."""
    found = h.prompt_text(asked.transcript, asked.offset)
    if found is None:
        raise NotFound("there is no prompt at this offset")
    return PlainTextResponse(found.encode("utf-8", "replace"))


def _found(h: Hansard, listing: PageRequest[PromptListRequest], **how: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "listing": listing,
        "is_narrowed": listing.has("q", "project", "since", "until", "source"),
        "cursor": listing.request.cursor,
        "times": TIMES,
        "kinds": KINDS,
        "shown": SHOWN,
        "place_of": place_of,
        "stamp": hit_time,
        "mistakes": listing.mistakes,
        "page": None,
    }
    if not listing.mistakes:
        try:
            values["page"] = h.prompts(replace(listing.request, **how))
        except QueryError as error:
            listing.mistakes["q"] = FormError.of(error)
    return values


def place_of(prompt: Prompt) -> str | None:
    """Where it was typed, if that is kept."""
    if prompt.session_id is None or not prompt.session_kept:
        return None
    return session_place(prompt.session_id, None if prompt.source == "history" else prompt.offset)


ROUTES = [Route("/prompts", shared(show)), Route("/prompts/text", text)]
