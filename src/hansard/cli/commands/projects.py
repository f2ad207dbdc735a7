"""`hansard projects`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from hansard.cli.context import Command, Context, note, now, pass_context, reads
from hansard.cli.dates import Moment
from hansard.cli.list_options import limit_option, sort_options
from hansard.render.format import dollars, project_name, short, when
from hansard.render.terminal.tables import Column, table
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.model.sessions import Project


_PROJECTS = (
    Column("LAST", style="dim"),
    Column("PROJECT", least=8, style="green"),
    Column("SESSIONS", right=True),
    Column("PROMPTS", right=True, rank=2),
    Column("TOOLS", right=True, rank=4),
    Column("OUT", right=True, rank=3),
    Column("COST", right=True, rank=1),
    Column("LINES", right=True, rank=5),
    Column("PATH", least=20, rank=6, style="dim"),
)


_SORTS: dict[str, Callable[[Project], Any]] = {
    "last": lambda item: item.last_at,
    "project": lambda item: project_name(item.project).casefold(),
    "sessions": lambda item: item.sessions,
    "prompts": lambda item: item.prompts,
    "tools": lambda item: item.tool_calls,
    "output": lambda item: item.output_tokens,
    "cost": lambda item: -1 if item.cost_usd is None else item.cost_usd,
    "lines": lambda item: item.lines_added + item.lines_removed,
}


@click.command(cls=Command)
@click.argument("text", required=False)
@click.option("--since", type=Moment(), help="With sessions active at or after: 2026-05-01, 7d, monday, '3 days ago'.")
@click.option(
    "--until", type=Moment(end=True), help="With sessions begun before the end of that day, or before that time."
)
@sort_options(_SORTS, "last")
@limit_option(0)
@reads
@pass_context
def projects(
    cli: Context,
    text: str | None,
    since: datetime | None,
    until: datetime | None,
    sort: str,
    reverse: bool,
    limit: int,
) -> None:
    """List projects and what happened in them; TEXT is a part of the path.

    Examples:
      hansard projects
      hansard projects tide --since 2w
      hansard projects --sort cost -n 10
      hansard projects --json
    """
    with cli.reading() as h:
        found = h.projects(since=since, until=until, text=text)
    if sort != "last":
        found.sort(key=_SORTS[sort], reverse=sort != "project")
    total = len(found)
    found = (found[::-1] if reverse else found)[: limit or None]
    if cli.as_json:
        cli.emit({"projects": found})
    elif found:
        cli.say(table(_PROJECTS, [_project_row(item) for item in found], cli.width(), cli.paint()))
    if len(found) < total and not cli.as_json:
        note(f"{len(found):,} of {total:,} projects; --limit 0 shows all")
    if not found:
        note("hansard: no project matches")
        raise click.exceptions.Exit(1)


def _project_row(item: Project) -> tuple[str, ...]:
    return (
        when(item.last_at, now()),
        project_name(item.project),
        short(item.sessions),
        short(item.prompts),
        short(item.tool_calls),
        short(item.output_tokens),
        dollars(item.cost_usd),
        f"+{short(item.lines_added)} -{short(item.lines_removed)}",
        one_line(item.project),
    )
