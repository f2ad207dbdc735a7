"""`hansard status`."""

from __future__ import annotations

import click

from hansard.cli.context import Command, Context, now, pass_context, reads


@click.command(cls=Command)
@reads
@pass_context
def status(cli: Context) -> None:
    """Show the store, its sources, and what the client's clean-up deletes next.

    Examples:
      hansard status
      hansard status --json
    """
    with cli.reading(early=True, waits=False) as h:
        answer = h.status(as_synced=True)
    if cli.as_json:
        cli.emit(answer)
    else:
        from hansard.render.terminal.health import status_lines

        cli.say(status_lines(answer, now(), cli.width(), cli.paint(), syncing=cli.syncing))
