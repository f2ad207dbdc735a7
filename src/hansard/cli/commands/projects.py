"""`hansard projects`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from hansard.cli.context import Command, Context, note, pass_context, reads
from hansard.cli.request_options import limit_option, sort_option, takes
from hansard.model.requests import ProjectsRequest
from hansard.model.table import Column, Kind, Table
from hansard.render.format import project_name
from hansard.render.terminal.tables import draw_table

if TYPE_CHECKING:
    from hansard.model.sessions import Project


_PROJECTS = (
    Column("LAST", Kind.TIME),
    Column("PROJECT", Kind.PROJECT),
    Column("SESSIONS", Kind.ROUNDED),
    Column("PROMPTS", Kind.ROUNDED, rank=2),
    Column("TOOLS", Kind.ROUNDED, rank=4),
    Column("OUT", Kind.ROUNDED, rank=3),
    Column("COST", Kind.MONEY, rank=1),
    Column("LINES", Kind.ROUNDED_LINES, rank=5),
    Column("PATH", least=20, rank=6, style="dim"),
)


_SORTS: dict[str, Callable[[Project], Any]] = {
    "last": lambda item: item.last_at,
    "project": lambda item: item.project,
    "sessions": lambda item: item.sessions,
    "prompts": lambda item: item.prompts,
    "tools": lambda item: item.tool_calls,
    "output": lambda item: item.output_tokens,
    "cost": lambda item: -1 if item.cost_usd is None else item.cost_usd,
    "lines": lambda item: item.lines_added + item.lines_removed,
}


@click.command(cls=Command)
@click.argument("text", required=False)
@takes(ProjectsRequest, "since until", sort_option(_SORTS, "last"), "reverse", limit_option(0))
@reads
@pass_context
def projects(cli: Context, request: ProjectsRequest, sort: str, reverse: bool, limit: int) -> None:
    """List projects and what happened in them; TEXT is a part of the path.

    Examples:
      hansard projects
      hansard projects tide --since 2w
      hansard projects --sort cost -n 10
      hansard projects --json
    """
    with cli.reading() as h:
        found = h.projects(request)
    if sort != "last":
        names = cli.names
        by_name = sort == "project"
        found.sort(
            key=(lambda item: project_name(item.project, names).casefold()) if by_name else _SORTS[sort],
            reverse=not by_name,
        )
    total = len(found)
    found = (found[::-1] if reverse else found)[: limit or None]
    if cli.as_json:
        cli.emit({"projects": found})
    elif found:
        rows = [_project_row(item) for item in found]
        cli.say(draw_table(Table(_PROJECTS, rows), cli.width(), cli.paint(), cli.cells()))
    if len(found) < total and not cli.as_json:
        note(f"{len(found):,} of {total:,} projects; --limit 0 shows all")
    if not found:
        note("hansard: no project matches")
        raise click.exceptions.Exit(1)


def _project_row(item: Project) -> tuple[Any, ...]:
    return (
        item.last_at,
        item.project,
        item.sessions,
        item.prompts,
        item.tool_calls,
        item.output_tokens,
        item.cost_usd,
        (item.lines_added, item.lines_removed),
        item.project,
    )
