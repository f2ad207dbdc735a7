"""`hansard note`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from hansard.cli.context import Command, Context, pass_context, reads
from hansard.cli.context import note as tell
from hansard.cli.session_argument import choose_session
from hansard.errors import UsageError
from hansard.render.text import clean

_STDIN = "-"


_MOST_INPUT = 1 << 20  # a note is far shorter; what is longer is refused without reading all of it


@click.command(cls=Command)
@click.argument("session", required=False)
@click.argument("text", nargs=-1)
@click.option("--remove", "number", metavar="N", type=click.IntRange(min=1), help="Remove note number N.")
@reads
@pass_context
def note(cli: Context, session: str | None, text: tuple[str, ...], number: int | None) -> None:
    """Add a note to a session; without TEXT: show its notes with their numbers. `-` reads the note from stdin.

    `note:word` finds sessions by their notes, in `search`, `sessions`, `prompts` and `usage`.

    Examples:
      hansard note @last The fix was the clock, not the test.
      git log -1 | hansard note @last -
      hansard note @last
      hansard note @last --remove 1
    """
    if text and number is not None:
        raise UsageError("TEXT and --remove cannot be used together")
    said = _read_stdin() if text == (_STDIN,) else " ".join(text)
    session = choose_session(cli, session)
    with cli.reading() as h:
        if number is not None:
            found = h.unnote(session, number)
        elif text:
            found = h.note(session, said)
        else:
            found = h.remarks(session)
    if cli.as_json:
        cli.emit(found)
    else:
        cli.say(_numbered(found.notes))
    if not found.notes and number is None:
        tell("hansard: the session has no notes")
        raise click.exceptions.Exit(1)


def _read_stdin() -> str:
    return sys.stdin.buffer.read(_MOST_INPUT).decode("utf-8", "replace")


def _numbered(notes: Sequence[str]) -> list[str]:
    lines = []
    digits = len(str(len(notes)))
    for number, text in enumerate(notes, 1):
        first, *rest = clean(text).split("\n")
        lines.append(f"{number:>{digits}}  {first}")
        lines += [f"{'':{digits}}  {line}".rstrip() for line in rest]
    return lines
