"""The pages of their own that a team's database has: the overview, and a session as its texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from msgspec import Struct
from starlette.routing import Route

from hansard.model.requests import about
from hansard.render.charts.usage import draw_groups
from hansard.render.format import date_text, listed_cost, row_cost, short
from hansard.render.html.prose import plain_html, prose
from hansard.render.series import measure_of
from hansard.web.caches import shared
from hansard.web.page_request import parse_page
from hansard.web.pages.overview import draw_charts, draw_hours, draw_sparklines, listed
from hansard.web.parameters import LAST_OFFSET, NARROWING
from hansard.web.responses import engine_route, html
from hansard.web.search_hits import spoken_by
from hansard.web.summary_cards import Figure, SummaryCard
from hansard.web.urls import line_id, place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.ledger import UsageReport, UsageRow
    from hansard.team import SessionText
    from hansard.web.page_request import PageRequest
    from hansard.web.team.engine import TeamEngine

_RECENT, _TOP, _PEOPLE = 8, 12, 12
_TEXTS = 100
_DAY = timedelta(days=1)
_HEATS = {"cost": "Cost", "tokens": "Tokens"}
_SPLITS = {"model": "By model", "project": "By project", "person": "By person"}
_MARKDOWN = frozenset({"prompt", "reply", "thinking"})


class TeamOverviewRequest(Struct, frozen=True, kw_only=True):
    """How the charts are drawn."""

    heats: ClassVar[dict[str, str]] = _HEATS
    splits: ClassVar[dict[str, str]] = _SPLITS
    heat: Annotated[str, about("What the year shows.", choices=_HEATS)] = "cost"
    split: Annotated[str, about("What the bars are divided by.", choices=_SPLITS)] = "model"
    days: Annotated[str, about("How many days have bars.", choices=("30", "90"))] = "30"


class TextsRequest(Struct, frozen=True, kw_only=True):
    """Texts of a session."""

    agent: Annotated[str, about("The subagent whose texts these are.")] = ""
    at: Annotated[int | None, about("The byte offset of a line.", ge=0, le=LAST_OFFSET)] = None
    first: Annotated[int, about("The number of the first text.", ge=0, le=10**9)] = 0
    query: Annotated[str | None, about("The query that led here.", http="q")] = None


@engine_route(partial(parse_page, kind=TeamOverviewRequest, names="heat split days"))
def show_overview(h: Hansard, request: Request, chosen: PageRequest[Any]) -> Response:
    state, now = request.app.state, datetime.now(UTC)
    found = cast("TeamEngine", h).status()
    people = h.usage(by="person", since=now - 30 * _DAY, timezone=state.settings.timezone, now=now)
    shown = people if people.rows else h.usage(by="person", timezone=state.settings.timezone, now=now)
    names = state.engines.names
    return html(
        request,
        "team_overview.html",
        title="Overview",
        at="/",
        zone=state.zone.name,
        found=found,
        narrowed={name: chosen.given[name] for name in NARROWING if chosen.given[name]},
        glances=state.cache.get(("cards", h.state(), state.zone.local(now).date()), lambda: [*_cards(h, request, now)]),
        sparks=draw_sparklines(request, h, now),
        people=draw_groups(shown, names, measure=measure_of(shown), explain=_person_place, most=_PEOPLE)
        if shown.rows
        else None,
        people_when="in the last 30 days" if people.rows else "of all time",
        recent=[listed(session) for session in h.sessions(limit=_RECENT).sessions],
        top=[listed(one) for one in h.sessions(sort="cost", limit=_TOP).sessions if one.cost_usd],
        **{**draw_hours(request, h, now), **draw_charts(request, h, now, cast("Any", chosen))},
    )


def _person_place(_: object, key: Any) -> str:
    return place("/usage", by="day", stack="project", person=key[0])


def _cards(h: Hansard, request: Request, now: datetime) -> Iterator[SummaryCard]:
    """Today, this week and all time, as the usage report counts them."""
    zone, timezone = request.app.state.zone, request.app.state.settings.timezone
    today = zone.local(now).date()
    monday = today - _DAY * today.weekday()
    for name, when, since in (("Today", f"{today:%A}", today), ("This week", "since Monday", monday)):
        report = h.usage(by=("session", "person"), since=zone.midnight(since), timezone=timezone, now=now)
        yield SummaryCard(name, when, tuple(_figures(report, {"since": since.isoformat()})))
    report = h.usage(by=("session", "person"), timezone=timezone, now=now)
    first = report.totals.first_at
    yield SummaryCard(
        "All time",
        f"since {date_text(zone.local(first).date())}" if first else "",
        tuple(_figures(report, {"range": "all"})),
    )


def _figures(report: UsageReport, when: dict[str, str]) -> Iterator[Figure]:
    used: UsageRow = report.totals
    days, sessions, people = (place("/usage", by=by, **when) for by in ("day", "session", "person"))
    counts = {name: len({row.key[name] for row in report.rows}) for name in ("session", "person")}
    yield Figure("Cost", row_cost(used), href=days)
    yield Figure("Tokens", short(used.tokens), href=days, title=f"{used.tokens:,}")
    yield Figure("Output tokens", short(used.output_tokens), href=days, title=f"{used.output_tokens:,}")
    yield Figure("Messages", f"{used.api_messages:,}", href=days)
    yield Figure("Sessions", f"{counts['session']:,}", href=sessions, title="Sessions with usage")
    yield Figure("People", f"{counts['person']:,}", href=people, title="People with usage")


@engine_route(partial(parse_page, kind=TextsRequest, names="agent at first query"))
def show_session(h: Hansard, request: Request, page: PageRequest[TextsRequest]) -> Response:
    team, asked = cast("TeamEngine", h), page.request
    session = team.session(request.path_params["session_id"])
    texts = team.texts(session, agent_id=asked.agent, first=asked.first, at=asked.at, limit=_TEXTS)
    following = texts.first + len(texts.texts)
    return html(
        request,
        "team_session.html",
        title=session.title or session.session_id,
        at="/sessions",
        session=session,
        cost=listed_cost(session),
        texts=texts,
        shown=list(_anchored(texts.texts, asked.agent)),
        agent=asked.agent,
        thread_place=lambda agent: place(page.path, agent=agent),
        earlier=page.address(at=None, first=max(0, texts.first - _TEXTS) or None) if texts.first else None,
        later=page.address(at=None, first=following) if following < texts.total else None,
        marked=asked.at,
        speaker=spoken_by,
        drawn=_drawn,
    )


def _anchored(texts: Iterable[SessionText], agent_id: str) -> Iterator[tuple[str | None, SessionText]]:
    """Texts, the first of each line with the id that links to the line have."""
    seen: set[int] = set()
    for text in texts:
        anchor = None if text.offset in seen else line_id(text.offset, agent_id)
        seen.add(text.offset)
        yield anchor, text


def _drawn(text: SessionText) -> str:
    """A text as HTML; what people and models write is Markdown."""
    from markupsafe import Markup

    return Markup(prose(text.text) if text.kind in _MARKDOWN else plain_html(text.text))  # noqa: S704 - both escape it


ROUTES = [Route("/", shared(show_overview)), Route("/sessions/{session_id}", shared(show_session))]
