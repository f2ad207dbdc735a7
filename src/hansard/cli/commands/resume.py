"""`hansard resume`."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from typing import TYPE_CHECKING

import click

from hansard.cli.arguments import choose_session
from hansard.cli.context import SLOW_SECONDS, Command, Context, note, program, reads, warn
from hansard.cli.output.progress import BytesBar
from hansard.errors import NotFound, UsageError
from hansard.model.files import RestoreAction
from hansard.render.format import many, short, size
from hansard.render.text import CLIENT, RESUME_OPTION, command_line, one_line

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Resumption, SessionCopy

_OPTIONS = "hansard.client_options"
_CONFIG_VARIABLE = "CLAUDE_CONFIG_DIR"
_PLURALS = {
    "snapshot, request or attachment record": "snapshot, request and attachment records",
    "name of a last record that does not exist": "names of last records that do not exist",
}


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
@click.option(
    "--slim", is_flag=True, help="Resume a copy in which old tool results, pictures and snapshots are short notes."
)
@click.option(
    "--repair", is_flag=True, help="Resume a copy in which damage is mended, so that the whole conversation continues."
)
@click.option("--dry-run", is_flag=True, help="With --slim or --repair: only show what the copy would be.")
@click.option(
    "--no-run", is_flag=True, help="With --slim or --repair: write the copy and print the command that resumes it."
)
@click.option("--undo", is_flag=True, help="Remove the last copy, or that of SESSION, unless it was continued.")
@reads
@click.pass_context
def resume(
    ctx: click.Context,
    cli: Context,
    session: str | None,
    print_only: bool,
    directory: str | None,
    slim: bool,
    repair: bool,
    dry_run: bool,
    no_run: bool,
    undo: bool,
) -> None:
    """Resume a session in Claude Code, in the directory where it was started.

    If the client has deleted the session's transcript, it is restored first and dated today, so that the next clean-up leaves it
    alone. Everything after -- is passed to `claude`.

    --slim and --repair resume a copy under a new id, for sessions that have become too large or that the client shows empty;
    the original is not touched.

    Examples:
      hansard resume @last
      hansard resume 3f2a91c0 --slim --dry-run
      hansard resume 3f2a91c0 --repair
      hansard resume 'flaky login' -- --model opus
      hansard resume 3f2a91c0 --print
      hansard resume 3f2a91c0 --dir ~/src/moved-project
    """
    if undo:
        undo_written(cli, session, copies=True)
        return
    if (dry_run or no_run) and not (slim or repair):
        raise UsageError("--dry-run and --no-run need --slim or --repair")
    chosen, options = choose_session(cli, session), ctx.meta[_OPTIONS]
    if slim or repair:
        is_shown = dry_run or print_only or (cli.as_json and not no_run)
        if _resume_copy(cli, chosen, options, directory, slim=slim, repair=repair, is_shown=is_shown, runs=not no_run):
            return
    resume_session(cli, chosen, options, print_only=print_only, directory=directory)


def _resume_copy(
    cli: Context,
    session: str,
    options: list[str],
    directory: str | None,
    *,
    slim: bool,
    repair: bool,
    is_shown: bool,
    runs: bool,
) -> bool:
    """Show a copy, or write it and run the client; False if the session itself is to be resumed."""
    with cli.reading() as h, BytesBar("Copying", after=SLOW_SECONDS) as bar:
        plan = h.plan_copy(session, slim=slim, repair=repair, progress=bar)
        copy = plan.copy
        if copy is None or not (copy.is_mended or copy.is_slimmer):
            what = "nothing to replace" if slim else "no damage"
            if runs and not is_shown:
                note(f"{what}: resuming the session itself")
                return False
            cli.answer({"applied": False, "copy": None}, lambda: [f"{what}: the session can be resumed as it is"])
            return True
        environment = _environment(plan.config)
        command = [*plan.command, *options]
        place, client = directory or plan.cwd, ""
        if runs and not is_shown:
            place, client = _directory(plan.cwd, directory), _client()
        if not is_shown:
            h.write_session(plan)
    lines = [f"{'would write' if is_shown else 'wrote'} {one_line(plan.path)}", *_changes(copy)]
    if client:
        for line in lines:
            note(line)
        _run(client, command, place, environment)
    elif cli.as_json:
        started = {"directory": place or None, "environment": environment, "command": command}
        cli.emit({"applied": not is_shown, "copy": copy, "path": plan.path, **started})
    else:
        cli.say(lines)
        if not is_shown:
            cli.say([command_line(command, directory=place, environment=environment)])
            note(f"`{program()} resume --undo` removes the copy")
    return True


def _changes(copy: SessionCopy) -> list[str]:
    """How a copy differs, in words."""
    counts = [
        (copy.results, "tool result", "replaced by a note"),
        (copy.pictures, "picture", "replaced by a note"),
        (copy.left_out, "snapshot, request or attachment record", "left out"),
        (copy.unreadable, "damaged part", "left out"),
        (copy.split, "record", "put on a line of its own"),
        (copy.relinked, "record", "linked to the one before it, since its parent is missing or in a circle"),
        (copy.joined, "later beginning", "joined to the conversation before it"),
        (copy.dated, "record", "given a valid time"),
        (copy.leaves, "name of a last record that does not exist", "left out"),
    ]
    behind = f"{size(copy.compacted)} of the oldest messages put behind a compaction that lists their prompts"
    smaller = 100 - 100 * copy.bytes // max(1, copy.bytes_before)
    return [
        f"{size(copy.bytes_before)} become {size(copy.bytes)}" + (f" ({smaller} % less)" if smaller > 0 else ""),
        f"about {short(copy.context_bytes // 3)} tokens for the model",
        *(f"{many(count, thing, _PLURALS.get(thing))} {what}" for count, thing, what in counts if count),
        *([behind] if copy.compacted else []),
    ]


def undo_written(cli: Context, session: str | None, *, copies: bool) -> None:
    """Remove the last session that Hansard wrote: a copy, or a hand-off; with `session` the last one of it."""
    with cli.engine() as h:
        wanted = h.session(session).session_id if session else None
        found = [
            item
            for item in h.written_sessions()
            if bool(item.facts["is_copy"]) == copies
            and wanted in (None, item.facts["source"], item.facts["session_id"])
        ]
        if not found:
            raise NotFound("Hansard wrote no such session, or it was removed already")
        undone = h.undo_session(found[-1])
    cli.answer(
        {"title": undone.title, "removed": undone.restored, "left": undone.left, "failed": undone.failed},
        lambda: [f"removed {one_line(path)}" for path in undone.restored],
    )
    for line in undone.notes("the copy"):
        note(line)


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
        place, client = _directory(plan.session.cwd, directory), _client()
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


def _client() -> str:
    client = shutil.which(CLIENT)
    if client is None:
        raise NotFound(f"{CLIENT!r} is not on your PATH: install Claude Code, or see `{program()} resume --print`")
    return os.path.abspath(client)  # before the directory changes


def _directory(cwd: str, named: str | None) -> str:
    if named is not None:
        place = os.path.abspath(os.path.expanduser(named))
        if not os.path.isdir(place):
            raise NotFound(f"{place}: no such directory")
        return place
    if not cwd:
        raise NotFound("the session's directory is not known. Name one with --dir DIR")
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        raise NotFound(f"{cwd}: the session's directory no longer exists. Name another with --dir DIR")
    return cwd


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
