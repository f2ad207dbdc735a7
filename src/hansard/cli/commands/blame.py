"""`hansard blame`."""

from __future__ import annotations

import os
import re

import click

from hansard.cli.context import Command, Context, note, now, pass_context, reads
from hansard.errors import UsageError

_LINES = re.compile(r"^(\d{1,9})(?:[-,](\d{1,9}))?$")


@click.command(cls=Command)
@click.argument("target", metavar="FILE[:LINES]|COMMIT")
@click.option("--lines", "-L", metavar="N[-M]", help="Only this line or range of lines; the same as FILE:N-M.")
@click.option(
    "--rev", metavar="COMMIT", help="The file as it was in this commit, branch or tag; default: the working tree."
)
@click.option(
    "--repository", metavar="DIR", help="With COMMIT: a folder in its repository; default: the current directory."
)
@reads
@pass_context
def blame(cli: Context, target: str, lines: str | None, rev: str | None, repository: str | None) -> None:
    """Show which session wrote each line of a file, or each line that a commit added.

    For every line: the commit, the session and its turn, and how sure it is. Below: the prompt, the model, the cost and
    where in the transcript the edit stands. It is worked out from recorded edits and git's own history, so no hook is
    needed, and rebase, squash and rename do no harm.

    Examples:
      hansard blame src/tide/parser.py
      hansard blame src/tide/parser.py:40-60
      hansard blame src/tide/parser.py --rev v1.2
      hansard blame HEAD~3
      hansard blame src/tide/parser.py --json
    """
    from hansard.render.terminal.blame import draw_blame, draw_commit

    path, span = _target(target, lines)
    with cli.reading() as h:
        if os.path.isfile(path) or (rev is not None and not os.path.isdir(path)):
            report = h.blame(path, span, rev)
            if cli.as_json:
                cli.emit(report)
            else:
                cli.say(draw_blame(report, cli.width(), cli.paint(), now()))
            return
        if span is not None or rev is not None:
            raise UsageError(f"no such file: {path}")
        if os.path.isdir(path):
            raise UsageError(f"{path} is a directory; blame takes a file or a commit")
        found = h.blame_commit(target, repository or os.getcwd())
    if cli.as_json:
        cli.emit(found)
    else:
        cli.say(draw_commit(found, cli.width(), cli.paint(), now()))
    if not found.files:
        note("hansard: the commit adds no lines")


def _target(target: str, lines: str | None) -> tuple[str, tuple[int, int] | None]:
    """The file or commit, and the lines that are wanted."""
    path = target
    if not os.path.exists(target):
        head, colon, tail = target.rpartition(":")
        if colon and _LINES.match(tail):
            if lines is not None:
                raise UsageError("give lines once, as FILE:LINES or with --lines")
            path, lines = head, tail
    if lines is None:
        return path, None
    found = _LINES.match(lines)
    first, last = (int(found[1]), int(found[2] or found[1])) if found is not None else (0, 0)
    if not 1 <= first <= last:
        raise UsageError(f"invalid lines {lines!r}; use a number or a range such as 40-60")
    return path, (first, last)
