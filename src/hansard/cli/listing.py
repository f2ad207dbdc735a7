"""`hansard sessions` and `hansard projects`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from hansard.cli.asking import Asking
from hansard.cli.dates import Moment
from hansard.cli.front import Command, Front, note, now, pass_front, reads
from hansard.cli.money import aligned
from hansard.cli.tables import Column, table
from hansard.cli.terminal import Paint, one_line
from hansard.cli.words import model_name, project_name, short, when
from hansard.query.sessions import SORTS
from hansard.render.money import cost as marked_cost
from hansard.render.money import dollars

if TYPE_CHECKING:
    from hansard.model import Project, Session

_SESSIONS = (
    Column("WHEN", style="dim"),
    Column("ID", style="cyan"),
    Column("PROJECT", least=8, rank=1, style="green"),
    Column("TITLE", least=28),
    Column("PROMPTS", right=True, rank=2),
    Column("TOOLS", right=True, rank=5),
    Column("OUT", right=True, rank=6),
    Column("COST", right=True, rank=4),
    Column("BRANCH", least=8, rank=8, style="dim"),
    Column("MODEL", least=8, rank=7, style="dim"),
    Column("", rank=3, style="yellow"),
)
_TAGS = Column("TAGS", least=8, rank=5, style="magenta")
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


@click.command(cls=Asking)
@click.argument("query", nargs=-1)
@click.option("--project", metavar="TEXT", help="Of this project: a path or a part of one.")
@click.option("--since", type=Moment(), help="Active at or after: a date, 7d, 24h, 2w, today, yesterday.")
@click.option("--until", type=Moment(end=True), help="Begun before the end of that day, or before that time.")
@click.option("--branch", metavar="TEXT", help="On a git branch whose name contains this.")
@click.option("--model", metavar="TEXT", help="With a model whose name contains this.")
@click.option("--tool", metavar="NAME", help="That called this tool, in any case.")
@click.option("--client-version", metavar="VERSION", help="Written by this version of the client.")
@click.option("--text", metavar="WORDS", help="With all these words in the title or the first prompt.")
@click.option("--errors", is_flag=True, help="In which a tool or the API failed.")
@click.option("--gone", is_flag=True, help="Whose files the client has deleted; they are kept here.")
@click.option("--all", "debris", is_flag=True, help="Also those in which nothing was said.")
@click.option("--sort", type=click.Choice(list(SORTS)), default="ended", show_default=True, help="What to order by.")
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="How many at most; 0: all.")
@click.option("--cursor", metavar="CURSOR", help="Go on where a page ended: next_cursor of --json.")
@reads
@pass_front
def sessions(
    front: Front,
    query: tuple[str, ...],
    project: str | None,
    since: datetime | None,
    until: datetime | None,
    branch: str | None,
    model: str | None,
    tool: str | None,
    client_version: str | None,
    text: str | None,
    errors: bool,
    gone: bool,
    debris: bool,
    sort: str,
    reverse: bool,
    limit: int,
    cursor: str | None,
) -> None:
    """List sessions, the newest first; QUERY selects them in the language of `hansard search`.

    Words must stand together in some text of the session; fields are asked of the session as a whole.

    Examples:
      hansard sessions --since 7d --project tidewater
      hansard sessions 'flaky login -tool:WebFetch'
      hansard sessions 'file:parser.py is:error since:30d'
      hansard sessions --tool WebFetch --errors
      hansard sessions --sort tokens --limit 10
      hansard sessions --gone --json
    """
    with front.reading() as h:
        page = h.sessions(
            " ".join(query) or None,
            project=project,
            since=since,
            until=until,
            branch=branch,
            model=model,
            tool=tool,
            version=client_version,
            text=text,
            has_errors=errors,
            source_state="gone" if gone else None,
            debris=debris,
            sort=sort,
            ascending=(sort not in ("title", "project")) if reverse else None,
            limit=limit or None,
            cursor=cursor,
        )
    if front.as_json:
        front.emit(page)
    elif page.sessions:
        front.say(session_table(page.sessions, now(), front.width(), front.paint()))
        if page.next_cursor is not None:
            note(f"{len(page.sessions):,} of {page.total:,} sessions; --limit 0 shows all")
    if not page.sessions:
        note("hansard: no session fits" if page.total == 0 else "hansard: no further session")
        if typo := sessions.meant(query):
            note(typo)
        raise click.exceptions.Exit(1)


def session_table(found: Sequence[Session], moment: datetime, columns: int, paint: Paint) -> list[str]:
    """The lines of a table of sessions."""
    rows = [
        (
            when(session.ended_at, moment),
            one_line(session.session_id[:8]),
            project_name(session.project),
            f"{'◆ ' * session.pinned}{one_line(session.title[:400]) or '(untitled)'}",
            short(session.prompts),
            short(session.tool_calls),
            short(session.output_tokens),
            cost,
            one_line(session.branch),
            model_name(session.models[0]) if session.models else "",
            "gone" if session.source_state == "gone" else "",
        )
        for session, cost in zip(found, aligned([_cost(session) for session in found]), strict=True)
    ]
    if not any(session.tags for session in found):
        return table(_SESSIONS, rows, columns, paint)
    tagged = [(*row, one_line(" ".join(session.tags))) for row, session in zip(rows, found, strict=True)]
    return table((*_SESSIONS, _TAGS), tagged, columns, paint)


def _cost(session: Session) -> str:
    bounds, unpriced = session.lower_bound_messages > 0, bool(session.unpriced_models)
    return marked_cost(session.cost_usd, lower_bound=bounds, unpriced=unpriced)


@click.command(cls=Command)
@click.argument("text", required=False)
@click.option("--since", type=Moment(), help="With sessions active at or after: a date, 7d, 24h, 2w, today, yesterday.")
@click.option(
    "--until", type=Moment(end=True), help="With sessions begun before the end of that day, or before that time."
)
@reads
@pass_front
def projects(front: Front, text: str | None, since: datetime | None, until: datetime | None) -> None:
    """List projects and what happened in them; TEXT is a part of the path.

    Examples:
      hansard projects
      hansard projects tide --since 2w
      hansard projects --json
    """
    with front.reading() as h:
        found = h.projects(since=since, until=until, text=text)
    if front.as_json:
        front.emit({"projects": found})
    elif found:
        front.say(table(_PROJECTS, [_project_row(item) for item in found], front.width(), front.paint()))
    if not found:
        note("hansard: no project fits")
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
