"""Search: the page with its first results, and the pieces fetched while one types: results, facets, completions, the palette."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct
from msgspec.structs import replace
from starlette.routing import Route

from hansard.errors import UsageError
from hansard.model.requests import SearchRequest, about
from hansard.query.language import FIELDS, QueryError, help_of
from hansard.query.language.help import syntax
from hansard.query.language.refine import Refining
from hansard.render.format import ProjectNames, full, hit_time, project_name, tool_name
from hansard.render.html.escaping import cut_line
from hansard.web.caches import shared
from hansard.web.page_request import FormError, parse_page
from hansard.web.parameters import Nothing, read_params
from hansard.web.responses import Json, engine_route, html
from hansard.web.search_hits import corrected, pieces, place_of, short_pieces, speaker

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.search import Facets, SearchPage
    from hansard.model.sessions import Session
    from hansard.web.page_request import PageRequest

    Looking = PageRequest["SearchPageRequest"]

_SESSIONS = 10
_HITS = 20
_COUNTED = 5_000  # of the matches, for facets: some hundredths of a second
_CHIPS = 8
_RECENT = 100
_PALETTE = 8
_TEXTS = 5
_TYPING = re.compile(r"(?:^|[\s(])[^\W_]{3,}$")
_ID = re.compile(r"[0-9a-f-]{4,}")
_COMPLETED = frozenset({"project", "tool", "model", "branch", "version", "agent", "tag"})
EXAMPLES = (
    ("flaky login", "all these words, in any order"),
    ('"connection refused"', "a phrase"),
    ("migrat* -docker", "a prefix, and an exclusion"),
    ("tool:Bash is:error since:7d", "commands that failed this week"),
    ("kind:prompt has:image", "prompts with an image"),
    ("file:parser.py has:diff", "changes to a file"),
)


class SearchPageRequest(SearchRequest, frozen=True, kw_only=True):
    """A search as the address of the page says it."""

    query: Annotated[str, about("The query.", http="q")] = ""
    listed: Annotated[str, about("Group hits by session, or list each.", choices=("session", "none"), http="group")] = (
        "session"
    )


class PaletteRequest(Struct, frozen=True, kw_only=True):
    """Text typed into the palette."""

    query: Annotated[str | None, about("Words.", http="q", longest=200)] = None


class ValuesRequest(Struct, frozen=True, kw_only=True):
    """A field of the query language."""

    field: Annotated[str, about("Its name.", choices=FIELDS)] = ""


def _parse(request: Request, names: str) -> Looking:
    found = parse_page(request, SearchPageRequest, names, path="/search")
    if found.request.cursor is not None and not found.request.query:
        raise UsageError("parameter 'cursor' needs parameter 'q'")
    return found


@engine_route(partial(_parse, names="query listed sort facets cursor"))
def show(h: Hansard, request: Request, search: Looking) -> Response:
    asked = search.request
    found = _found(h, search)
    found |= _faceted(h, search) if asked.facets else {"facets": None, "chips": ()}
    title = f"{cut_line(asked.query, 60)} · Search" if asked.query else "Search"
    return html(request, "search.html", title=title, at="/search", syntax=syntax(), examples=EXAMPLES, **found)


@engine_route(partial(_parse, names="query listed sort cursor"))
def results(h: Hansard, request: Request, search: Looking) -> Response:
    """The results, for an open page."""
    found = _found(h, search)
    is_more = search.request.cursor is not None and found["page"] is not None  # a wrong query has no page
    template = "search_hits.html" if is_more else "search_results.html"
    return html(request, template, examples=EXAMPLES, **found)


@engine_route(partial(_parse, names="query listed sort"))
def facets(h: Hansard, request: Request, search: Looking) -> Response:
    """The facets, fetched by an open page: counting takes longer than finding the best hits."""
    return html(request, "search_facets.html", search=search, **_faceted(h, search))


async def fields(request: Request) -> Response:
    """The fields of the query language, for completion."""
    read_params(request, Nothing)
    found = [
        {
            "name": name,
            "help": help_of(field),
            "values": list(getattr(field, "values", {}).items()),
            "completes": name in _COMPLETED or hasattr(field, "values"),
        }
        for name, field in FIELDS.items()
    ]
    return Json({"fields": found})


@engine_route(ValuesRequest)
def values(h: Hansard, _: Request, asked: ValuesRequest) -> Response:
    """The values of a field in this history, for completion."""
    if not asked.field:
        raise UsageError(f"invalid 'field': choose one of {', '.join(FIELDS)}")
    return Json({"values": h.field_values(asked.field)})


@engine_route(PaletteRequest)
def palette(h: Hansard, request: Request, asked: PaletteRequest) -> Response:
    """The latest sessions and the projects; or the sessions and places in their text that match what is typed."""
    query, names = asked.query, h.project_names()
    if query is None:
        projects = [
            {"project": item.project, "name": project_name(item.project, names), "sessions": item.sessions}
            for item in h.projects()[:_RECENT]
        ]
        return Json({"projects": projects, "sessions": _named(h.sessions(limit=_RECENT).sessions, names)})
    found = list(h.sessions(text=query, limit=_PALETTE).sessions)
    if _ID.fullmatch(query.lower()):
        found = [*h.sessions(f"session:{query.lower()}", limit=_PALETTE).sessions, *found]
    return Json({"sessions": _named(found[:_PALETTE], names), "texts": _texts(h, query, request)})


def _named(sessions: Iterable[Session], names: ProjectNames) -> list[dict[str, str]]:
    def named(session: Session) -> dict[str, str]:
        return {
            "session_id": session.session_id,
            "title": cut_line(session.title, 160) or "(untitled)",
            "project": project_name(session.project, names),
            "when": full(session.ended_at),
        }

    return [named(session) for session in sessions]


def _texts(h: Hansard, query: str, request: Request) -> list[dict[str, Any]]:
    """The best places in the text of sessions; none for a query that is not finished."""
    try:
        page, _ = _search_as_typed(h, SearchRequest(query, timezone=request.app.state.settings.timezone, limit=_TEXTS))
    except QueryError:
        return []
    return [
        {
            "pieces": short_pieces(hit),
            "title": cut_line(hit.title, 80) or "(untitled)",
            "speaker": speaker(hit),
            "open": place_of(hit, query),
        }
        for hit in page.hits
    ]


# -- results


def _found(h: Hansard, search: Looking) -> dict[str, Any]:
    """Values of the templates; a mistake in the query is shown beside the field."""
    asked = search.request
    values: dict[str, Any] = {
        "search": search,
        "cursor": asked.cursor,
        "page": None,
        "mistake": None,
        "widened": None,
        "fields": (),
        "pieces": pieces,
        "place_of": partial(place_of, q=asked.query),
        "speaker": speaker,
        "stamp": hit_time,
        "corrected": corrected,
    }
    if not asked.query:
        return values
    is_grouped = asked.listed == "session"
    try:
        found = _search_as_typed(
            h, replace(asked, group=is_grouped, limit=_SESSIONS if is_grouped else _HITS, facets=False)
        )
    except QueryError as error:
        values["mistake"] = FormError.of(error)
        return values
    values["page"], values["widened"] = found
    values["fields"] = Refining(asked.query, now=search.now, zone=search.span.zone.info).fields()
    if values["widened"] is not None:
        values["search"] = dataclasses.replace(search, given={**search.given, "q": values["widened"]})
    return values


def _search_as_typed(h: Hansard, asked: SearchRequest) -> tuple[SearchPage, str | None]:
    """What is found, and the wider query that found it: while one types, the last word may be the beginning of another."""
    page = h.search(asked)
    if not page.hits and asked.cursor is None and _TYPING.search(asked.query):
        wider = f"{asked.query}*"
        stream_page = h.search(replace(asked, query=wider))
        if stream_page.hits:
            return stream_page, wider
    return page, None


# -- facets


@dataclass(frozen=True, slots=True)
class Chip:
    """One value of a facet, and the query with it added, or removed if it is already there."""

    name: str
    count: int
    title: str
    query: str
    is_chosen: bool


def _faceted(h: Hansard, search: Looking) -> dict[str, Any]:
    query = search.request.query
    if not query:
        return {"facets": None, "chips": ()}
    try:
        refining = Refining(query, now=search.now, zone=search.span.zone.info)
        found = h.facets(query, most=_COUNTED, now=search.now, timezone=search.request.timezone)
    except QueryError:  # shown with the results
        return {"facets": None, "chips": ()}
    return {"facets": found, "chips": tuple(_chips(refining, found, h.project_names()))}


def _chips(refining: Refining, found: Facets, names: ProjectNames) -> Iterator[tuple[str, list[Chip], int]]:
    """Each facet that narrows the search, with its chips."""
    days = found.month if len(found.month) > 1 else found.day
    for title, field, counts in (
        ("Kind", "kind", found.kind),
        ("Project", "project", found.project),
        ("Tool", "tool", found.tool),
        ("Model", "model", found.model),
        ("Month" if days is found.month else "Day", "on", days),
    ):
        chips = [
            chip
            for value, count in counts[:_CHIPS]
            if (chip := _chip(refining, field, value, count, counts, names)) is not None
        ]
        if len(counts) > 1 or any(chip.is_chosen for chip in chips):
            yield title, chips, len(counts) - len(chips)


def _chip(
    refining: Refining, field: str, value: str, count: int, counts: tuple[tuple[str, int], ...], names: ProjectNames
) -> Chip | None:
    if not value:
        return None
    asked = value
    if field == "project":  # its name, if that is part of no other path of the list
        name = project_name(value, names)
        asked = name if sum(name in other for other, _ in counts) == 1 else value
    chosen = refining.has(field, asked) or refining.has(field, value)
    query = refining.narrowed(field, asked) if chosen is None else chosen.rest
    if query is None:
        return None
    name = project_name(value, names) if field == "project" else tool_name(value) if field == "tool" else value
    return Chip(name, count, value, query, chosen is not None)


ROUTES = [
    Route("/search", shared(show)),
    Route("/search/results", shared(results)),
    Route("/search/facets", facets),
    Route("/search/fields", fields),
    Route("/search/values", values),
    Route("/search/palette", palette),
]
