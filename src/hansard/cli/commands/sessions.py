"""`hansard sessions`."""

from __future__ import annotations

from typing import Any

import click

from hansard.cli.context import Context, note, pass_context, reads
from hansard.cli.list_options import limit_option, more_note, page_options, read_page, sort_options
from hansard.cli.output.session_table import session_table
from hansard.cli.query_arguments import QueryCommand
from hansard.cli.session_filters import session_filters
from hansard.model.sessions import SessionPage
from hansard.query.sessions import SORTS


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1)
@session_filters
@click.option("--all", "debris", is_flag=True, help="Include sessions in which nothing was said.")
@sort_options(SORTS, "ended")
@limit_option(50)
@page_options
@reads
@pass_context
def sessions(
    cli: Context,
    query: tuple[str, ...],
    conditions: dict[str, Any],
    debris: bool,
    sort: str,
    reverse: bool,
    limit: int,
    page: int,
    cursor: str | None,
) -> None:
    """List sessions, newest first; QUERY selects them in the language of `hansard search`.

    Words must stand together in some text of the session; fields are asked of the session as a whole.

    Examples:
      hansard sessions --since 7d --project tidewater
      hansard sessions 'flaky login -tool:WebFetch'
      hansard sessions 'file:parser.py is:error since:30d'
      hansard sessions --tool WebFetch --errors
      hansard sessions --sort tokens -n 10
      hansard sessions --gone --json
    """
    with cli.reading(early=True) as h:
        ascending = (sort not in ("title", "project")) if reverse else None
        text = " ".join(query) or None

        def ask(cursor: str | None) -> SessionPage:
            return h.sessions(
                text, debris=debris, sort=sort, ascending=ascending, limit=limit or None, cursor=cursor, **conditions
            )

        found = read_page(ask, page, cursor)
        progress = h.sync_progress()
    if cli.as_json:
        cli.emit(found)
    elif found.sessions:
        cli.say(session_table(found.sessions, cli.cells(), cli.width(), cli.paint()))
        if found.next_cursor is not None:
            note(more_note(len(found.sessions), f"{found.total:,}", "sessions", page))
    if not found.sessions:
        cli.tell_coverage()
        none = f"no session so far: {progress.words}" if progress else "no session matches"
        note(f"hansard: {none if found.total == 0 else 'no more sessions'}")
        raise click.exceptions.Exit(1)
