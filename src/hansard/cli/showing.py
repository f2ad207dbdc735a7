"""`hansard show`: one session, or one of its subagents, to read."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace

import click

from hansard.cli.front import Command, Front, pass_front, reads
from hansard.errors import NotFound, UsageError
from hansard.model import Conversation, plain


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
    """
    if front.as_json and markdown:
        raise UsageError("--json and --markdown are two answers: choose one")
    with front.reading() as h:
        about = h.session(session)
        conversation = h.conversation(about.session_id, agent=agent)
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
    lines = reading_lines(about, conversation, style)
    if no_pager or not sys.stdout.isatty():
        front.say(lines)
    else:
        _page(front, lines)


def _only(conversation: Conversation, branch: int) -> Conversation:
    entries = tuple(entry for entry in conversation.entries if entry.branch == branch)
    if not entries:
        known = sorted({entry.branch for entry in conversation.entries})
        raise NotFound(
            f"there is no branch {branch}; this conversation has {', '.join(map(str, known)) or 'nothing in it'}"
        )
    return replace(conversation, entries=entries)


def _page(front: Front, lines: Iterator[str]) -> None:
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
    os.environ.setdefault("LESS", "-R")  # click sets it only when it may decide on colours itself

    def everything() -> Iterator[str]:
        for line in first:
            yield line + "\n"
        for line in lines:
            yield line + "\n"

    click.echo_via_pager(everything(), color=front.paint().enabled)
