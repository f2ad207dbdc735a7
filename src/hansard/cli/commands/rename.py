"""`hansard rename`."""

from __future__ import annotations

import click

from hansard.cli.context import Command, Context, pass_context, reads
from hansard.cli.output.session_table import say_remarks
from hansard.cli.session_argument import choose_session
from hansard.errors import UsageError


@click.command(cls=Command)
@click.argument("session", required=False)
@click.argument("title", nargs=-1)
@click.option("--remove", is_flag=True, help="Restore the original title.")
@reads
@pass_context
def rename(cli: Context, session: str | None, title: tuple[str, ...], remove: bool) -> None:
    """Give a session a title of your own. The transcript is not changed.

    Examples:
      hansard rename @last The week the login broke
      hansard rename @last --remove
    """
    if remove == bool(title):
        raise UsageError("no title given: hansard rename SESSION TITLE..., or --remove")
    session = choose_session(cli, session)
    with cli.reading() as h:
        found = h.rename(session, None if remove else " ".join(title))
    if cli.as_json:
        cli.emit(found)
    else:
        say_remarks(cli, [found])
