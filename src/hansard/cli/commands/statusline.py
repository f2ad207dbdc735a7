"""`hansard statusline`."""

from __future__ import annotations

import sys

import click

from hansard.cli.context import Command, Context, pass_context, reads
from hansard.cli.fast_start import read_input
from hansard.cli.statusline.line import DEFAULT, PLACES, ClientInput, is_sound, misspelled
from hansard.cli.statusline.run import EVERY, Options, run, start_refresh
from hansard.errors import UsageError


@click.command(cls=Command)
@click.option("--format", "form", metavar="TEXT", help=f"What to print: {', '.join(f'{{{name}}}' for name in PLACES)}.")
@click.option(
    "--every",
    type=click.IntRange(0, 3599),
    default=EVERY,
    show_default=True,
    metavar="SECONDS",
    help="Minimum time between syncs.",
)
@click.option("--script", is_flag=True, help="Print a shell script that does the same faster, for many sessions.")
@click.option(
    "--refresh", is_flag=True, help="Write the snapshot and the lines of the shell script, and sync; print nothing."
)
@reads
@pass_context
def statusline(cli: Context, form: str | None, every: int, script: bool, refresh: bool) -> None:
    """Print current spending as one line, for the client's status line.

    Reads the JSON that the client writes to a status line's stdin, and always prints a line. The store is brought up to
    date afterwards, in the background.

    Examples:
      hansard statusline < client.json
      hansard statusline --format '{model} · {today} today · {budget}'
      hansard statusline --script > ~/.config/hansard/statusline.sh
    """
    options = Options()
    options.home, options.roots, options.follow_links, options.color = (
        cli.home,
        cli.roots,
        cli.follow_links,
        cli.color,
    )
    options.form, options.every, options.no_sync, options.refresh = form or None, every, cli.no_sync, refresh
    if form is not None and not is_sound(form):
        unknown = misspelled(form)
        what = f"unknown name {{{unknown[0]}}}" if unknown else "braces enclose names; {{ is a literal {"
        raise UsageError(f"--format: {what}; use one of {', '.join(PLACES)}. The default is '{DEFAULT}'")
    if script:
        from hansard.cli.statusline.script import make_script

        click.echo(make_script(options), nl=False)
    elif cli.as_json and not refresh:
        _emit(cli, options)
    else:
        run(options, sys.stdin)


def _emit(cli: Context, options: Options) -> None:
    settings = cli.settings()
    session_id = ClientInput(read_input(sys.stdin)).session_id
    with cli.engine(settings) as h:
        cli.emit(h.current(session_id, limits=settings.limits, timezone=settings.timezone))
    if not options.no_sync:
        start_refresh(options, settings.home)
