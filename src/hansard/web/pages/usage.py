"""Usage: the ledger's reports as a chart and a table whose figures link to their messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import structs
from starlette.responses import Response
from starlette.routing import Route

from hansard.model.requests import DIMENSIONS, MODES, BlocksRequest, UsageRequest, same_for
from hansard.model.table import Column, Cost, Kind, Link, Table
from hansard.model.time import BLOCK
from hansard.query.language.periods import parse_report_query
from hansard.query.language.refine import written
from hansard.render.charts.usage import draw_groups, draw_spending
from hansard.render.format import ProjectNames, date_text, exact, many, row_cost, tool_name, weekday_text
from hansard.render.html.escaping import cut_line
from hansard.render.html.tables import draw_table
from hansard.render.reports import data_words, figures, gap_length, grouped, key_names, marked_notes, rate_cells
from hansard.render.series import STEPS, Measure, measure_of
from hansard.render.text import one_line
from hansard.team import OFFERED
from hansard.web.caches import shared, without_time
from hansard.web.page_request import RANGES, Choice, sort_links
from hansard.web.parameters import NARROWING
from hansard.web.report_request import MEASURES, STACKS, TEAM_STACKS, parse_usage_page
from hansard.web.responses import engine_route, page, stream_page
from hansard.web.summary_cards import active_block, budget_of
from hansard.web.urls import day_place, place, session_place

if TYPE_CHECKING:
    from starlette.requests import Request

    from hansard.engine import Hansard
    from hansard.model.ledger import UsageReport, UsageRow
    from hansard.render.charts.usage import UsageChart
    from hansard.render.reports import Figure
    from hansard.web.report_request import ReportPage, UsagePageRequest

    Wish = ReportPage[UsagePageRequest]

_MOST = 100  # rows on a page
_HOURS = timedelta(days=3)  # up to here, bars are hours
_WEEK = timedelta(days=6)
_RATES = (
    *(Column(title) for title in ("Model", "For", "From", "Until", "Prompt")),
    *(Column(title, right=True) for title in ("Input", "Output", "Read", "Write 5 min", "Write 1 h", "Search")),
    Column("Source", css="quiet"),
)
_READY = (
    ("day",),
    ("week",),
    ("month",),
    ("hour",),
    ("session",),
    ("project",),
    ("model",),
    ("person",),
    ("machine",),
    ("client",),
    ("agent",),
    ("branch",),
    ("pr",),
    ("group",),
    ("tool",),
    ("block",),
    ("day", "model"),
    ("month", "project"),
)
_NAMES: dict[tuple[str, ...], str] = {("pr",): "Pull request"}


async def show(request: Request) -> Response:
    """The page; the report is streamed when it is computed."""
    wish = parse_usage_page(request)
    latest = await _latest_period(request, wish)
    wish = latest or wish
    asked, zone = wish.request, wish.span.zone
    if asked.query is not None:
        parse_report_query(asked.query, now=wish.now, zone=zone.info)  # refuse a wrong query before the page begins

    def rest(h: Hansard) -> str:
        report = request.app.state.cache.ask(h, "usage", _report_request(wish))
        blocks = _blocks(h, wish, request)
        table = _table(report, wish, request.app.state.engines.names, blocks["pauses"])
        sorts = sort_links(wish, asked.sort, ascending=bool(asked.ascending), fragment="#table")
        return page(
            "usage_report.html",
            wish=wish,
            report=report,
            table=table,
            ledger=draw_table(table, "rows ledger", sorts),
            count=len(report.rows) if report.by != ("total",) else 0,
            total=table.totals[-1] if table.totals else None,
            cost=row_cost(report.totals),
            most=_MOST,
            notes=marked_notes(report.pricing, report.totals),
            prices=data_words(report.pricing.data),
            command=_command(wish),
            csv=replace(wish, path="/usage.csv").address(),
            block=blocks["block"],
            budgets=_budgets(h, wish, request),
            rates=_rates(h),
            last=None if report.rows else _last(h, wish),
            **_chart(h, wish, request, report),
        )

    return await stream_page(
        request,
        "usage.html",
        rest,
        title="Usage",
        at="/usage",
        wish=wish,
        asked=asked,
        span=wish.span,
        zone=zone.name,
        earlier=latest is not None,
        is_narrowed=wish.has("project", "model", "q", "match", "mode", "work", *(NARROWING if wish.team else ()))
        or not (wish.span.name or latest),
        **_choices(wish, has_groups=bool(request.app.state.engines.settings.groups)),
    )


@engine_route(parse_usage_page)
def download(h: Hansard, request: Request, wish: Wish) -> Response:
    """The rows as CSV, the same as `hansard usage --csv` writes."""
    from hansard.export.sheets import usage_sheet

    content = b"".join(usage_sheet(request.app.state.cache.ask(h, "usage", _report_request(wish))))
    name = "-".join(("usage", *wish.request.by))
    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return Response(content, media_type="text/csv; charset=utf-8", headers=headers)


def _report_request(wish: Wish, by: Sequence[str] | None = None) -> UsageRequest:
    """The usage request of the page, or the same by other dimensions."""
    asked = wish.request
    how = {"work": asked.work, "sort": asked.sort, "ascending": asked.ascending} if by is None else {}
    return same_for(UsageRequest, asked, by=by or asked.by, mode=asked.mode, **how)


def _command(wish: Wish) -> str:
    """The same report in a terminal."""
    asked = wish.request
    order = ["--sort", str(asked.sort), "--order", "asc" if asked.ascending else "desc"]
    work = ["--work"] if asked.work else []
    values = [asked.query] if asked.query else []
    words = ("team", "usage") if wish.team else ("usage",)
    return wish.command(*words, "--by", ",".join(asked.by), then=[*work, *order], values=values)


# -- the table: keys link to the sessions, days or tools behind them, figures to their explanations


def _table(
    report: UsageReport,
    wish: Wish,
    projects: ProjectNames,
    more: Mapping[str, str],
) -> Table:
    """The rows of a report from the one at `skip` on, and its total; `more` says something about times.

    Every figure links to its explanation.
    """
    names = [name for name in report.by if name != "total"]
    skip = wish.request.skip
    shown = report.rows[skip : skip + _MOST] if names else ()
    shown_figures = list(figures((*report.rows, report.totals)))
    columns = [
        Column(name.capitalize(), Kind.LABEL, sort=None if place else "key", css="key")
        for place, name in enumerate(names)
    ]
    columns = columns or [Column("", Kind.LABEL)]
    columns += [
        figure.column if figure.column.sort in ("tokens", "cost") else structs.replace(figure.column, css="minor")
        for figure in shown_figures
    ]
    keys = zip(*(_keys(name, shown, wish, projects, more) for name in names), strict=True)
    rows = [
        [*cells, *_numbers(shown_figures, row, wish.explain(names, [row.key[name] for name in names]))]
        for cells, row in zip(keys, shown, strict=True)
    ]
    beyond = f"of all {len(report.rows):,} rows" if names and len(report.rows) > len(shown) else ""
    total = Link("Total" if names else "All", more=beyond)
    return Table(columns, rows, [total, *_numbers(shown_figures, report.totals, wish.explain(("total",), ()))])


def _numbers(shown: Sequence[Figure], row: UsageRow, href: str | None) -> Iterator[Link]:
    """The figures of a row; a row without messages has nothing to explain."""
    for column, of in shown:
        value = of(row)
        amount = value.amount if isinstance(value, Cost) else value
        is_money = column.kind in (Kind.MONEY, Kind.COST)
        title = "" if not is_money else "price unknown" if amount is None else f"exactly {exact(amount)}"
        yield Link(value, href if row.api_messages else None, title)


def _keys(
    name: str, rows: Sequence[UsageRow], wish: Wish, projects: ProjectNames, more: Mapping[str, str]
) -> Iterator[Link]:
    values = [row.key[name] for row in rows]
    zone = wish.span.zone
    names = key_names(name, {value for value in values if value is not None}, zone, projects)
    for value, row in zip(values, rows, strict=True):
        if value is None:
            yield Link(f"(no {name})")
            continue
        about = row.about
        match name:
            case "session":
                title = one_line(about.get("title", "")[:400]) or "(untitled)"
                yield Link(title, session_place(value), value, names[value])
            case "subagent":
                task = one_line((about.get("description") or about.get("agent_type", ""))[:400])
                yield Link(task or names[value], None, value, names[value] if task else "")
            case "tool":
                yield Link(tool_name(value), None if wish.team else place("/tools", tool=value), value)
            case "project":
                yield Link(names[value], place("/sessions", project=value), value)
            case "model":
                yield Link(names[value], wish.address(by="day", model=value, skip=None, sort=None), value)
            case "machine" | "person":
                href = wish.address(by="day", skip=None, sort=None, order=None, **{name: value})
                yield Link(names[value], href, value)
            case "branch" | "group":
                yield Link(names[value], None, value)
            case "pr":
                field = written("pr", value)
                yield Link(names[value], place("/sessions", q=field) if field else None, value)
            case _:
                yield Link(names[value], *_time_place(name, value, wish), more.get(value, ""))


def _time_place(name: str, value: str, wish: Wish) -> tuple[str | None, str]:
    """The link and the full name of a period: days and blocks link to their sessions, longer periods to their days."""
    try:
        match name:
            case "day":
                return day_place(value), weekday_text(date.fromisoformat(value))
            case "week":
                year, _, week = value.partition("-W")
                monday = date.fromisocalendar(int(year), int(week), 1)
                last = monday + _WEEK
                words = f"{date_text(monday)} to {date_text(last)}"
                return _within(wish, "day", monday.isoformat(), last.isoformat()), words
            case "month":
                return _within(wish, "day", value, value), ""
            case "block":
                start = datetime.fromisoformat(value).astimezone(UTC)
                return _within(wish, "session", value, f"{start + BLOCK:%Y-%m-%dT%H:%M:%SZ}"), ""
            case "hour":
                start = datetime.fromisoformat(value).astimezone(UTC)
                hour = f"{start + timedelta(hours=1):%Y-%m-%dT%H:%MZ}"
                return _within(wish, "session", f"{start:%Y-%m-%dT%H:%MZ}", hour), ""
            case _:
                return None, ""
    except (ValueError, OverflowError):
        return None, ""


def _within(wish: Wish, by: str, since: str, until: str) -> str:
    """The same report by something finer, within a shorter time."""
    return wish.address(by=by, range=None, since=since, until=until, sort=None, order=None)


# -- what can be chosen


def _choices(wish: Wish, *, has_groups: bool) -> dict[str, Any]:
    dimensions = OFFERED if wish.team else DIMENSIONS
    offered = {name: words for name, words in dimensions.items() if has_groups or name != "group"}
    fresh: dict[str, Any] = {"skip": None, "sort": None, "order": None}
    return {
        "reports": [
            Choice(
                _NAMES.get(names) or " and ".join(names).capitalize(),
                wish.address(by=",".join(names), **fresh),
                wish.request.by == names,
            )
            for names in _READY
            if offered.keys() >= set(names)
        ],
        "ranges": [
            Choice(words, wish.address(range=name, since=None, until=None), wish.span.name == name)
            for name, words in RANGES.items()
        ],
        "dimensions": offered,
        "modes": MODES,
    }


def _stacks(wish: Wish, shown: str) -> list[Choice]:
    return [
        Choice(f"By {name}" if name != "none" else "Total", wish.address(stack=name), shown == name)
        for name in (TEAM_STACKS if wish.team else STACKS)
    ]


def _chart(h: Hansard, wish: Wish, request: Request, report: UsageReport) -> dict[str, Any]:
    by = _chart_by(wish, report)
    key = ("chart", h.state(), wish.request.measure, wish.span.today, without_time(_report_request(wish, by)))
    measure, drawn = request.app.state.cache.get(key, lambda: _draw(h, wish, by))
    shown = "cost" if measure.is_money else "tokens"
    return {
        "drawn": drawn,
        "measure": measure,
        "stacks": _stacks(wish, by[1] if len(by) > 1 else "none"),
        "measures": [Choice(name.capitalize(), wish.address(measure=name), name == shown) for name in MEASURES],
    }


def _draw(h: Hansard, wish: Wish, by: tuple[str, ...]) -> tuple[Measure, UsageChart]:
    report = h.usage(_report_request(wish, by))
    chosen = wish.request.measure
    measure = Measure(chosen == "cost") if chosen else measure_of(report)
    if by[0] not in STEPS:
        return measure, draw_groups(report, h.project_names(), measure=measure, explain=wish.explain)
    span = wish.span
    days = span.days if report.rows else None
    return measure, draw_spending(
        report, span.today, h.project_names(), measure=measure, explain=wish.explain, span=days
    )


def _chart_by(wish: Wish, report: UsageReport) -> tuple[str, ...]:
    """The dimensions of the bars and their stacks: those of the table, if a chart can show them."""
    times = [name for name in wish.request.by if name in STEPS]
    groups = [name for name in wish.request.by if name not in (*STEPS, "block", "total")]
    bar = times[0] if times else groups[0] if groups else _step(wish, report)
    stack = wish.request.stack
    if stack is None:
        stack = next((name for name in groups if name != bar), "project" if bar == "model" else "model")
    return (bar,) if stack in ("none", bar) else (bar, stack)


def _step(wish: Wish, report: UsageReport) -> str:
    """The period of a bar, if the report is not by time: hours for up to three days, else days."""
    first, last = wish.span.since or report.totals.first_at, report.totals.last_at
    if first is not None and last is not None and last - first <= _HOURS:
        return "hour"
    return "day"


# -- beside the report


def _blocks(h: Hansard, wish: Wish, request: Request) -> dict[str, Any]:
    """For a report by blocks: the active one with its projection, and the gaps before the others; of one person's only."""
    if wish.request.by != ("block",) or wish.team:
        return {"block": None, "pauses": {}}
    now = wish.now
    asked = same_for(BlocksRequest, wish.request, mode=wish.request.mode)
    blocks = request.app.state.cache.ask(h, "blocks", asked, timed=True).blocks
    active = (active_block(block, request.app.state.zone, now) for block in reversed(blocks))
    return {
        "block": next(filter(None, active), None),
        "pauses": {
            f"{blocks[number + 1].start:%Y-%m-%dT%H:%M:%SZ}": f"after a gap of {many(*gap_length(blocks, number))}"
            for number, block in enumerate(blocks[:-1])
            if block.is_gap
        },
    }


