"""`hansard tag`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from hansard.cli.context import Command, Context, pass_context, reads
from hansard.cli.context import note as tell
from hansard.cli.output.session_table import say_remarks
from hansard.errors import UsageError
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.model.sessions import Tagged


@click.command(cls=Command)
@click.argument("session", required=False)
@click.argument("tags", nargs=-1, metavar="[TAG]...")
@click.option("--remove", is_flag=True, help="Remove these tags.")
@reads
@pass_context
def tag(cli: Context, session: str | None, tags: tuple[str, ...], remove: bool) -> None:
    """Give a session tags. Without TAG: its tags; without SESSION: all tags and how many sessions have them.

    A tag is one word of at most 64 characters: no blanks, commas, colons, quotes, stars or parentheses. INFRA and infra are
    the same tag. `tag:infra` finds it, in `search`, `sessions`, `prompts` and `usage`.

    Examples:
      hansard tag @last infra client/acme
      hansard tag @last infra --remove
      hansard tag
      hansard sessions tag:infra
    """
    if remove and not tags:
        raise UsageError("no tags to remove given: hansard tag SESSION TAG... --remove")
    with cli.reading() as h:
        if session is None:
            _say_tags(cli, h.tags())
            return
        found = h.tag(session, *tags, remove=remove) if tags else h.remarks(session)
    if cli.as_json:
        cli.emit(found)
    elif tags:
        say_remarks(cli, [found])
    else:
        cli.say(map(one_line, found.tags))
    if not tags and not found.tags:
        tell("hansard: the session has no tags")
        raise click.exceptions.Exit(1)


def _say_tags(cli: Context, found: Sequence[Tagged]) -> None:
    if cli.as_json:
        cli.emit({"tags": found})
    elif found:
        digits = max(len(f"{item.sessions:,}") for item in found)
        cli.say(f"{item.sessions:>{digits},}  {one_line(item.tag)}" for item in found)
    if not found:
        tell("hansard: no tags yet; add one with `hansard tag SESSION TAG`")
        raise click.exceptions.Exit(1)
