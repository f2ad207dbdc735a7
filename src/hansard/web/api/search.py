"""What was said, typed and done, over all sessions: searches, prompts, files and tool calls."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, UnsetType

from hansard.model.calls import CallPage, FileHistory, FilePage, ToolReport
from hansard.model.requests import (
    CallsRequest,
    FileHistoryRequest,
    FilesRequest,
    Limit,
    PromptsRequest,
    SearchRequest,
    ToolsRequest,
    about,
)
from hansard.model.search import Facets, PartialMatches, PromptPage, SearchPage, SessionHits
from hansard.model.serialize import plain
from hansard.web.api.endpoint import Call, Endpoint


class SearchAnswer(SearchPage, frozen=True, kw_only=True):
    """One page of what a search found, without what was not asked for."""

    sessions: tuple[SessionHits, ...] | UnsetType = UNSET  # type: ignore[assignment]
    facets: Facets | UnsetType | None = UNSET  # type: ignore[assignment]
    partial: PartialMatches | UnsetType | None = UNSET  # type: ignore[assignment]


class SearchParameters(SearchRequest, frozen=True, kw_only=True):
    """A page of hits, of the length that is usual here."""

    limit: Annotated[int, about("Maximum number of hits, or of sessions.", ge=1, le=100)] = 20


class PromptsParameters(PromptsRequest, frozen=True, kw_only=True):
    """A page of prompts, of the length that is usual here."""

    limit: Limit = 50


def _search(call: Call) -> dict[str, Any]:
    request: SearchRequest = call.request
    found = call.h.search(request)
    optional = {"sessions": request.group, "facets": request.facets, "partial": found.partial is not None}
    return {name: value for name, value in plain(found).items() if optional.get(name, True)}


ENDPOINTS = (
    Endpoint(
        "/api/search",
        "Search everything that was ever said or done, best match first",
        _search,
        SearchAnswer,
        SearchParameters,
        "query project since until group sort context facets limit cursor",
    ),
    Endpoint(
        "/api/prompts",
        "Every prompt ever typed, newest first",
        lambda call: call.h.prompts(call.request),
        PromptPage,
        PromptsParameters,
        "query project since until source unique ascending limit cursor",
    ),
    Endpoint(
        "/api/files",
        "Files that tool calls changed, last changed first",
        lambda call: call.h.files(call.request),
        FilePage,
        FilesRequest,
        "text under project since until sort ascending limit cursor",
    ),
    Endpoint(
        "/api/files/history",
        "Changes to one file, newest first",
        lambda call: call.h.file_history(call.request),
        FileHistory,
        FileHistoryRequest,
        "path reads project since until limit cursor",
    ),
    Endpoint(
        "/api/calls",
        "Tool calls, newest first",
        lambda call: call.h.calls(call.request),
        CallPage,
        CallsRequest,
        "query match kind tool text under project since until sort subjects outputs limit cursor",
    ),
    Endpoint(
        "/api/tools",
        "Every tool with its calls, durations and failures",
        lambda call: call.h.tools(call.request),
        ToolReport,
        ToolsRequest,
        "query match tool project model since until timezone",
    ),
)
