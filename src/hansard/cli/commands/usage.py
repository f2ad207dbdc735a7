"""`hansard usage` and `explain`: tokens and cost, and what a figure consists of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from msgspec.structs import replace

from hansard.cli.arguments import QueryCommand
from hansard.cli.context import Command, Context, none_found, note, now, reads
from hansard.cli.request_options import (
    CSV,
    LEDGER_FILTERS,
    OFFLINE,
    ORDER,
    filter_line,
    limit_option,
    note_rest,
    takes,
    typed_query,
    zone_of,
)
from hansard.errors import UsageError
from hansard.model.requests import DIMENSIONS, ExplainRequest, UsageRequest
from hansard.render.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from hansard.config import Settings
    from hansard.model.calendar import Zone
    from hansard.model.ledger import Budget, UsageReport
    from hansard.render.format import ProjectNames


_PICTURES = ("bars", "calendar", "share")
_FILES = (".png", ".svg")
_DRAWN_BY = {None: "day", "bars": "day,model", "calendar": "day", "share": "model"}


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@takes(
    UsageRequest,
    click.option("--by", metavar="WHAT", help=f"Group rows by: {', '.join(DIMENSIONS)}; several with commas. [day]"),
    f"{LEDGER_FILTERS} mode breakdown work sort reverse",
    ORDER,
    limit_option(0, text="Show at most N rows, the latest if they are periods; the total covers all."),
    CSV,
    OFFLINE,
    click.option("--check", is_flag=True, help="Report only the configured budgets; exit with 1 if one is exceeded."),
    click.option("--chart", type=click.Choice(_PICTURES), help="Draw a chart instead of the table."),
    click.option("--plot", metavar="FILE", help="Write the chart to a .png or .svg file."),
)
@reads
def usage(
    cli: Context,
    request: UsageRequest,
    reverse: bool,
    order: str | None,
    limit: int,
    as_csv: bool,
    check: bool,
    chart: str | None,
    plot: str | None,
) -> None:
    """Report tokens and cost by day, model, project or anything else.

    QUERY takes dates and periods (2026-05, yesterday, last-week) and the fields of `hansard search` (model:opus).
    To count only sessions that contain some words, use --match. Each API message counts once, at the price of its own
    day, even if several lines, forks or copies contain it.

    Examples:
      hansard usage --since 30d
      hansard usage --by month,model
      hansard usage --by session --sort cost -n 10
      hansard usage --by project 2026-05 -model:haiku
      hansard usage --by week --breakdown --work
      hansard usage --chart calendar
      hansard usage --csv > usage.csv
      hansard usage --check
    """
    settings = cli.settings()
    ctx = click.get_current_context()
    by: str | None = ctx.params["by"]
    if cli.as_json and as_csv:
        raise UsageError("--json and --csv cannot be used together")
    if check:
        # `daily` and its like have a default of their own.
        is_named = by is not None and ctx.get_parameter_source("by") is ParameterSource.COMMANDLINE
        bare = UsageRequest(timezone=request.timezone, now=request.now, mode=request.mode)
        others = (order, chart, plot, limit or None, reverse or None)
        if is_named or replace(request, by=bare.by) != bare or any(value is not None for value in others):
            raise UsageError("--check reports the configured budgets and takes no other options")
        _check(cli, settings, request, as_csv=as_csv)
        return
    if as_csv and request.breakdown:
        raise UsageError(
            "--csv and --breakdown cannot be used together: add model to --by instead, e.g. --by day,model"
        )
    if plot is not None and not plot.lower().endswith(_FILES):
        raise UsageError(f"--plot needs a file name that ends in {' or '.join(_FILES)}, not {plot!r}")
    kind = chart or ("bars" if plot is not None else None)
    ascending = None if order is None else order == "asc"
    with cli.reading(settings, early=not as_csv and plot is None) as h:
        request = replace(request, by=_DRAWN_BY[kind] if by is None else by, ascending=ascending, repository=_here())
        report = h.usage(request)
        budgets = h.budgets(settings.limits, timezone=request.timezone, now=now()) if settings.limits else []
    if report.rows and kind is not None:
        _picture(cli, report, kind, zone_of(request), plot, shown=chart is not None and not cli.as_json and not as_csv)
    if kind is None or cli.as_json or as_csv:
        known = budgets if settings.limits else None
        answer_usage(cli, report, request, known, filter_line(typed_query()), limit, reverse=reverse, as_csv=as_csv)
    if not report.rows:
        cli.tell_coverage()
        from hansard.render.reports import nothing_found

        none_found(nothing_found(report))


def usage_by(name: str, by: str) -> click.Command:
    """The same command under another name, grouped by `by` unless `--by` says otherwise."""
    from copy import copy

    command = copy(usage)
    command.name = name
    command.params = [copy(param) for param in usage.params]
    for param in command.params:
        if param.name == "by":
            param.default = by
    command.help = f"""Report tokens and cost by {by}: short for `hansard usage --by {by}`.

    All options of `hansard usage` apply.

    Examples:
      hansard {name}
      hansard {name} 2026-05
      hansard {name} --since 20260501 --until 20260531
      hansard {name} --breakdown --order desc
      hansard {name} --json
    """
    return command


def _here() -> str | None:
    """The current directory, which may be a clone of a project; None if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def answer_usage(
    cli: Context,
    report: UsageReport,
    request: UsageRequest,
    budgets: list[Budget] | None = None,
    filters: Sequence[str] = (),
    limit: int = 0,
    *,
    reverse: bool = False,
    as_csv: bool = False,
) -> None:
    """Answer with a report, as JSON, as CSV or as a table with the budgets that are nearly used up."""
    found = len(report.rows)
    report = _shortened(report, request, limit, reverse=reverse)
    if cli.as_json:
        from hansard.model.serialize import plain

        cli.emit(report if budgets is None else {**plain(report), "budgets": budgets})
    elif as_csv:
        from hansard.cli.output.pager import write_bytes
        from hansard.export.sheets import usage_sheet

        write_bytes(usage_sheet(report))
    elif found:
        _show(cli, report, budgets or (), request, filters)
        note_rest(cli, report.rows, found, "rows (the total covers all)")


