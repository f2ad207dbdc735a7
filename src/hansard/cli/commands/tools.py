"""`hansard tools`."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from hansard.cli.arguments import QueryCommand
from hansard.cli.context import Context, none_found, now, reads
from hansard.cli.request_options import (
    LEDGER_FILTERS,
    filter_line,
    limit_option,
    note_next,
    read_page,
    sort_option,
    takes,
    typed_query,
)
from hansard.errors import NotFound, UsageError
from hansard.model.calls import TOOL_SORTS
from hansard.model.requests import CallsRequest, ToolsRequest, same_for
from hansard.model.table import Column, Kind, Table
from hansard.render.format import tool_name
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.model.calls import Call, ToolReport, ToolSums

_TOOLS = (
    Column("TOOL", least=12),
    Column("CALLS", Kind.COUNT),
    Column("FAILED", Kind.COUNT),
    Column("FAILED %", Kind.PERCENT, rank=3),
    Column("MEDIAN", Kind.DURATION, rank=2),
    Column("P95", Kind.DURATION, rank=4),
    Column("TIME", Kind.DURATION, rank=1),
    Column("LINES", Kind.ROUNDED_LINES, rank=6),
    Column("SESSIONS", Kind.COUNT, rank=5),
    Column("LAST", Kind.TIME, rank=7),
)
_CALLS = (
    Column("WHEN", Kind.TIME),
    Column("ID", Kind.ID),
    Column("", style="red"),
    Column("TOOK", Kind.DURATION),
    Column("CALL", least=28),
    Column("RESULT", least=20, rank=1, style="dim"),
)


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, type=click.UNPROCESSED, metavar="[TOOL] [QUERY]...")
@takes(
    ToolsRequest,
    LEDGER_FILTERS,
    click.option("--failed", is_flag=True, help="With TOOL: only the calls that failed, and how."),
    click.option("--slowest", is_flag=True, help="With TOOL: the slowest calls first."),
    sort_option(TOOL_SORTS, "calls"),
    "reverse",
    limit_option(None, text="Show at most this many; 0 shows all. All tools by default, but 50 calls of a TOOL."),
    "page cursor",
)
@reads
def tools(
    cli: Context,
    request: ToolsRequest,
    failed: bool,
    slowest: bool,
    sort: str,
    reverse: bool,
    limit: int | None,
    page: int,
    cursor: str | None,
) -> None:
    """Report calls, failures and durations per tool; with a TOOL, list its calls.

    QUERY takes dates and periods (2026-05, last-week) and the fields of `hansard search`. To count only sessions that
    contain some words, use --match. Each call counts once, even if several transcripts contain it.

    Examples:
      hansard tools --since 30d
      hansard tools --sort failed -n 10
      hansard tools Bash --failed
      hansard tools Bash --slowest -n 5
      hansard tools last-week project:tidewater --json
    """
    with cli.reading() as h:
        name, words = _tool(typed_query(), h.field_values("tool", limit=10_000), must=failed or slowest)
        request = replace(request, query=" ".join(words) or None, name=name)
        report = h.tools(request)
        found = None
        if name is not None:
            calls = same_for(
                CallsRequest,
                request,
                name=name,
                kind="errors" if failed else "all",
                sort="slowest" if slowest else "newest",
                subjects=True,
                outputs=failed,
                limit=(50 if limit is None else limit) or None,
                cursor=cursor,
            )
            found = read_page(h.calls, calls, page)
    report = _sorted(report, sort, limit if name is None else None, reverse=reverse)
    if cli.as_json:
        cli.emit(report if found is None else {"tool": report.totals, "calls": found})
    elif report.totals.calls:
        lines = [*cli.draw(_tool_table(report, total=name is None)), *map(one_line, filter_line(words))]
        if found is not None and found.calls:
            lines += ["", *cli.draw(_call_table(found.calls))]
        cli.say(lines)
        if found is not None:
            note_next(cli, found, found.calls, "calls", page)
    if not report.totals.calls or (found is not None and not found.calls):
        none_found("no call matches")


def _tool(query: tuple[str, ...], known: list[str], *, must: bool) -> tuple[str | None, tuple[str, ...]]:
    """The tool named by the first word, ignoring case, and the rest of the query."""
    if query and ":" not in query[0]:
        names = {name.casefold(): name for name in known}
        if (name := names.get(query[0].casefold())) is not None:
            return name, query[1:]
        if _is_period(query[0]):
            return None, query
        near = get_close_matches(query[0].casefold(), names, n=1)
        hint = f"; did you mean {names[near[0]]}?" if near else "; `hansard tools` lists them"
        raise NotFound(f"no tool named {query[0]!r}{hint}")
    if must:
        raise UsageError("--failed and --slowest need a TOOL")
    return None, query


def _is_period(word: str) -> bool:
    from hansard.query.language.periods import parse_report_query

    try:
        parse_report_query(word, now=now())
    except UsageError:
        return False
    return True


def _sorted(report: ToolReport, sort: str, limit: int | None, *, reverse: bool) -> ToolReport:
    tools = sorted(report.tools, key=lambda sums: sums.tool)
    tools.sort(key=TOOL_SORTS[sort], reverse=(sort != "tool") != reverse)
    return replace(report, tools=tuple(tools[: limit or None]))


def _tool_table(report: ToolReport, *, total: bool) -> Table:
    rows = [_row(sums, tool_name(sums.tool)) for sums in report.tools]
    if total:
        rows.append(_row(report.totals, "Total"))
    return Table(_TOOLS, rows)


def _row(sums: ToolSums, name: str) -> tuple[Any, ...]:
    lines = (sums.lines_added, sums.lines_removed)
    return (
        name,
        sums.calls,
        sums.errors or None,
        100 * sums.errors / sums.calls if sums.errors else None,
        sums.median_ms,
        sums.p95_ms,
        sums.duration_ms or None,
        lines if any(lines) else None,
        sums.sessions,
        sums.last_at,
    )


def _call_table(calls: Sequence[Call]) -> Table:
    rows = []
    for call in calls:
        failed = "✗" if call.is_error else None
        rows.append((call.at, call.session_id, failed, call.duration_ms, call.subject or call.path, call.output))
    return Table(_CALLS if any(call.output for call in calls) else _CALLS[:-1], rows)
