"""`hansard sessions`."""

from __future__ import annotations

import click

from hansard.cli.context import Context, note, pass_context, reads
from hansard.cli.output.session_table import session_table
from hansard.cli.query_arguments import QueryCommand
from hansard.cli.request_options import SESSION_FILTERS, more_note, read_page, reversed_order, takes
from hansard.model.requests import SessionsRequest


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1)
@takes(SessionsRequest, *SESSION_FILTERS, "debris sort reverse limit page cursor")
@reads
@pass_context
def sessions(cli: Context, request: SessionsRequest, reverse: bool, page: int) -> None:
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
        found = read_page(h.sessions, reversed_order(request) if reverse else request, page)
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