def _shortened(report: UsageReport, request: UsageRequest, limit: int, *, reverse: bool) -> UsageReport:
    """A report with at most `limit` rows, the latest if they are in the order of times."""
    from hansard.ledger.dimensions import TIMES

    first, rows = report.by[0], report.rows
    if limit and first in TIMES and request.sort in (None, "key"):
        latest = sorted(range(len(rows)), key=lambda number: rows[number].key[first] or "", reverse=True)[:limit]
        rows = tuple(rows[number] for number in sorted(latest))
    return replace(report, rows=(rows[::-1] if reverse else rows)[: limit or None])


def _show(
    cli: Context, report: UsageReport, budgets: Sequence[Budget], request: UsageRequest, filters: Sequence[str]
) -> None:
    from hansard.render.terminal.costs import budget_lines, usage_table
    from hansard.render.terminal.tables import note_lines

    columns, paint = cli.width(), cli.paint()
    more = [*filters, *([f"times in {report.timezone}"] if request.timezone is not None else [])]
    table = usage_table(report, zone_of(request), cli.names, columns, more)
    lines = cli.draw(table, cut=True)
    if urgent := [item for item in budgets if item.is_pressing]:
        lines += ["", *budget_lines(urgent, cli.names, columns, paint)]
    cli.say([*lines, "", *note_lines(table.notes, columns, paint)])


def _picture(cli: Context, report: UsageReport, kind: str, zone: Zone, path: str | None, *, shown: bool) -> None:
    today = zone.local(now()).date()
    if path is not None:
        save_chart(path, kind, report, cli.names, today)
        note(f"written to {path}")
    if shown:
        from hansard.render.terminal.charts import draw

        cli.say(draw(kind, report, cli.names, cli.chart_width(), cli.paint(), today))


