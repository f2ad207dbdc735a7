"""`hansard resume`."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from typing import TYPE_CHECKING

import click

from hansard.cli.arguments import choose_session
from hansard.cli.context import Command, Context, note, program, reads, warn
from hansard.errors import NotFound
from hansard.model.files import RestoreAction
from hansard.render.format import many
from hansard.render.text import CLIENT, RESUME_OPTION, command_line, one_line

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Resumption, Session

_OPTIONS = "hansard.client_options"
_CONFIG_VARIABLE = "CLAUDE_CONFIG_DIR"


class ResumeCommand(Command):
    """A command that passes everything after `--` to the client."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the client's options aside."""
        place = args.index("--") if "--" in args else len(args)
        ctx.meta[_OPTIONS] = args[place + 1 :]
        return super().parse_args(ctx, args[:place])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show in the usage line that there may be a `--`."""
        return [*super().collect_usage_pieces(ctx), "[-- OPTION...]"]


@click.command(cls=ResumeCommand)
@click.argument("session", required=False)
@click.option("--print", "print_only", is_flag=True, help="Print the command instead of running it; restore nothing.")
@click.option("--dir", "directory", metavar="DIR", help="Resume in this directory, e.g. after the project was moved.")
@reads
@click.pass_context
def resume(ctx: click.Context, cli: Context, session: str | None, print_only: bool, directory: str | None) -> None:
    """Resume a session in Claude Code, in the directory where it was started.

    If the client has deleted the session's transcript, it is restored first and dated today, so that the next clean-up leaves it
    alone. Everything after -- is passed to `claude`.

    Examples:
      hansard resume @last
      hansard resume 'flaky login' -- --model opus
      hansard resume 3f2a91c0 --print
      hansard resume 3f2a91c0 --dir ~/src/moved-project
    """
    resume_session(cli, choose_session(cli, session), ctx.meta[_OPTIONS], print_only=print_only, directory=directory)


def resume_session(
    cli: Context, session: str, options: list[str], *, print_only: bool = False, directory: str | None = None
) -> None:
    """Restore a session if needed and exec the client with it, or print the command."""
    with cli.reading() as h:
        plan = h.plan_resume(session)
        command = [CLIENT, RESUME_OPTION, plan.session.session_id, *options]
        environment = _environment(plan.config)
        if print_only or cli.as_json:
            _print(cli, plan, command, directory or plan.session.cwd, environment)
            return
        place = _directory(plan.session, directory)
        client = shutil.which(CLIENT)
        if client is None:
            raise NotFound(f"{CLIENT!r} is not on your PATH: install Claude Code, or see `{program()} resume --print`")
        client = os.path.abspath(client)  # before the directory changes
        if plan.is_gone:
            _restore(h, plan)
        elif plan.session.source_state == "rewritten":
            warn(
                "the transcript was rewritten and now holds less of the session; the client resumes what is left of it"
            )
    _run(client, command, place, environment)


def _environment(config: str) -> dict[str, str]:
    """The environment that makes the client use this config directory."""
    usual = os.environ.get(_CONFIG_VARIABLE) or os.path.join("~", ".claude")
    if os.path.realpath(os.path.expanduser(usual)) == os.path.realpath(config):
        return {}
    return {_CONFIG_VARIABLE: config}


def _directory(session: Session, named: str | None) -> str:
    if named is not None:
        place = os.path.abspath(os.path.expanduser(named))
        if not os.path.isdir(place):
            raise NotFound(f"{place}: no such directory")
        return place
    if not session.cwd:
        raise NotFound("the session's directory is not known. Name one with --dir DIR")
    if not os.path.isabs(session.cwd) or not os.path.isdir(session.cwd):
        raise NotFound(f"{session.cwd}: the session's directory no longer exists. Name another with --dir DIR")
    return session.cwd


def _restore(h: Hansard, plan: Resumption) -> None:
    """Restore what the client deleted; existing files are left alone."""
    items = h.plan_restore([plan.session.session_id], plan.config)
    wanted = [item for item in items if item.action in (RestoreAction.WRITE, RestoreAction.SAME)]
    done = h.restore(wanted, touch=True)
    note(f"restored {many(done.written, 'file')} to {one_line(plan.config)}")


def _print(cli: Context, plan: Resumption, command: list[str], directory: str, environment: dict[str, str]) -> None:
    restore = ["restore", plan.session.session_id, "--to", plan.config, "--touch"] if plan.is_gone else []
    if restore and cli.home:
        restore += ["--home", cli.home]
    if cli.as_json:
        cli.emit(
            {
                "session_id": plan.session.session_id,
                "directory": directory or None,
                "environment": environment,
                "command": command,
                "restore": ["hansard", *restore] if restore else None,
            }
        )
        return
    first = f"{program()} {command_line(restore)} && " if restore else ""
    cli.say([first + command_line(command, directory=directory, environment=environment)])


def _run(client: str, command: list[str], directory: str, environment: dict[str, str]) -> None:
    """Exec the client; where that is impossible, run it and exit with its code."""
    values = {**os.environ, **environment, "PWD": directory}
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":
        import subprocess

        done = subprocess.run([client, *command[1:]], cwd=directory, env=values, check=False)  # noqa: S603 - asked for
        raise click.exceptions.Exit(done.returncode)
    os.chdir(directory)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec inherits that
    os.execve(client, command, values)  # noqa: S606 - no shell is wanted
