"""`hansard pin`."""

from __future__ import annotations

import click

from hansard.cli.context import Command, Context, pass_context, reads
from hansard.cli.output.session_table import say_remarks
from hansard.cli.session_argument import choose_session


@click.command(cls=Command)
@click.argument("session", nargs=-1)
@click.option("--remove", is_flag=True, help="Unpin.")
@reads
@pass_context
def pin(cli: Context, session: tuple[str, ...], remove: bool) -> None:
    """Pin sessions, to find them again with `is:pinned`.

    Examples:
      hansard pin @last
      hansard pin 3f2a91 --remove
      hansard sessions is:pinned
    """
    sessions = session or (choose_session(cli, None),)
    with cli.reading() as h:
        found = h.pin(*sessions, remove=remove)
    if cli.as_json:
        cli.emit({"sessions": found})
    else:
        say_remarks(cli, found)
