"""`hansard sessions`, `projects` and `related`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from hansard.cli.arguments import QueryCommand, choose_session
from hansard.cli.context import Command, Context, none_found, reads
from hansard.cli.output.session_table import session_table
from hansard.cli.request_options import (
    SESSION_FILTERS,
    limit_option,
    note_rest,
    read_page,
    reversed_order,
    show_page,
    sort_option,
    takes,
)
from hansard.model.requests import ProjectsRequest, SessionsRequest
from hansard.model.table import Column, Cost, Kind, Table
from hansard.render.format import many, project_name
from hansard.render.text import one_line, short_id, wrap

if TYPE_CHECKING:
    from hansard.model.sessions import Project, Related


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1)
@takes(SessionsRequest, *SESSION_FILTERS, "debris sort reverse limit page cursor")
@reads
def sessions(cli: Context, request: SessionsRequest, reverse: bool, page: int) -> None:
    """List sessions, newest first; QUERY selects them in the language of `hansard search`.

    All words must occur in the same message; fields filter whole sessions.

    Examples:
      hansard sessions --since 7d --project tidewater
      hansard sessions 'flaky login -tool:WebFetch'
      hansard sessions 'file:parser.py is:error since:30d'
      hansard sessions --tool WebFetch --errors
      hansard sessions --sort tokens -n 10
      hansard sessions --gone --json
    """
    with cli.reading(early=True) as h:
        found = read_page(h.sessions, reversed_order(request) if reverse else request, page)
        progress = h.sync_progress()
        secrets = {} if cli.as_json else h.secret_counts()
    listed = found.sessions
    show_page(cli, found, listed, lambda: cli.draw(session_table(listed, secrets=secrets)), "sessions", page)
    if not found.sessions:
        cli.tell_coverage()
        none = f"no sessions so far: {progress.words}" if progress else "no session matches"
        none_found(none if found.total == 0 else "no more sessions")


_PROJECTS = (
    Column("LAST", Kind.TIME),
    Column("PROJECT", Kind.PROJECT),
    Column("SESSIONS", Kind.ROUNDED),
    Column("PROMPTS", Kind.ROUNDED, rank=2),
    Column("TOOLS", Kind.ROUNDED, rank=4),
    Column("OUT", Kind.ROUNDED, rank=3),
    Column("COST", Kind.COST, rank=1),
    Column("LINES", Kind.ROUNDED_LINES, rank=5),
    Column("PATH", Kind.PATH, least=20, rank=6, style="dim"),
)


_SORTS: dict[str, Callable[[Project], Any]] = {
    "last": lambda item: item.last_at,
    "project": lambda item: item.project,
    "sessions": lambda item: item.sessions,
    "prompts": lambda item: item.prompts,
    "tools": lambda item: item.tool_calls,
    "output": lambda item: item.output_tokens or 0,
    "cost": lambda item: -1 if item.cost_usd is None else item.cost_usd,
    "lines": lambda item: item.lines_added + item.lines_removed,
}


@click.command(cls=Command)
@click.argument("text", required=False)
@takes(ProjectsRequest, "since until", sort_option(_SORTS, "last"), "reverse", limit_option(0))
@reads
def projects(cli: Context, request: ProjectsRequest, sort: str, reverse: bool, limit: int) -> None:
    """List projects and what happened in them; TEXT is a part of the path, or fields such as client:codex.

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
        cli.say(cli.draw(Table(_PROJECTS, [_project_row(item) for item in found])))
    note_rest(cli, found, total, "projects")
    if not found:
        none_found("no project matches")


def _project_row(item: Project) -> tuple[Any, ...]:
    return (
        item.last_at,
        item.project,
        item.sessions,
        item.prompts,
        item.tool_calls,
        item.output_tokens,
        None if item.has_no_usage else Cost(item.cost_usd, item.lower_bound_messages > 0, bool(item.unpriced_models)),
        (item.lines_added, item.lines_removed),
        item.project,
    )


_COLUMNS = (
    Column("WHEN", Kind.TIME),
    Column("ID", Kind.ID),
    Column("PROJECT", Kind.PROJECT, rank=1),
    Column("TITLE", Kind.TITLE, least=28),
)
_INDENT = "    "
_NAMES = 3
_RELATIONS = {
    "continued_in": "continuation",
    "clear": "across a /clear",
    "context": "context of the other",
    "summary": "title in the other's file",
}


@click.command(cls=Command)
@click.argument("session", required=False)
@limit_option(10)
@reads
def related(cli: Context, session: str | None, limit: int) -> None:
    """List sessions like this one, the most alike first, and why: links, shared files, shared words.

    Examples:
      hansard related @last
      hansard related 'flaky login' -n 3
      hansard related 3f2a91 --json
    """
    session = choose_session(cli, session)
    with cli.reading() as h:
        chosen = h.session(session)
        found = h.related(chosen.session_id, limit=limit or None)
    if cli.as_json:
        cli.emit({"session": chosen, "related": found})
    elif found:
        cli.say(_lines(cli, found))
    if not found:
        title = one_line(chosen.title[:60]) or short_id(chosen.session_id)
        none_found(f"no session is related to {title!r}")


def _lines(cli: Context, found: Sequence[Related]) -> Iterator[str]:
    paint = cli.paint()
    rows = [(one.ended_at, one.session_id, one.project, one.title) for one in (item.session for item in found)]
    header, *lines = cli.draw(Table(_COLUMNS, rows))
    yield header
    for line, item in zip(lines, found, strict=True):
        yield line
        yield from (paint(_INDENT + piece, "dim") for piece in wrap(_why(item), cli.width() - len(_INDENT)))


def _why(item: Related) -> str:
    reasons = [_RELATIONS.get(relation, one_line(relation)) for relation in item.links]
    if item.files:
        names = ", ".join(project_name(path, {}) for path in item.files[:_NAMES])
        reasons.append(f"{many(item.shared_files, 'file')}: {names}")
    if item.words:
        reasons.append(f"words: {' '.join(one_line(word) for word in item.words)}")
    return " · ".join(reasons)
