"""Search: the page with its first results, and the pieces that come as one types: results, facets, completions, the palette."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from hansard.errors import UsageError
from hansard.model.requests import SEARCH_SORTS
from hansard.query.language import FIELDS, QueryError
from hansard.query.language.help import syntax
from hansard.query.language.refine import Refining
from hansard.render.format import ProjectNames, project_name, tool_name, when
from hansard.render.html.escaping import cut_line
from hansard.web.form_errors import FormError
from hansard.web.page_cache import shared
from hansard.web.params import Params
from hansard.web.responses import Json, html
from hansard.web.search_hits import corrected, pieces, place_of, short_pieces, speaker, stamp
from hansard.web.urls import place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.search import Facets, SearchPage
    from hansard.model.sessions import Session

    SearchFound = tuple[SearchPage, str | None]

_SESSIONS = 10
_HITS = 20
_COUNTED = 5_000  # of the matches, for facets: some hundredths of a second
_CHIPS = 8
_RECENT = 100
_PALETTE = 8
_TEXTS = 5
_BEGUN = re.compile(r"(?:^|[\s(])[^\W_]{3,}$")
_ID = re.compile(r"[0-9a-f-]{4,}")
_COMPLETED = frozenset({"project", "tool", "model", "branch", "version", "agent", "tag"})
EXAMPLES = (
    ("flaky login", "all these words, in any order"),
    ('"connection refused"', "a phrase"),
    ("migrat* -docker", "a word beginning, and an exclusion"),
    ("tool:Bash is:error since:7d", "commands that failed this week"),
    ("kind:prompt has:image", "prompts with an image"),
    ("file:parser.py has:diff", "changes to a file"),
)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is asked for, as it stands in the address."""

    q: str | None = None
    group: str = "session"  # session, none
    sort: str = "best"

    def address(self, path: str = "/search", **changes: Any) -> str:
        """The address of this search, or of one that differs in something."""
        wanted = asdict(
            replace(self, **{name: value for name, value in changes.items() if name in ("q", "group", "sort")})
        )
        more = {name: value for name, value in changes.items() if name not in wanted}
        wanted["group"] = None if wanted["group"] == "session" else wanted["group"]
        wanted["sort"] = None if wanted["sort"] == "best" else wanted["sort"]
        return place(path, **wanted, **more)


async def show(request: Request) -> Response:
    """The page."""
    asked = Params(request)
    looking, facets = _looking(asked), asked.flag("facets")
    cursor = _cursor(asked, looking)
    asked.done()

    def answer(h: Hansard) -> Response:
        found = _found(h, looking, cursor, _zone(request))
        found |= _faceted(h, looking, _zone(request)) if facets else {"facets": None, "chips": ()}
        title = f"{cut_line(looking.q, 60)} · Search" if looking.q else "Search"
        return html(request, "search.html", title=title, at="/search", syntax=syntax(), examples=EXAMPLES, **found)

    drawn: Response = await request.app.state.engines.read(answer)
    return drawn


async def results(request: Request) -> Response:
    """What was found, to be put into the page."""
    asked = Params(request)
    looking = _looking(asked)
    cursor = _cursor(asked, looking)
    asked.done()

    def answer(h: Hansard) -> Response:
        found = _found(h, looking, cursor, _zone(request))
        is_more = cursor is not None and found["page"] is not None  # a query with a mistake has no page
        template = "search_hits.html" if is_more else "search_results.html"
        return html(request, template, examples=EXAMPLES, **found)

    drawn: Response = await request.app.state.engines.read(answer)
    return drawn


async def facets(request: Request) -> Response:
    """How it spreads, to be put into the page: it takes longer than finding the best, so it comes after."""
    asked = Params(request)
    looking = _looking(asked)
    asked.done()

    def answer(h: Hansard) -> Response:
        return html(request, "search_facets.html", looking=looking, **_faceted(h, looking, _zone(request)))

    drawn: Response = await request.app.state.engines.read(answer)
    return drawn


async def fields(request: Request) -> Response:
    """The fields of the query language, for completion."""
    Params(request).done()
    found = [
        {
            "name": name,
            "help": field.help,
            "values": list(getattr(field, "values", {}).items()),
            "completes": name in _COMPLETED or hasattr(field, "values"),
        }
        for name, field in FIELDS.items()
    ]
    return Json({"fields": found})


async def values(request: Request) -> Response:
    """What a field can be asked for in this history, for completion."""
    asked = Params(request)
    field = asked.choice("field", FIELDS, "")
    asked.done()
    if not field:
        raise UsageError(f"invalid 'field': choose one of {', '.join(FIELDS)}")
    return Json({"values": await request.app.state.engines.read(lambda h: h.field_values(field))})


async def palette(request: Request) -> Response:
    """The latest sessions and the projects; or the sessions and places in their text that match what is typed."""
    asked = Params(request)
    query = asked.text("q", 200)
    asked.done()

    def answer(h: Hansard) -> Response:
        names = h.project_names()
        if query is None:
            projects = [
                {"project": item.project, "name": project_name(item.project, names), "sessions": item.sessions}
                for item in h.projects()[:_RECENT]
            ]
            return Json({"projects": projects, "sessions": _named(h.sessions(limit=_RECENT).sessions, names)})
        found = list(h.sessions(text=query, limit=_PALETTE).sessions)
        if _ID.fullmatch(query.lower()):
            found = [*h.sessions(f"session:{query.lower()}", limit=_PALETTE).sessions, *found]
        return Json({"sessions": _named(found[:_PALETTE], names), "texts": _texts(h, query, _zone(request))})

    told: Response = await request.app.state.engines.read(answer)
    return told


