"""`hansard rebuild`."""

from __future__ import annotations

import click

from hansard.cli.commands.sync import report_sync
from hansard.cli.context import (
    Command,
    Context,
    common,
    has_store,
    pass_context,
)
from hansard.cli.output.progress import SyncBar
from hansard.errors import NotFound


@click.command(cls=Command)
@common
@pass_context
def rebuild(cli: Context) -> None:
    """Rebuild both indexes from the record; the sources are not read.

    The indexes hold nothing that the record does not: use this when one is damaged.

    Examples:
      hansard rebuild
      hansard rebuild --json
    """
    with cli.engine() as h:
        if not has_store(h):
            raise NotFound(f"nothing has been synced to {h.home} yet: run `hansard sync` first")
        with SyncBar(after=0.3) as bar:
            report = h.rebuild(listener=bar)
    report_sync(cli, report)