def _check(cli: Context, settings: Settings, request: UsageRequest, *, as_csv: bool) -> None:
    if as_csv:
        raise UsageError("--check cannot write CSV; use --json")
    if not settings.limits:
        from hansard.directories import config_path

        raise UsageError(
            f"no budget is set: to set one, add for example [budgets] and below it day = 20 to {config_path()}"
        )
    with cli.reading(settings) as h:
        budgets = h.budgets(settings.limits, timezone=request.timezone, now=now())
    show_budgets(cli, budgets)


def show_budgets(cli: Context, budgets: list[Budget]) -> None:
    """Show all budgets; exit with 1 if one is exceeded."""
    if cli.as_json:
        cli.emit({"budgets": budgets})
    else:
        from hansard.render.terminal.costs import budget_lines

        cli.say(budget_lines(budgets, cli.names, cli.width(), cli.paint()))
    if any(item.state == "over" for item in budgets):
        raise click.exceptions.Exit(1)


@click.command(cls=Command)
@click.argument("what", nargs=-1, metavar="[TARGET|KEY...]")
@takes(
    ExplainRequest,
    click.option(
        "--by", metavar="WHAT", help=f"KEY is a row of this report: {', '.join(DIMENSIONS)}; several with commas."
    ),
    f"query {LEDGER_FILTERS} mode",
    limit_option(20, text="Show at most this many messages, the most expensive first; 0 shows all."),
)
@reads
def explain(cli: Context, request: ExplainRequest, what: tuple[str, ...]) -> None:
    """Trace any figure to the lines, rates and arithmetic behind it.

    TARGET is a session, a time as reports print it, a message id, or the uuid of a line. With --by, give the KEY of a
    row in that report: one value per dimension, in order, and - for unknown. With neither, everything is explained.

    Examples:
      hansard explain @last
      hansard explain 2026-05-01
      hansard explain 2026-W18 --project tidewater
      hansard explain msg_01XFDUDYJgAACzvnptvVoYEL
      hansard explain --by day,model 2026-05-01 claude-opus-4-6
      hansard explain --by branch - --since 30d -n 0
      hansard explain --since 7d --json
    """
    key = [None if value in ("", "-") else value for value in what] if request.by is not None else what
    with cli.reading() as h:
        explanation = h.explain(replace(request, key=key, repository=_here()))
    if cli.as_json:
        cli.emit(explanation)
        return
    from hansard.render.terminal.explanation import lay_out

    cli.say(lay_out(explanation, zone_of(request), cli.names, cli.width(), cli.paint()))
    if explanation.messages:
        note_rest(cli, explanation.messages, explanation.figure.api_messages, "messages")


_ZOOM = 2  # pixels of a PNG for each of the SVG


def save_chart(path: str, kind: str, report: UsageReport, projects: ProjectNames, today: date) -> None:
    """Draw a report into a .png or .svg file, written atomically."""
    from hansard.render.charts.figure import FIGURES

    def draw() -> str:
        if not report.rows:
            raise UsageError("no usage to plot")
        return FIGURES[kind](report, projects, today)

    write_drawing(path, draw)


def write_drawing(path: str, draw: Callable[[], str]) -> None:
    """Write an SVG document into a .png or .svg file."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in _FILES:
        raise UsageError(f"{one_line(path)}: the file name must end in {' or '.join(_FILES)}")
    from hansard.export.files import NotWritten, write_file

    drawing = draw()
    content = _png(drawing) if ending == ".png" else drawing.encode()
    try:
        write_file(path, [content])
    except NotWritten as error:
        reason = getattr(error.__cause__, "strerror", None) or error.__cause__
        raise UsageError(f"{one_line(path)} cannot be written: {reason}; choose another file") from error


def _png(drawing: str) -> bytes:
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise UsageError(
            "PNG files need resvg-py, which is not installed; add it with: pip install 'hansard[plot]',"
            " or write an .svg file"
        ) from error
    return bytes(svg_to_bytes(svg_string=drawing, zoom=_ZOOM))
