"""`hansard show`: one session, or one of its subagents, to read."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hansard.cli.front import Command, Front, pass_front, reads
from hansard.cli.words import full
from hansard.errors import NotFound, UsageError
from hansard.model import Conversation, Entry, Session, plain

if TYPE_CHECKING:
    from hansard.cli.placing import Place

_AROUND = 5


@click.command(cls=Command)
@click.argument("session", metavar="SESSION")
@click.option(
    "--agent", metavar="ID", help="A subagent's thread instead of the session's own; the beginning of its id."
)
@click.option(
    "--branch",
    type=click.IntRange(min=0),
    metavar="N",
    help="Only this branch: 0 is the line the session went on with.",
)
@click.option("--markdown", is_flag=True, help="Markdown, for a file or a page.")
@click.option("--thinking", is_flag=True, help="Also what the model thought.")
@click.option(
    "--tools",
    type=click.Choice(["full", "brief", "none"]),
    default="brief",
    show_default=True,
    help="How much of tool calls.",
)
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="OFFSET",
    help="Only what stands around this byte of the transcript, as `hansard search` names it.",
)
@click.option(
    "--around", type=click.IntRange(min=0), metavar="N", help="With --at: so many entries before and after it (5)."
)
@click.option("--no-pager", is_flag=True, help="Write to the terminal directly.")
@reads
@pass_front
def show(
    front: Front,
    session: str,
    agent: str | None,
    branch: int | None,
    markdown: bool,
    thinking: bool,
    tools: str,
    at: int | None,
    around: int | None,
    no_pager: bool,
) -> None:
    """Read a session: who said what and when, with the tool calls and their results.

    SESSION is the beginning of a session's id, words of its title, @last, or @2 for the one before it. Long text goes
    through $PAGER when stdout is a terminal. --json gives everything, whatever the other options say.

    Examples:
      hansard show @last
      hansard show 3f2a91c0 --tools full --thinking
      hansard show "tide tables" --markdown > tides.md
      hansard show @last --agent a497 --json
      hansard show 3f2a91c0 --at 20480 --around 10
    """
    if front.as_json and markdown:
        raise UsageError("--json and --markdown are two answers: choose one")
    if at is not None and markdown:
        raise UsageError("--at shows a place in the terminal: leave --markdown out")
    if at is None and around is not None:
        raise UsageError("--around says how much to show around a place: name one with --at")
    with front.reading() as h:
        about = h.session(session)
        conversation = h.conversation(about.session_id, agent=agent)
        if at is not None:
            from hansard.cli.placing import find_place

            place = find_place(h, about, conversation, at, agent)
            _show_place(front, about, place, _AROUND if around is None else around, branch, thinking, tools, no_pager)
            return
    if branch is not None:
        conversation = _only(conversation, branch)
    if front.as_json:
        front.emit({"session": about, **plain(conversation)})
        return
    if markdown:
        from hansard.cli.markdown import markdown_lines

        front.say(markdown_lines(about, conversation, thinking=thinking, tools=tools))
        return
    from hansard.cli.reading import Style, reading_lines

    style = Style(front.width(), front.paint(), thinking=thinking, tools=tools, branch=branch)
    _put(front, reading_lines(about, conversation, style), no_pager=no_pager)


def _show_place(
    front: Front,
    about: Session,
    place: Place,
    around: int,
    branch: int | None,
    thinking: bool,
    tools: str,
    no_pager: bool,
) -> None:
    """The entries around a place, on its own branch."""
    first = place.conversation.entries[place.here.start]
    if branch is not None and branch != first.branch:
        raise NotFound(f"that place is on branch {first.branch}, not on branch {branch}")

    def is_shown(number: int, entry: Entry) -> bool:
        if number in place.here or front.as_json:
            return entry.branch == first.branch
        hidden = (entry.kind == "thinking" and not thinking) or (entry.kind == "tool" and tools == "none")
        return entry.branch == first.branch and not hidden

    shown = [number for number, entry in enumerate(place.conversation.entries) if is_shown(number, entry)]
    start = shown.index(place.here.start)
    stop = shown.index(place.here.stop - 1) + 1
    low, high = max(0, start - around), min(len(shown), stop + around)
    entries = tuple(place.conversation.entries[number] for number in shown[low:high])
    conversation = replace(place.conversation, entries=entries)
    here = range(start - low, stop - low)
    earlier, later = low, len(shown) - high
    if front.as_json:
        where = {"offset": place.offset, "exact": place.exact, "entries": [*here], "earlier": earlier, "later": later}
        front.emit({"session": about, **plain(conversation), "at": where})
        return
    from hansard.cli.reading import Style, reading_lines

    found = f"here, {full(first.at)}" if place.exact else f"nearest to byte {place.offset:,}, which is not shown"
    style = Style(front.width(), front.paint(), thinking, tools, first.branch or None, here, found, earlier, later)
    _put(front, reading_lines(about, conversation, style), no_pager=no_pager, at_place=True)


def _put(front: Front, lines: Iterator[str], *, no_pager: bool, at_place: bool = False) -> None:
    if no_pager or not sys.stdout.isatty():
        front.say(lines)
    else:
        _page(front, lines, at_place=at_place)


def _only(conversation: Conversation, branch: int) -> Conversation:
    entries = tuple(entry for entry in conversation.entries if entry.branch == branch)
    if not entries:
        known = sorted({entry.branch for entry in conversation.entries})
        raise NotFound(
            f"there is no branch {branch}; this conversation has {', '.join(map(str, known)) or 'nothing in it'}"
        )
    return replace(conversation, entries=entries)


def _page(front: Front, lines: Iterator[str], *, at_place: bool) -> None:
    """Through the pager, unless it all fits on the screen."""
    height = shutil.get_terminal_size((80, 24)).lines
    first: list[str] = []
    for line in lines:
        first.append(line)
        if len(first) >= height:
            break
    else:
        front.say(first)
        return
    # click sets it only when it may decide on colours itself
    os.environ.setdefault("LESS", "-R +/▶" if at_place else "-R")

    def everything() -> Iterator[str]:
        for line in first:
            yield line + "\n"
        for line in lines:
            yield line + "\n"

    click.echo_via_pager(everything(), color=front.paint().enabled)