def _budgets(h: Hansard, wish: Wish, request: Request) -> list[dict[str, Any]]:
    limits, timezone = request.app.state.settings.limits, wish.request.timezone
    names = request.app.state.engines.names
    return [budget_of(item, names) for item in h.budgets(limits, timezone=timezone, now=wish.now)]


def _rates(h: Hansard) -> dict[str, Any]:
    rates = h.rates()
    priced = [rate for rate in rates if rate.is_priced]
    return {
        "table": draw_table(
            Table(
                _RATES,
                [
                    (cut_line(rate.model, 80), kind, *rate_cells(rate), cut_line(rate.source, 120))
                    for kind, rate in grouped(priced, everything=False)
                ],
            ),
            "rows",
        )
        if priced
        else "",
        "unpriced": list(dict.fromkeys(rate.model for rate in rates if not rate.is_priced)),
    }


async def _latest_period(request: Request, wish: Wish) -> Wish | None:
    """The same report for the latest days with usage, if no period was given and the default one is empty."""
    since = wish.span.since
    if since is None or any(name in request.query_params for name in ("range", "since", "until")):
        return None
    kept = request.app.state.cache

    def last_used(h: Hansard) -> datetime | None:
        newest = h.sessions(limit=1).sessions
        if not newest or newest[0].ended_at is None or newest[0].ended_at >= since:
            return None
        at: datetime | None = kept.get(("last usage", h.state()), lambda: h.usage(by="total").totals.last_at)
        return at if at is not None and at < since else None

    at = await request.app.state.engines.read(last_used)
    return None if at is None else wish.until(wish.span.zone.local(at).date())


def _last(h: Hansard, wish: Wish) -> dict[str, str] | None:
    """Links to the latest usage, shown if the selected period has none."""
    at: datetime | None = h.usage(by="total").totals.last_at
    if at is None:
        return None
    day = wish.span.zone.local(at).date()
    since = (day - timedelta(days=29)).isoformat()
    return {
        "day": day.isoformat(),
        "href": place("/usage", by=",".join(wish.request.by), since=since, until=day.isoformat()),
        "all": place("/usage", by=",".join(wish.request.by), range="all"),
    }


ROUTES = [Route("/usage", shared(show)), Route("/usage.csv", download)]