def _named(sessions: Iterable[Session], names: ProjectNames) -> list[dict[str, str]]:
    now = datetime.now(UTC)

    def named(session: Session) -> dict[str, str]:
        return {
            "session_id": session.session_id,
            "title": cut_line(session.title, 160) or "(untitled)",
            "project": project_name(session.project, names),
            "when": when(session.ended_at, now),
        }

    return [named(session) for session in sessions]


def _texts(h: Hansard, query: str, zone: Zone) -> list[dict[str, Any]]:
    """The best places in the text of sessions; none for a query that is not finished."""
    try:
        page, _ = _begun(h, SearchRequest(query, "none"), None, datetime.now(UTC), zone, _TEXTS)
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


def _looking(asked: Params) -> SearchRequest:
    return SearchRequest(
        asked.text("q"),
        asked.choice("group", ("session", "none"), "session"),
        asked.choice("sort", SEARCH_SORTS, "best"),
    )


def _cursor(asked: Params, looking: SearchRequest) -> str | None:
    """Where a page begins; without a query there are no pages."""
    cursor = asked.text("cursor")
    if cursor is not None and looking.q is None:
        raise UsageError("parameter 'cursor' needs parameter 'q'")
    return cursor


def _zone(request: Request) -> Zone:
    zone: Zone = request.app.state.zone
    return zone


# -- results


def _found(h: Hansard, looking: SearchRequest, cursor: str | None, zone: Zone) -> dict[str, Any]:
    """What the templates draw; a mistake in the query is told beside the field."""
    now = datetime.now(UTC)
    told: dict[str, Any] = {
        "looking": looking,
        "cursor": cursor,
        "page": None,
        "mistake": None,
        "widened": None,
        "fields": (),
        "pieces": pieces,
        "place_of": partial(place_of, q=looking.q or ""),
        "speaker": speaker,
        "stamp": stamp,
        "corrected": corrected,
    }
    if looking.q is None:
        return told
    try:
        page, told["widened"] = _begun(
            h, looking, cursor, now, zone, _SESSIONS if looking.group == "session" else _HITS
        )
    except QueryError as error:
        told["mistake"] = FormError.of(error)
        return told
    told["page"] = page
    told["fields"] = Refining(looking.q, now=now, zone=zone.info).fields()
    if told["widened"] is not None:
        told["looking"] = replace(looking, q=told["widened"])
    return told


def _begun(
    h: Hansard, looking: SearchRequest, cursor: str | None, now: datetime, zone: Zone, limit: int
) -> SearchFound:
    """What is found, and the wider query that found it: as long as one types, the last word may be the beginning of another."""
    page = _page(h, looking, cursor, now, zone, limit)
    if not page.hits and cursor is None and _BEGUN.search(looking.q or ""):
        wider = replace(looking, q=f"{looking.q}*")
        begun = _page(h, wider, None, now, zone, limit)
        if begun.hits:
            return begun, wider.q
    return page, None


def _page(h: Hansard, looking: SearchRequest, cursor: str | None, now: datetime, zone: Zone, limit: int) -> SearchPage:
    return h.search(
        looking.q or "",
        limit=limit,
        cursor=cursor,
        group=looking.group == "session",
        sort=looking.sort,
        now=now,
        timezone=zone.asked,
    )


# -- facets


@dataclass(frozen=True, slots=True)
class Chip:
    """One value of a facet, and the query with it, or without it where it is asked for already."""

    name: str
    count: int
    title: str
    query: str
    is_chosen: bool


def _faceted(h: Hansard, looking: SearchRequest, zone: Zone) -> dict[str, Any]:
    if looking.q is None:
        return {"facets": None, "chips": ()}
    now = datetime.now(UTC)
    try:
        refining = Refining(looking.q, now=now, zone=zone.info)
        found = h.facets(looking.q, most=_COUNTED, now=now, timezone=zone.asked)
    except QueryError:  # told with the results
        return {"facets": None, "chips": ()}
    return {"facets": found, "chips": tuple(_chips(refining, found, h.project_names()))}


def _chips(refining: Refining, found: Facets, names: ProjectNames) -> Iterator[tuple[str, list[Chip], int]]:
    """Each facet that can tell anything, with its chips."""
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
    asked = _short(project_name(value, names), value, [other for other, _ in counts]) if field == "project" else value
    chosen = refining.has(field, asked) or refining.has(field, value)
    query = refining.narrowed(field, asked) if chosen is None else chosen.rest
    if query is None:
        return None
    name = project_name(value, names) if field == "project" else tool_name(value) if field == "tool" else value
    return Chip(name, count, value, query, chosen is not None)


def _short(name: str, project: str, others: list[str]) -> str:
    """A project's name, where no other one of the list is meant by it too."""
    return name if sum(name in other for other in others) == 1 else project


ROUTES = [
    Route("/search", shared(show)),
    Route("/search/results", shared(results)),
    Route("/search/facets", facets),
    Route("/search/fields", fields),
    Route("/search/values", values),
    Route("/search/palette", palette),
]
