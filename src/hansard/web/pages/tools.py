"""Tools: what was called how often, how long it took, what failed; and the calls of one tool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from hansard.model.calls import TOOL_SORTS
from hansard.query.language import parse
from hansard.render.charts.usage import draw_calls
from hansard.render.format import tool_name
from hansard.web.list_filters import Choice, ListFilters, headings
from hansard.web.page_cache import shared
from hansard.web.params import Params
from hansard.web.period import parse_period
from hansard.web.responses import page as drawn
from hansard.web.streaming import begun
from hansard.web.urls import place, session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.calendar import Zone
    from hansard.model.calls import Call, CallPage, ToolReport, ToolSums

_SORTS: dict[str, tuple[str, str]] = {
    "tool": ("Tool", "text"),
    "calls": ("Calls", "number"),
    "failed": ("Failed", "number"),
    "rate": ("Failed %", "number"),
    "median": ("Median", "number"),
    "p95": ("p95", "number"),
    "time": ("Total time", "number"),
    "lines": ("Lines", "number"),
    "sessions": ("Sessions", "number"),
    "last": ("Last used", "number"),
}
_LISTS = {"newest": "Newest", "failed": "Failed", "slowest": "Slowest"}
_ROWS = 25
_LONGEST_NAME = 400


@dataclass(frozen=True, slots=True)
class Row:
    """A tool of the table."""

    sums: ToolSums
    name: str
    href: str
    share: float
    rate: float


@dataclass(frozen=True, slots=True)
class Group:
    """The tools of one MCP server, or those that the client brings along."""

    name: str
    rows: tuple[Row, ...]
    calls: int
    errors: int


@dataclass(frozen=True, slots=True)
class Line:
    """A call of the list."""

    call: Call
    href: str
    raw: str


async def show(request: Request) -> Response:
    """The page: every tool, or one."""
    asked = Params(request)
    zone: Zone = request.app.state.zone
    now = datetime.now(UTC)
    tool, query, project = asked.text("tool", _LONGEST_NAME), asked.text("q"), asked.text("project")
    span = parse_period(asked, zone, now, default="all")
    wanted: dict[str, Any] = {"query": query, "project": project, "since": span.since, "until": span.until}
    if query is not None:
        parse(query, now=now, zone=zone.info)  # what is wrong with it must be said before the page begins
    if tool is not None:
        return await _one(
            request, asked, ListFilters("/tools", span, {"tool": tool, "q": query, "project": project}), wanted
        )
    sort = asked.choice("sort", _SORTS, "calls")
    usual = "asc" if sort == "tool" else "desc"
    order = asked.choice("order", ("asc", "desc"), usual)
    asked.done()
    narrowed = ListFilters(
        "/tools",
        span,
        {
            "q": query,
            "project": project,
            "sort": None if sort == "calls" else sort,
            "order": None if order == usual else order,
        },
    )

    def rest(h: Hansard) -> str:
        report = _report(request, h, None, wanted)
        key = TOOL_SORTS[sort]
        tools = sorted(report.tools, key=lambda sums: sums.tool)
        tools = sorted(tools, key=key, reverse=order == "desc")
        return drawn(
            "tools_table.html",
            report=report,
            chart=draw_calls(
                report.days, span.days, lambda first, last: narrowed.address(range=None, since=first, until=last)
            ),
            groups=_groups(tools, report, narrowed),
            heads=headings(narrowed, _SORTS, sort, ascending=order == "asc", default="calls"),
            narrowed=narrowed,
            zone=zone.name,
        )

    return await begun(request, "tools.html", rest, title="Tools", at="/tools", **await _frame(request, narrowed))


async def _one(request: Request, asked: Params, narrowed: ListFilters, wanted: dict[str, Any]) -> Response:
    """The calls of one tool."""
    chosen = asked.choice("list", _LISTS, "newest")
    cursor = asked.text("cursor")
    asked.done()
    name = str(narrowed.asked["tool"])
    narrowed = ListFilters(
        narrowed.path, narrowed.span, {**narrowed.asked, "list": None if chosen == "newest" else chosen}
    )
    which: dict[str, Any] = {
        "kind": "errors" if chosen == "failed" else "all",
        "sort": "slowest" if chosen == "slowest" else "newest",
        "name": name,
        "cursor": cursor,
        "timezone": request.app.state.settings.timezone,
        **wanted,
    }
    if cursor is not None:
        await request.app.state.engines.read(lambda h: h.calls(**which, limit=1))  # a cursor that is none is refused

    def rest(h: Hansard) -> str:
        report = _report(request, h, name, wanted)
        page = h.calls(**which, limit=_ROWS, subjects=True, outputs=chosen == "failed")
        return drawn(
            "tools_calls.html",
            names=request.app.state.engines.names,
            report=report,
            sums=report.totals,
            chart=draw_calls(
                report.days,
                narrowed.span.days,
                lambda first, last: narrowed.address(range=None, since=first, until=last),
            ),
            lists=[
                Choice(words, narrowed.address(list=None if key == "newest" else key), key == chosen)
                for key, words in _LISTS.items()
            ],
            chosen=chosen,
            page=page,
            lines=_lines(page),
            more=narrowed.address(cursor=page.next_cursor) if page.next_cursor else None,
            first=narrowed.address() if cursor else None,
            narrowed=narrowed,
            zone=narrowed.span.zone.name,
        )

    above = ListFilters("/tools", narrowed.span, {**narrowed.asked, "tool": None, "list": None}).address()
    return await begun(
        request,
        "tools_one.html",
        rest,
        title=tool_name(name),
        at="/tools",
        tool=name,
        above=above,
        **await _frame(request, narrowed),
    )


async def _frame(request: Request, narrowed: ListFilters) -> dict[str, Any]:
    projects = await request.app.state.engines.read(lambda h: h.field_values("project"))
    return {"narrowed": narrowed, "projects": projects}


def _report(request: Request, h: Hansard, name: str | None, wanted: dict[str, Any]) -> ToolReport:
    zone = request.app.state.settings.timezone
    key = ("tools", h.state(), name, *wanted.values())
    report: ToolReport = request.app.state.cache.answer(key, lambda: h.tools(name=name, timezone=zone, **wanted))
    return report


def _groups(tools: Iterable[ToolSums], report: ToolReport, narrowed: ListFilters) -> list[Group]:
    """The client's own tools, then the servers in the order of their first tools."""
    all_calls = max(1, report.totals.calls)
    rows: dict[str | None, list[Row]] = {None: []}
    for sums in tools:
        name = sums.tool if sums.server is None else sums.tool.split("__", 2)[2]
        href = narrowed.address(tool=sums.tool, sort=None, order=None)
        row = Row(sums, name or "(no name)", href, sums.calls / all_calls, sums.errors / sums.calls)
        rows.setdefault(sums.server, []).append(row)
    return [
        Group(server or "", tuple(some), sum(row.sums.calls for row in some), sum(row.sums.errors for row in some))
        for server, some in rows.items()
        if some
    ]


def _lines(page: CallPage) -> list[Line]:
    return [
        Line(
            call,
            session_place(call.session_id, call.offset, call.agent_id)
            if call.is_shown
            else session_place(call.session_id),
            place(f"{session_place(call.session_id)}/raw", transcript=call.transcript, offset=call.offset),
        )
        for call in page.calls
    ]


ROUTES = [Route("/tools", shared(show))]
