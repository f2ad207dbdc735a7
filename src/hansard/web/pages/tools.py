"""Tools: what was called how often, how long it took, what failed; and the calls of one tool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import replace
from starlette.routing import Route

from hansard.model.calls import TOOL_SORTS
from hansard.model.requests import CallsRequest, Order, ToolsRequest, about, same_for
from hansard.model.table import Column, Kind, Link, Table
from hansard.query.language.periods import parse_report_query
from hansard.render.charts.usage import draw_calls
from hansard.render.format import full, many, tool_name
from hansard.render.html.escaping import cut_line
from hansard.render.html.tables import draw_table
from hansard.web.caches import shared
from hansard.web.page_request import RANGES, Choice, PageRequest, parse_page, sort_links
from hansard.web.responses import page as drawn
from hansard.web.responses import stream_page
from hansard.web.urls import listed_place

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hansard.engine import Hansard
    from hansard.model.calls import ToolReport, ToolSums

_TOOLS = (
    Column("Tool", sort="tool", css="tool"),
    Column("Calls", Kind.COUNT, sort="calls"),
    Column("Share", Kind.SHARE, css="wide-only share"),
    Column("Failed", Kind.COUNT, sort="failed"),
    Column("Failed %", Kind.PERCENT, sort="rate", css="not-narrow"),
    Column("Median", Kind.DURATION, sort="median"),
    Column("p95", Kind.DURATION, sort="p95", css="not-narrow"),
    Column("Total time", Kind.DURATION, sort="time", css="wide-only"),
    Column("Lines", Kind.LINES, sort="lines", css="wide-only"),
    Column("Sessions", Kind.COUNT, sort="sessions", css="wide-only"),
    Column("Last used", Kind.TIME, right=True, sort="last", css="wide-only quiet"),
)
_LISTS = {"newest": "Newest", "failed": "Failed", "slowest": "Slowest"}
_ROWS = 25
_BAD = 0.1  # of calls that failed
_NONE = Link(0, css="nil")
_LONGEST_NAME = 400


class ToolListRequest(ToolsRequest, frozen=True, kw_only=True):
    """Every tool, or those of one name."""

    name: Annotated[str | None, about("The exact name of a tool.", http="tool", longest=_LONGEST_NAME)] = None
    range: Annotated[str, about("Days up to today.", choices=RANGES)] = "all"
    sort: Annotated[str, about("Sort by this.", choices=TOOL_SORTS)] = "calls"
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
            table=draw_table(
                _table(tools, report.totals, narrowed),
                "rows toolwork",
                sort_links(narrowed, sort, ascending=ascending, default="calls", texts=("tool",)),
            ),
            narrowed=narrowed,
            zone=narrowed.span.zone.name,
        )

    return await stream_page(request, "tools.html", rest, title="Tools", at="/tools", **await _frame(request, narrowed))


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
            place=listed_place,
            more=narrowed.address(cursor=page.next_cursor) if page.next_cursor else None,
            first=narrowed.address() if asked.cursor else None,
            narrowed=narrowed,
        )

    return await stream_page(
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


def _table(tools: Iterable[ToolSums], totals: ToolSums, narrowed: PageRequest[Any]) -> Table:
    """The client's own tools, then those of each MCP server, in the order of their first tools."""
    servers: dict[str | None, list[ToolSums]] = {None: []}
    for sums in tools:
        servers.setdefault(sums.server, []).append(sums)
    rows: list[list[Any]] = []
    headings: dict[int, Link] = {}
    for server, own in servers.items():
        if server is not None:
            calls, errors = sum(sums.calls for sums in own), sum(sums.errors for sums in own)
            failed = f", {errors:,} failed" if errors else ""
            about = f"MCP server, {many(len(own), 'tool')}, {many(calls, 'call')}{failed}"
            headings[len(rows)] = Link(cut_line(server, 80), more=about, icon="plug")
        elif own and len(servers) > 1:
            headings[len(rows)] = Link("Built-in")
        for sums in own:
            name = sums.tool if server is None else sums.tool.split("__", 2)[2]
            href = narrowed.address(tool=sums.tool, sort=None, order=None)
            share = sums.calls / max(1, totals.calls)
            rows.append([Link(cut_line(name, 80) or "(no name)", href, sums.tool), *_figures(sums, share)])
    return Table(_TOOLS, rows, ["All", *_figures(totals, None)], headings=headings)


def _figures(sums: ToolSums, share: float | None) -> Sequence[Any]:
    rate = sums.errors / sums.calls if sums.calls else 0
    lines = sums.lines_added, sums.lines_removed
    return (
        sums.calls,
        share,
        sums.errors or _NONE,
        Link(100 * rate, css="bad" if rate >= _BAD else "") if sums.errors else _NONE,
        sums.median_ms,
        sums.p95_ms,
        sums.duration_ms if sums.timed_calls else None,
        lines if any(lines) else None,
        sums.sessions,
        Link(sums.last_at, title=f"first {full(sums.first_at)}, last {full(sums.last_at)}"),
    )


ROUTES = [Route("/tools", shared(show))]
