"""`hansard sessions`."""

from __future__ import annotations

from typing import Any

import click

from hansard.cli.context import Context, note, now, pass_context, reads
from hansard.cli.output.session_table import session_table
from hansard.cli.query_arguments import QueryCommand
from hansard.cli.session_filters import session_filters
from hansard.query.sessions import SORTS


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1)
@session_filters
@click.option("--all", "debris", is_flag=True, help="Also those in which nothing was said.")
@click.option("--sort", type=click.Choice(list(SORTS)), default="ended", show_default=True, help="What to order by.")
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="How many at most; 0: all.")
@click.option("--cursor", metavar="CURSOR", help="Go on where a page ended: next_cursor of --json.")
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
    with cli.reading() as h:
        page = h.sessions(
            " ".join(query) or None,
            debris=debris,
            sort=sort,
            ascending=(sort not in ("title", "project")) if reverse else None,
            limit=limit or None,
            cursor=cursor,
            **conditions,
        )
        progress = h.sync_progress()
    if cli.as_json:
        cli.emit(page)
    elif page.sessions:
        cli.say(session_table(page.sessions, now(), cli.width(), cli.paint()))
        if page.next_cursor is not None:
            note(f"{len(page.sessions):,} of {page.total:,} sessions; --limit 0 shows all")
    if not page.sessions:
        none = f"no session so far: {progress.words}" if progress else "no session fits"
        note(f"hansard: {none if page.total == 0 else 'no further session'}")
        raise click.exceptions.Exit(1)
