"""Overview: today, this week and all time, live sessions, a year and a week at a glance, where the money went."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Struct
from starlette.routing import Route

from hansard.model.requests import about
from hansard.query.activity import LIVE
from hansard.render.charts.svg import shades
from hansard.render.charts.usage import draw_sparks, draw_spending, draw_week_hours, draw_year
from hansard.render.format import date_text, listed_cost, many, row_cost
from hansard.render.series import WEEKS, Amount, Measure, days_of, measure_of, week_hours_of, year_of
from hansard.web.caches import shared
from hansard.web.page_request import Choice, parse_page
from hansard.web.responses import engine_route, html
from hansard.web.summary_cards import all_time, block_of, budget_of, summary_cards
from hansard.web.urls import day_place, place

if TYPE_CHECKING:
    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.ledger import UsageReport
    from hansard.model.sessions import Session
    from hansard.web.page_request import PageRequest
    from hansard.web.parameters import Nothing

    Chosen = PageRequest["OverviewRequest"]

_RECENT, _PINNED, _TOP = 8, 6, 12
_DAY = timedelta(days=1)
_CLEANUP_SECONDS = 20.0
_HEATS = {"cost": "Cost", "tokens": "Tokens", "sessions": "Sessions"}
_SPLITS = {"model": "By model", "project": "By project"}
_SPANS = {"30": "30 days", "90": "90 days"}


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session of a list; `live_at` if its file has just changed."""

    session: Session
    cost: str
    live_at: datetime | None = None


class OverviewRequest(Struct, frozen=True, kw_only=True):
    """How the charts are drawn."""

    heats: ClassVar[dict[str, str]] = _HEATS
    splits: ClassVar[dict[str, str]] = _SPLITS
    heat: Annotated[str, about("What the year shows.", choices=_HEATS)] = "cost"
    split: Annotated[str, about("What the bars are divided by.", choices=_SPLITS)] = "model"
    days: Annotated[str, about("How many days have bars.", choices=_SPANS)] = "30"


@engine_route(partial(parse_page, kind=OverviewRequest, names="heat split days"))
def show(h: Hansard, request: Request, chosen: Chosen) -> Response:
    state, now = request.app.state, datetime.now(UTC)
    about: dict[str, Any] = {"title": "Overview", "at": "/", "seen": h.revision()}
    if h.sessions(debris=True, limit=1).total == 0:
        return html(request, "overview_empty.html", roots=state.settings.roots, **about)
    figures = {**_now(request, h, now), **draw_charts(request, h, now, chosen)}
    return html(request, "overview.html", zone=state.zone.name, **about, **figures)


@engine_route()
def refresh(h: Hansard, request: Request, _: Nothing) -> Response:
    """The part of the page that refreshes itself while it is open."""
    return html(request, "overview_now.html", year=None, **_now(request, h, datetime.now(UTC)))


