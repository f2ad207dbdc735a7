"""What was said and typed, found by its words."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.model.prompts import PromptPage
from hansard.model.requests import PROMPT_SOURCES, SEARCH_SORTS
from hansard.model.search import Facets, SearchPage, SessionHits
from hansard.model.serialize import plain
from hansard.web.api.endpoint import Call, Endpoint
from hansard.web.api.parameters import CURSOR, PROJECT, QUERY, SINCE, UNTIL, Choice, Flag, Number, RequiredText


class SearchAnswer(SearchPage, frozen=True, kw_only=True):
    """One page of what a search found, without what was not asked for."""

    sessions: tuple[SessionHits, ...] | UnsetType = UNSET  # type: ignore[assignment]
    facets: Facets | UnsetType | None = UNSET  # type: ignore[assignment]


def _search(call: Call) -> dict[str, Any]:
    given = call.given
    page = call.h.search(
        given["q"],
        limit=given["limit"],
        cursor=given["cursor"],
        group=given["group"],
        sort=given["sort"],
        context=given["context"],
        facets=given["facets"],
        **call.conditions,
        timezone=call.timezone,
    )
    left_out = {name for name, wanted in (("sessions", given["group"]), ("facets", given["facets"])) if not wanted}
    return {name: value for name, value in plain(page).items() if name not in left_out}


def _prompts(call: Call) -> PromptPage:
    given = call.given
    return call.h.prompts(
        given["q"],
        **call.conditions,
        source=given["source"],
        unique=given["unique"],
        ascending=given["reverse"],
        limit=given["limit"],
        cursor=given["cursor"],
        timezone=call.timezone,
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/search",
        "Search everything that was ever said or done, best match first",
        _search,
        SearchAnswer,
        parameters=(
            RequiredText("q", QUERY.help),
            PROJECT,
            SINCE,
            UNTIL,
            Flag("group", "Group hits by session."),
            Choice("sort", "Sort order.", SEARCH_SORTS, "best"),
            Number("context", "Lines of context around each hit.", 0, 100, 0),
            Flag("facets", "Add counts of matches by project, tool, kind and month."),
            Number("limit", "Maximum number of hits, or of sessions.", 1, 100, 20),
            CURSOR,
        ),
    ),
    Endpoint(
        "GET",
        "/api/prompts",
        "Every prompt ever typed, newest first",
        _prompts,
        PromptPage,
        parameters=(
            QUERY,
            PROJECT,
            SINCE,
            UNTIL,
            Choice("source", "Only one kind; history: in no transcript.", PROMPT_SOURCES),
            Flag("unique", "Each text once, with a count."),
            Flag("reverse", "Oldest first."),
            Number("limit", "Maximum number.", 1, 500, 50),
            CURSOR,
        ),
    ),
)
