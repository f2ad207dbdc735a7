"""The session that a command is about: its argument, or what the user chooses from a list in the terminal."""

from __future__ import annotations

import os
import sys

import click

from hansard.cli.context import Context
from hansard.errors import UsageError


def choose_session(cli: Context, name: str | None, *, default: str | None = None, missing: str = "") -> str:
    """The name that was given; else the id that is picked in a terminal; else the default, or a usage error without one.

    `missing` is what that error says. With --json a program is asking: nothing is picked.
    """
    if name is not None:
        return name
    if cli.as_json or not _is_interactive():
        if default is None:
            if missing:
                raise UsageError(missing)
            ctx = click.get_current_context()
            raise click.MissingParameter(ctx=ctx, param_hint="'SESSION'", param_type="argument")
        return default
    return _pick(cli)


def _is_interactive() -> bool:
    if os.environ.get("TERM") == "dumb":
        return False
    try:
        return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    except (AttributeError, ValueError):  # closed or replaced
        return False


def _pick(cli: Context) -> str:
    from hansard.cli.commands.tui import start_app

    settings = cli.settings()
    with cli.reading(settings):
        pass
    purpose = click.get_current_context().info_name or "choose"
    chosen = start_app(cli, settings, picks="session", purpose=purpose, is_syncing=False)
    if chosen is None:
        raise click.exceptions.Exit(1)
    return chosen.session_id