@engine_route()
def cleanup(h: Hansard, request: Request, _: Nothing) -> Response:
    """The client's next deletions, fetched after the page and cached for a while, because they need a walk of the sources."""
    known = request.app.state.cache.get(("status", int(time.monotonic() // _CLEANUP_SECONDS)), h.status)
    return html(request, "overview_cleanup.html", store=known, doomed=known.doomed[:3])


@engine_route()
def total(h: Hansard, request: Request, _: Nothing) -> Response:
    """The all-time figures, fetched after the page, because their cost grows with the history."""
    state, now = request.app.state, datetime.now(UTC)
    timezone = state.settings.timezone
    card = state.cache.get(("all time", h.state()), lambda: all_time(h, state.zone, timezone, now))
    return html(request, "overview_card.html", glance=card, spark=draw_sparklines(request, h, now)[2])


@engine_route()
def hours(h: Hansard, request: Request, _: Nothing) -> Response:
    """When the work was done, by weekday and hour; after the page for the same reason."""
    return html(request, "overview_hours.html", **draw_hours(request, h, datetime.now(UTC)))


@engine_route()
def top(h: Hansard, request: Request, _: Nothing) -> Response:
    """The sessions that cost most."""
    known = [session for session in h.sessions(sort="cost", limit=_TOP).sessions if session.cost_usd]
    return html(request, "overview_top.html", top=[listed(session) for session in known])


# -- now


def _now(request: Request, h: Hansard, now: datetime) -> dict[str, Any]:
    zone: Zone = request.app.state.zone
    settings = request.app.state.settings
    current = h.current(timezone=settings.timezone, now=now)
    sessions = _sessions(h, now)
    last_active = max((item.session.ended_at for item in sessions if item.session.ended_at), default=None)
    return {
        "glances": summary_cards(h, zone, settings.timezone, now, last_active),
        "sparks": draw_sparklines(request, h, now),
        "listed": sessions,
        "live": sum(item.live_at is not None for item in sessions),
        "pinned": [listed(session) for session in h.sessions("is:pinned", limit=_PINNED).sessions],
        "block": block_of(current, zone, now),
        "budgets": [
            budget_of(item, request.app.state.engines.names)
            for item in h.budgets(settings.limits, timezone=settings.timezone, now=now)
        ],
    }


def draw_sparklines(request: Request, h: Hansard, now: datetime) -> tuple[Markup, Markup, Markup]:
    """The last days, weeks and months, or those up to the last usage if this week has none."""
    state = request.app.state
    today = state.zone.local(now).date()

    def draw() -> tuple[Markup, Markup, Markup]:
        report = h.usage(by="day", timezone=state.settings.timezone, now=now)
        measure = measure_of(report) if report.rows else Measure(is_money=True)
        days = days_of(report, measure)
        newest = max((day for day in days if day <= today), default=today)
        is_now = newest >= today - _DAY * today.weekday()
        return draw_sparks(days, today if is_now else newest, measure)

    drawn: tuple[Markup, Markup, Markup] = state.cache.get(("sparks", h.state(), today), draw)
    return drawn


def _sessions(h: Hansard, now: datetime) -> list[ListedSession]:
    live = h.live(now - LIVE)
    recent = h.sessions(limit=_RECENT).sessions
    known = {session.session_id for session in recent}
    others = [h.session(session_id) for session_id in list(live)[:_RECENT] if session_id not in known]
    found = [listed(session, live.get(session.session_id)) for session in (*recent, *others) if not session.debris]
    return sorted(found, key=lambda item: item.live_at is None)


def listed(session: Session, live_at: datetime | None = None) -> ListedSession:
    return ListedSession(session, listed_cost(session), live_at)


# -- charts


def draw_charts(request: Request, h: Hansard, now: datetime, chosen: Chosen) -> dict[str, Any]:
    """Both charts, cached until the store or the day changes."""
    kept, known = request.app.state.cache, (h.state(), request.app.state.zone.local(now).date())
    year = kept.get(("year", *known, chosen.request), lambda: _year(request, h, now, chosen))
    spending = kept.get(("spending", *known, chosen.request), lambda: _spending(request, h, now, chosen))
    return {**year, **spending}


def draw_hours(request: Request, h: Hansard, now: datetime) -> dict[str, Any]:
    """When the work is done, by weekday and hour."""
    state = request.app.state

    def draw() -> dict[str, Any]:
        report = h.usage(by="hour", timezone=state.settings.timezone, now=now)
        measure = measure_of(report) if report.rows else Measure(is_money=True)
        return {
            "hours": draw_week_hours(week_hours_of(report, measure), measure),
            "hours_title": measure.title,
            "shades": shades(),
        }

    drawn: dict[str, Any] = state.cache.get(("hours", h.state()), draw)
    return drawn


def _choices(name: str, chosen: Chosen, choices: dict[str, str]) -> list[Choice]:
    current = getattr(chosen.request, name)
    default = getattr(type(chosen.request)(), name)
    return [
        Choice(words, chosen.address(**{name: None if key == default else key}), key == current)
        for key, words in choices.items()
    ]


def _year(request: Request, h: Hansard, now: datetime, chosen: Chosen) -> dict[str, Any]:
    zone: Zone = request.app.state.zone
    today = zone.local(now).date()
    since = zone.midnight(today - _DAY * 7 * (WEEKS + 1))
    report = h.usage(by="day", since=since, timezone=request.app.state.settings.timezone, now=now)
    if not report.rows:  # nothing for a year: the last one that there was
        report = h.usage(by="day", timezone=request.app.state.settings.timezone, now=now)
    measure = Measure(is_money=chosen.request.heat == "cost" and measure_of(report).is_money)
    days = days_of(report, measure)
    first, last = year_of(report, days, today)
    total = measure.text(sum((amount for day, amount in days.items() if first <= day <= last), Amount()))

    def text(amount: Amount) -> str:
        if chosen.request.heat == "sessions":
            return many(int(amount.size), "session")
        return f"{measure.title}  {measure.text(amount)}"

    if chosen.request.heat == "sessions":
        days = _session_days(h, zone, first, last)
        within = h.sessions(since=zone.midnight(first), until=zone.midnight(last + _DAY), limit=1)
        total = many(within.total, "session")
    chart: Markup = draw_year(
        days,
        first,
        last,
        text=text,
        label=f"{_HEATS[chosen.request.heat]} on each day of the year",
        href=lambda day: day_place(day.isoformat()),
    )
    busy = sum(amount.size > 0 for amount in days.values())
    return {
        "year": chart,
        "year_words": f"{total} on {many(busy, 'day')}",
        "shades": shades(),
        "heats": _choices("heat", chosen, chosen.request.heats),
    }


def _session_days(h: Hansard, zone: Zone, first: date, last: date) -> dict[date, Amount]:
    days = [date.fromordinal(number) for number in range(first.toordinal(), last.toordinal() + 2)]
    counts = h.session_counts([zone.midnight(day) for day in days])
    return {day: Amount(Decimal(count)) for day, count in zip(days, counts, strict=False) if count}


def _spending(request: Request, h: Hansard, now: datetime, chosen: Chosen) -> dict[str, Any]:
    zone: Zone = request.app.state.zone
    timezone = request.app.state.settings.timezone
    days = int(chosen.request.days)
    today = last = zone.local(now).date()

    def used(last: date) -> UsageReport:
        bounds = zone.midnight(last - _DAY * (days - 1)), zone.midnight(last + _DAY)
        return h.usage(by=("day", chosen.request.split), since=bounds[0], until=bounds[1], timezone=timezone, now=now)

    report = used(last)
    if not report.rows and (at := h.usage(by="total", timezone=timezone, now=now).totals.last_at) is not None:
        last = zone.local(at).date()  # the last days in which there was any
        report = used(last)
    first = last - _DAY * (days - 1)
    team = request.app.state.team is not None
    when = {"since": first.isoformat(), "until": None if last == today else last.isoformat()}
    measure = measure_of(report) if report.rows else Measure(is_money=True)
    drawn = draw_spending(
        report,
        last,
        request.app.state.engines.names,
        measure=measure,
        explain=lambda by, key: None if team else place("/explain", by=",".join(by), key=key, **when),
        span=(first, last),
    )
    return {
        "spending": drawn,
        "spent": row_cost(report.totals),
        "spent_href": place("/explain", by="total", **when) if report.rows and not team else None,
        "spent_in": f"{days} days" + ("" if last == today else f" up to {date_text(last)}"),
        "measure": measure,
        "splits": _choices("split", chosen, chosen.request.splits),
        "spans": _choices("days", chosen, _SPANS),
        "usage_href": place(
            "/usage", by="day", stack=chosen.request.split, **({"range": f"{days}d"} if last == today else when)
        ),
    }


ROUTES = [
    Route("/", shared(show)),
    Route("/overview/now", refresh),
    Route("/overview/cleanup", cleanup),
    Route("/overview/all-time", total),
    Route("/overview/hours", hours),
    Route("/overview/top", top),
]
