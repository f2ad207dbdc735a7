"""`hansard handoff`."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import click

from hansard.cli.arguments import choose_session
from hansard.cli.commands.resume import undo_written
from hansard.cli.context import Command, Context, note, program, reads
from hansard.errors import NotFound, UsageError
from hansard.render.format import many
from hansard.render.text import command_line, one_line

if TYPE_CHECKING:
    from hansard.handoff.sessions import NewSession

_SESSIONS = ("claude-code", "codex")
_BRIEFS = ("opencode", "gemini", "markdown")
_BRIEF_TOKENS, _SESSION_TOKENS = 4_000, 50_000


@click.command(cls=Command)
@click.argument("session", required=False)
@click.option(
    "--to", type=click.Choice([*_SESSIONS, *_BRIEFS]), help="Where to continue: a client, or markdown for a brief."
)
@click.option("--yes", "-y", is_flag=True, help="Write the new session; otherwise it is only shown.")
@click.option("--brief", is_flag=True, help="Write a brief for claude-code and codex too, instead of a new session.")
@click.option("--to-file", metavar="FILE", help="Write the brief to this new file instead of stdout.")
@click.option(
    "--tokens",
    type=click.IntRange(min=500),
    metavar="N",
    help=f"The budget: {_BRIEF_TOKENS:,} tokens for a brief, {_SESSION_TOKENS:,} for a session by default.",
)
@click.option("--dir", "directory", metavar="DIR", help="Continue in this directory instead of the session's own.")
@click.option("--config", metavar="DIR", help="The config directory of the client, instead of the usual one.")
@click.option("--undo", is_flag=True, help="Remove the last session that was handed off, unless it was continued.")
@reads
def handoff(
    cli: Context,
    session: str | None,
    to: str | None,
    yes: bool,
    brief: bool,
    to_file: str | None,
    tokens: int | None,
    directory: str | None,
    config: str | None,
    undo: bool,
) -> None:
    """Continue a session in another client.

    For claude-code and codex, a new session with the conversation so far is planned and shown; --yes writes it, and the client resumes it.
    For other clients, a brief is written for the first prompt: task, decisions, changed files, state and open ends, each with its place.
    Secrets are redacted. Existing sessions are never touched.

    Examples:
      hansard handoff @last --to codex
      hansard handoff 3f2a91c0 --to claude-code --yes
      hansard handoff @last --to markdown --tokens 2000
      hansard handoff @last --to gemini --to-file brief.md
      hansard handoff --undo
    """
    if undo:
        undo_written(cli, session, copies=False)
        return
    if to is None:
        raise UsageError(f"say where to continue: --to {'|'.join([*_SESSIONS, *_BRIEFS])}")
    name = choose_session(cli, session)
    if brief or to in _BRIEFS:
        _brief(cli, name, tokens or _BRIEF_TOKENS, to_file)
        return
    if to_file is not None:
        raise UsageError("--to-file is for briefs: add --brief")
    with cli.reading(outgoing=True) as h:
        found = config or h.handoff_directory(to, os.environ, os.path.expanduser("~"))
        place = os.path.realpath(os.path.expanduser(directory or h.session(name).cwd or os.getcwd()))
        if not os.path.isdir(place):
            raise NotFound(f"{place}: the session's directory does not exist here. Name another with --dir DIR")
        plan = h.plan_handoff(
            name, to, os.path.abspath(os.path.expanduser(found)), cwd=place, tokens=tokens or _SESSION_TOKENS
        )
        if yes:
            h.write_session(plan)
    _show(cli, plan, yes=yes)


def _show(cli: Context, plan: NewSession, *, yes: bool) -> None:
    command = list(plan.command)
    if cli.as_json:
        cli.emit(
            {
                "applied": yes,
                "client": plan.client,
                "session_id": plan.session_id,
                "path": plan.path,
                "messages": plan.messages,
                "left_out": plan.left_out,
                "directory": plan.cwd,
                "command": command,
            }
        )
        return
    gap = f", {plan.left_out:,} left out by the budget" if plan.left_out else ""
    lines = [
        f"{'wrote' if yes else 'would write'} {one_line(plan.path)}",
        f"a session of {plan.client} with {many(plan.messages, 'message')}{gap}",
    ]
    if not yes:
        cli.say(lines)
        note("Nothing was written. Run this again with --yes to write it.")
        return
    cli.say([*lines, command_line(command, directory=plan.cwd)])
    if shutil.which(command[0]) is None:
        note(f"{command[0]!r} is not on your PATH")
    note(f"`{program()} handoff --undo` removes it")


def _brief(cli: Context, name: str, tokens: int, to_file: str | None) -> None:
    with cli.reading(outgoing=True) as h:
        session = h.session(name)
        text = h.brief(name, tokens=tokens)
    if to_file is not None:
        path = os.path.expanduser(to_file)
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise UsageError(f"{to_file} exists: name a new file") from None
        except OSError as error:
            raise UsageError(f"{to_file}: {error.strerror or error}") from None
        note(f"wrote {to_file}")
    if cli.as_json:
        cli.emit({"session_id": session.session_id, "client": session.client, "file": to_file, "brief": text})
    elif to_file is None:
        click.echo(text, nl=False)
