"""`hansard statusline`, and the shell script that can run it for many sessions at once."""

from __future__ import annotations

import os
import sys
from shlex import join, quote

import click

from hansard.cli.background import START
from hansard.cli.context import Command, Context, reads
from hansard.cli.fast_start import read_input
from hansard.cli.statusline.line import DEFAULT, PLACES, ClientInput, is_sound, misspelled
from hansard.cli.statusline.run import EVERY, Options, run, start_refresh
from hansard.cli.statusline.snapshot import BUSY, SPOOL
from hansard.directories import data_directory
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
    options.home, options.roots, options.follow_links = cli.home, cli.roots, cli.follow_links
    options.color, options.no_sync = cli.color, cli.no_sync
    options.form, options.every, options.refresh = form or None, every, refresh
    if form is not None and not is_sound(form):
        unknown = misspelled(form)
        what = f"unknown name {{{unknown[0]}}}" if unknown else "braces enclose names; {{ is a literal {"
        raise UsageError(f"--format: {what}; use one of {', '.join(PLACES)}. The default is '{DEFAULT}'")
    if script:
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


_PATIENCE = 100

_SCRIPT = r"""#!/bin/sh
# Made by `hansard statusline --script`. Shows the line that was last written for this session, and has the next one
# written in the background: by one process for all sessions, since starting Python for each would take too long.
umask 077
dir=@DIR@
hansard() { exec @COMMAND@ "$@" @OPTIONS@; }

said=
while IFS= read -r part || [ -n "$part" ]; do said=$said$part; done
case $said in
*'"session_id":'*) id=${said#*'"session_id":'} id=${id#*\"} id=${id%%\"*} ;;
*) id= ;;
esac
case $id in '' | *[!0-9A-Za-z_-]*) id=none ;; esac
[ ${#id} -le 64 ] || id=none

line=
if [ -r "$dir/$id.line" ] && IFS= read -r line <"$dir/$id.line" && [ -n "$line" ]; then
    printf '%s\n' "$line"
else
    [ -d "$dir" ] || mkdir -p "$dir" 2>/dev/null
    printf '%s' "$said" | (hansard --no-sync)
fi
[ -w "$dir" ] || exit 0
printf '%s' "$said" >"$dir/$id.in"

# One refresh at a time. Its number is in a file that only one shell can create; should it have died without removing
# that, or another process have got its number since, somebody tries again.
set -C
if ! { printf '%s\n' "$$" >"$dir/@BUSY@"; } 2>/dev/null; then
    pid= tries=
    { IFS= read -r pid <"$dir/@BUSY@"; IFS= read -r tries <"$dir/tries"; } 2>/dev/null
    case $tries in '' | *[!0-9]* | ??????*) tries=0 ;; esac
    case $pid in *[!0-9]*) pid= ;; esac
    if [ "$tries" -lt @PATIENCE@ ] && { [ -z "$pid" ] || kill -0 "$pid" 2>/dev/null; }; then
        printf '%s\n' "$((tries + 1))" >|"$dir/tries"
        exit 0
    fi
fi
printf '0\n' >|"$dir/tries"
hansard --refresh </dev/null >/dev/null 2>&1 &
printf '%s\n' "$!" >|"$dir/@BUSY@"
"""


def make_script(options: Options) -> str:
    """The script for these options, this Python and this data directory."""
    home = data_directory(options.home, os.environ)
    values = {
        "@DIR@": quote(os.path.join(home, SPOOL)),
        "@COMMAND@": join([sys.executable, "-P", "-c", START, "statusline"]),
        "@OPTIONS@": join(options.arguments(home)),
        "@BUSY@": BUSY,
        "@PATIENCE@": str(_PATIENCE),
    }
    text = _SCRIPT
    for place, value in values.items():
        text = text.replace(place, value)
    return text
