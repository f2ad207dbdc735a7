"""Tools: what was called how often, how long it took, what failed; and the calls of one tool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import replace
from starlette.routing import Route

from hansard.model.calls import TOOL_SORTS
from hansard.model.requests import CallsRequest, Order, ToolsRequest, about, same_for
from hansard.query.language.periods import parse_report_query
from hansard.render.charts.usage import draw_calls
from hansard.render.format import tool_name
from hansard.web.caches import shared
from hansard.web.page_request import RANGES, Choice, PageRequest, headings, parse_page
from hansard.web.responses import begun
from hansard.web.responses import page as drawn
from hansard.web.urls import session_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
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


class ToolListRequest(ToolsRequest, frozen=True, kw_only=True):
    """Every tool, or those of one name."""

    name: Annotated[str | None, about("The exact name of a tool.", http="tool", longest=_LONGEST_NAME)] = None
    range: Annotated[str, about("Days up to today.", choices=RANGES)] = "all"
    sort: Annotated[str, about("Sort by this.", choices=_SORTS)] = "calls"
    ascending: Order = None


class ToolCallsRequest(CallsRequest, frozen=True, kw_only=True):
    """The calls of one tool."""

    name: Annotated[str | None, about("The exact name of the tool.", http="tool", longest=_LONGEST_NAME)] = None
    range: Annotated[str, about("Days up to today.", choices=RANGES)] = "all"
    listed: Annotated[str, about("Which calls.", choices=_LISTS, http="list")] = "newest"


async def show(request: Request) -> Response:
    """The page: every tool, or one."""
    if request.query_params.get("tool", "").strip():
        return await _one(request)
    asked = parse_page(request, ToolListRequest, "query match project sort ascending range since until name")
    _check_query(asked)
    sort = asked.request.sort
    ascending = asked.request.ascending if asked.request.ascending is not None else sort == "tool"
    narrowed = asked.without_usual_order(ascending=ascending, usual=sort == "tool")

    def rest(h: Hansard) -> str:
        report = _report(request, h, narrowed)
        tools = sorted(report.tools, key=lambda sums: sums.tool)
        tools = sorted(tools, key=TOOL_SORTS[sort], reverse=not ascending)
        return drawn(
            "tools_table.html",
            report=report,
            chart=_chart(report, narrowed),
            groups=_groups(tools, report, narrowed),
            heads=headings(narrowed, _SORTS, sort, ascending=ascending, default="calls"),
            narrowed=narrowed,
            zone=narrowed.span.zone.name,
        )

    return await begun(request, "tools.html", rest, title="Tools", at="/tools", **await _frame(request, narrowed))


async def _one(request: Request) -> Response:
    """The calls of one tool."""
    narrowed = parse_page(request, ToolCallsRequest, "name query match project listed range since until cursor")
    _check_query(narrowed)
    asked, chosen = narrowed.request, narrowed.request.listed
    which = replace(
        asked,
        kind="errors" if chosen == "failed" else "all",
        sort="slowest" if chosen == "slowest" else "newest",
        limit=_ROWS,
        subjects=True,
        outputs=chosen == "failed",
    )
    if asked.cursor is not None:  # reject an invalid cursor before the page begins
        await request.app.state.engines.read(lambda h: h.calls(replace(which, limit=1, subjects=False, outputs=False)))

    def rest(h: Hansard) -> str:
        report = _report(request, h, narrowed)
        page = h.calls(which)
        return drawn(
            "tools_calls.html",
            names=request.app.state.engines.names,
            sums=report.totals,
            chart=_chart(report, narrowed),
            lists=[
                Choice(words, narrowed.address(list=None if key == "newest" else key), key == chosen)
                for key, words in _LISTS.items()
            ],
            chosen=chosen,
            page=page,
            lines=_lines(page),
            more=narrowed.address(cursor=page.next_cursor) if page.next_cursor else None,
            first=narrowed.address() if asked.cursor else None,
            narrowed=narrowed,
        )

    return await begun(
        request,
        "tools_one.html",
        rest,
        title=tool_name(asked.name or ""),
        at="/tools",
        tool=asked.name,
        above=narrowed.address(tool=None, list=None),
        **await _frame(request, narrowed),
    )


def _check_query(asked: PageRequest[Any]) -> None:
    """Refuse a wrong query before the page begins."""
    if asked.request.query is not None:
        parse_report_query(asked.request.query, now=asked.now, zone=asked.span.zone.info)


async def _frame(request: Request, narrowed: PageRequest[Any]) -> dict[str, Any]:
    projects = await request.app.state.engines.read(lambda h: h.field_values("project"))
    return {"narrowed": narrowed, "projects": projects}


def _report(request: Request, h: Hansard, narrowed: PageRequest[Any]) -> ToolReport:
    asked = same_for(ToolsRequest, narrowed.request, name=narrowed.request.name)
    report: ToolReport = request.app.state.cache.ask(h, "tools", asked)
    return report


def _chart(report: ToolReport, narrowed: PageRequest[Any]) -> Any:
    return draw_calls(
        report.days, narrowed.span.days, lambda first, last: narrowed.address(range=None, since=first, until=last)
    )


def _groups(tools: Iterable[ToolSums], report: ToolReport, narrowed: PageRequest[Any]) -> list[Group]:
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
        )
        for call in page.calls
    ]


ROUTES = [Route("/tools", shared(show))]
