"""What was said and typed, found by its words."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, UnsetType

from hansard.model.prompts import PromptPage
from hansard.model.requests import Limit, PromptsRequest, SearchRequest, about
from hansard.model.search import Facets, SearchPage, SessionHits
from hansard.model.serialize import plain
from hansard.web.api.endpoint import Call, Endpoint


class SearchAnswer(SearchPage, frozen=True, kw_only=True):
    """One page of what a search found, without what was not asked for."""

    sessions: tuple[SessionHits, ...] | UnsetType = UNSET  # type: ignore[assignment]
    facets: Facets | UnsetType | None = UNSET  # type: ignore[assignment]


class SearchParameters(SearchRequest, frozen=True, kw_only=True):
    """A page of hits, of the length that is usual here."""

    limit: Annotated[int, about("Maximum number of hits, or of sessions.", ge=1, le=100)] = 20


class PromptsParameters(PromptsRequest, frozen=True, kw_only=True):
    """A page of prompts, of the length that is usual here."""

    limit: Limit = 50


def _search(call: Call) -> dict[str, Any]:
    request: SearchRequest = call.request
    left_out = {name for name, wanted in (("sessions", request.group), ("facets", request.facets)) if not wanted}
    return {name: value for name, value in plain(call.h.search(request)).items() if name not in left_out}


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/search",
        "Search everything that was ever said or done, best match first",
        _search,
        SearchAnswer,
        SearchParameters,
        "query project since until group sort context facets limit cursor",
    ),
    Endpoint(
        "GET",
        "/api/prompts",
        "Every prompt ever typed, newest first",
        lambda call: call.h.prompts(call.request),
        PromptPage,
        PromptsParameters,
        "query project since until source unique ascending limit cursor",
    ),
)
