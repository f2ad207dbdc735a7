"""`hansard pin`, `tag`, `rename` and `note`: what the user adds to a session."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from hansard.cli.arguments import choose_session
from hansard.cli.context import Command, Context, none_found, reads
from hansard.cli.output.session_table import remark_lines
from hansard.errors import UsageError
from hansard.render.text import clean, one_line

if TYPE_CHECKING:
    from hansard.model.sessions import Tagged


@click.command(cls=Command)
@click.argument("session", nargs=-1)
@click.option("--message", metavar="UUID", help="Pin this message of the session, not the session.")
@click.option("--remove", is_flag=True, help="Unpin.")
@reads
def pin(cli: Context, session: tuple[str, ...], message: str | None, remove: bool) -> None:
    """Pin sessions, to find them again with `is:pinned`; or a message of one (`has:pin`).

    Examples:
      hansard pin @last
      hansard pin 3f2a91 --remove
      hansard pin @last --message 0b61c3f2
      hansard sessions is:pinned
    """
    sessions = session or (choose_session(cli, None),)
    if message is not None and len(sessions) > 1:
        raise UsageError("--message needs one session")
    with cli.reading() as h:
        if message is None:
            found = h.pin(*sessions, remove=remove)
        else:
            found = [h.pin_message(sessions[0], message, remove=remove)]
    cli.answer({"sessions": found}, lambda: remark_lines(cli, found))


@click.command(cls=Command)
@click.argument("session", required=False)
@click.argument("tags", nargs=-1, metavar="[TAG]...")
@click.option("--remove", is_flag=True, help="Remove these tags.")
@reads
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
    cli.answer(found, lambda: remark_lines(cli, [found]) if tags else map(one_line, found.tags))
    if not tags and not found.tags:
        none_found("the session has no tags")


def _say_tags(cli: Context, found: Sequence[Tagged]) -> None:
    if cli.as_json:
        cli.emit({"tags": found})
    elif found:
        digits = max(len(f"{item.sessions:,}") for item in found)
        cli.say(f"{item.sessions:>{digits},}  {one_line(item.tag)}" for item in found)
    if not found:
        none_found("no tags yet; add one with `hansard tag SESSION TAG`")


@click.command(cls=Command)
@click.argument("session", required=False)
@click.argument("title", nargs=-1)
@click.option("--remove", is_flag=True, help="Restore the original title.")
@reads
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
    cli.answer(found, lambda: remark_lines(cli, [found]))


_MOST_INPUT = 1 << 20  # bytes; far more than a note may have, so longer input need not be read


@click.command(cls=Command)
@click.argument("session", required=False)
@click.argument("text", nargs=-1)
@click.option("--remove", "number", metavar="N", type=click.IntRange(min=1), help="Remove note number N.")
@reads
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
    said = " ".join(text)
    if said == "-":
        said = sys.stdin.buffer.read(_MOST_INPUT).decode("utf-8", "replace")
    session = choose_session(cli, session)
    with cli.reading() as h:
        if number is not None:
            found = h.unnote(session, number)
        elif text:
            found = h.note(session, said)
        else:
            found = h.remarks(session)
    cli.answer(found, lambda: _numbered(found.notes))
    if not found.notes and number is None:
        none_found("the session has no notes")


def _numbered(notes: Sequence[str]) -> list[str]:
    lines = []
    digits = len(str(len(notes)))
    for number, text in enumerate(notes, 1):
        first, *rest = clean(text).split("\n")
        lines.append(f"{number:>{digits}}  {first}")
        lines += [f"{'':{digits}}  {line}".rstrip() for line in rest]
    return lines
