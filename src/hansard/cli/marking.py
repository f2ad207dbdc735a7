"""`hansard tag`, `hansard pin`, `hansard rename` and `hansard note`: what the user says about sessions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from hansard.cli.front import Command, Front, pass_front, reads
from hansard.cli.front import note as tell
from hansard.cli.terminal import clean, fit, one_line, width
from hansard.errors import UsageError

if TYPE_CHECKING:
    from hansard.model import Remarks, Tagged

PINNED = "◆"
_STDIN = "-"
_MOST_INPUT = 1 << 20  # a note is far shorter; what is longer is refused without reading all of it


@click.command(cls=Command)
@click.argument("session", required=False)
@click.argument("tags", nargs=-1, metavar="[TAG]...")
@click.option("--remove", is_flag=True, help="Take these tags away.")
@reads
@pass_front
def tag(front: Front, session: str | None, tags: tuple[str, ...], remove: bool) -> None:
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
        raise UsageError("say which tags to take away: hansard tag SESSION TAG... --remove")
    with front.reading() as h:
        if session is None:
            _say_tags(front, h.tags())
            return
        found = h.tag(session, *tags, remove=remove) if tags else h.remarks(session)
    if front.as_json:
        front.emit(found)
    elif tags:
        _say(front, [found])
    else:
        front.say(map(one_line, found.tags))
    if not tags and not found.tags:
        tell("hansard: the session has no tag")
        raise click.exceptions.Exit(1)


@click.command(cls=Command)
@click.argument("session", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Take the pin away.")
@reads
@pass_front
def pin(front: Front, session: tuple[str, ...], remove: bool) -> None:
    """Pin sessions, to find them again with `is:pinned`.

    Examples:
      hansard pin @last
      hansard pin 3f2a91 --remove
      hansard sessions is:pinned
    """
    with front.reading() as h:
        found = h.pin(*session, remove=remove)
    if front.as_json:
        front.emit({"sessions": found})
    else:
        _say(front, found)


@click.command(cls=Command)
@click.argument("session")
@click.argument("title", nargs=-1)
@click.option("--remove", is_flag=True, help="Give the session its own title back.")
@reads
@pass_front
def rename(front: Front, session: str, title: tuple[str, ...], remove: bool) -> None:
    """Give a session a title of your own. The transcript is not changed.

    Examples:
      hansard rename @last The week the login broke
      hansard rename @last --remove
    """
    if remove == bool(title):
        raise UsageError("give the new title: hansard rename SESSION TITLE..., or --remove without one")
    with front.reading() as h:
        found = h.rename(session, None if remove else " ".join(title))
    if front.as_json:
        front.emit(found)
    else:
        _say(front, [found])


@click.command(cls=Command)
@click.argument("session")
@click.argument("text", nargs=-1)
@click.option("--remove", "number", metavar="N", type=click.IntRange(min=1), help="Take note number N away.")
@reads
@pass_front
def note(front: Front, session: str, text: tuple[str, ...], number: int | None) -> None:
    """Add a note to a session; without TEXT: show its notes with their numbers. `-` reads the note from stdin.

    `note:word` finds sessions by their notes, in `search`, `sessions`, `prompts` and `usage`.

    Examples:
      hansard note @last The fix was the clock, not the test.
      git log -1 | hansard note @last -
      hansard note @last
      hansard note @last --remove 1
    """
    if text and number is not None:
        raise UsageError("a note is added or taken away, not both: leave the text or --remove out")
    said = _read_stdin() if text == (_STDIN,) else " ".join(text)
    with front.reading() as h:
        if number is not None:
            found = h.unnote(session, number)
        elif text:
            found = h.note(session, said)
        else:
            found = h.remarks(session)
    if front.as_json:
        front.emit(found)
    else:
        front.say(_numbered(found.notes))
    if not found.notes and number is None:
        tell("hansard: the session has no note")
        raise click.exceptions.Exit(1)


def _read_stdin() -> str:
    return sys.stdin.buffer.read(_MOST_INPUT).decode("utf-8", "replace")


def _say_tags(front: Front, found: Sequence[Tagged]) -> None:
    if front.as_json:
        front.emit({"tags": found})
    elif found:
        digits = max(len(f"{item.sessions:,}") for item in found)
        front.say(f"{item.sessions:>{digits},}  {one_line(item.tag)}" for item in found)
    if not found:
        tell("hansard: there is no tag yet; `hansard tag SESSION TAG` gives one")
        raise click.exceptions.Exit(1)


def _say(front: Front, found: Sequence[Remarks]) -> None:
    """One line per session: as it stands now."""
    paint = front.paint()
    lines = []
    for item in found:
        head = one_line(item.session_id[:8])
        tags = " ".join(one_line(tag) for tag in item.tags)
        mark = f"{PINNED} " if item.pinned else ""
        room = front.width() - width(head) - 2 - (width(tags) + 2 if tags else 0)
        title = fit(mark + (one_line(item.title) or "(untitled)"), max(room, 28))
        lines.append("  ".join(filter(None, (paint(head, "cyan"), title, paint(tags, "magenta") if tags else ""))))
    front.say(lines)


def _numbered(notes: Sequence[str]) -> list[str]:
    lines = []
    digits = len(str(len(notes)))
    for number, text in enumerate(notes, 1):
        first, *rest = clean(text).split("\n")
        lines.append(f"{number:>{digits}}  {first}")
        lines += [f"{'':{digits}}  {line}".rstrip() for line in rest]
    return lines
