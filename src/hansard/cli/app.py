"""The command group: which commands there are, where each one lives, and how errors become exit codes."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import Any, NoReturn

import click

from hansard.cli.context import Context, Group, note, reads
from hansard.errors import HansardError

READ, COUNT, MARK, KEEP = "Read the history", "Track tokens and cost", "Tag and annotate", "Sync and maintain"
GIVE, MORE = "Export and restore", "More"
COMMANDS: dict[str, tuple[str, str]] = {
    # name: (group, what it does)
    "search": (READ, "Search everything that was ever said or done."),
    "sessions": (READ, "List sessions, newest first."),
    "projects": (READ, "List projects and what happened in them."),
    "prompts": (READ, "List every prompt ever typed, newest first, or search them."),
    "files": (READ, "List the files that sessions changed, or the history of one."),
    "tools": (READ, "Report calls, failures and durations per tool, or list the calls of one."),
    "related": (READ, "List similar sessions, and why."),
    "blame": (READ, "Show which session wrote each line of a file or commit."),
    "commits": (READ, "List the commits that sessions made or contributed to, with their cost."),
    "git": (READ, "Write branch names, commit messages and trailers for sessions."),
    "show": (READ, "Read a session as text, Markdown, HTML or JSON."),
    "resume": (READ, "Resume a session in Claude Code, restoring it first if needed."),
    "handoff": (READ, "Continue a session in another client, or from a brief."),
    "open": (READ, "Open a session in the browser."),
    "tui": (READ, "Browse everything in the terminal: search, read, resume."),
    "web": (READ, "Browse everything in the web app, live."),
    "mcp": (READ, "Serve the history to coding agents (Model Context Protocol)."),
    "grep": (READ, "Search every stored byte with a regular expression."),
    "sql": (READ, "Ask the history anything in SQL."),
    "audit": (READ, "Report what sessions did, and which operations were risky."),
    "usage": (COUNT, "Report tokens and cost by day, model, project or anything else."),
    "daily": (COUNT, "Short for `usage --by day`; all options of usage apply."),
    "weekly": (COUNT, "Short for `usage --by week`."),
    "monthly": (COUNT, "Short for `usage --by month`."),
    "session": (COUNT, "Short for `usage --by session`."),
    "blocks": (COUNT, "Report five-hour blocks, with a projection for the current one."),
    "explain": (COUNT, "Trace any figure to the lines, rates and arithmetic behind it."),
    "reconcile": (COUNT, "Compare the total with what other tools count, and explain the difference."),
    "statusline": (COUNT, "Print current spending as one line, for the client's status line."),
    "prices": (COUNT, "Show the dated prices in use, or fetch new ones."),
    "tag": (MARK, "Give a session tags, or list all tags."),
    "pin": (MARK, "Pin sessions, to find them again easily."),
    "rename": (MARK, "Give a session a title of your own."),
    "note": (MARK, "Add a note to a session, or show its notes."),
    "sync": (KEEP, "Store and index what is new."),
    "import": (KEEP, "Store conversations from files: ChatGPT, Claude.ai, Aider and others."),
    "lake": (KEEP, "Push to a lake of Parquet files, and report the usage of all machines there."),
    "team": (KEEP, "Push to a team's PostgreSQL database, and manage it."),
    "watch": (KEEP, "Keep syncing until stopped, and report what happens."),
    "status": (KEEP, "Show the store, its sources and what clean-up deletes next."),
    "doctor": (KEEP, "Check for problems: store, permissions, bad lines, unknown records."),
    "rebuild": (KEEP, "Rebuild the indexes from the record."),
    "forget": (KEEP, "Erase sessions, a project, messages or a text, everywhere."),
    "free": (KEEP, "Remove from the client's folder what is stored byte for byte."),
    "retention": (KEEP, "Apply the rules on how long things are kept."),
    "guard": (KEEP, "Store new history daily, before the client cleans up, and apply the rules."),
    "move": (KEEP, "Tell the client that a project was moved, and count both paths as one."),
    "plugin": (KEEP, "Install or remove the Claude Code plugin: hooks, MCP server, skill, commands."),
    "hook": (KEEP, "Handle a client hook: store what is new without delaying the client."),
    "cat": (GIVE, "Write a transcript's verbatim bytes to stdout."),
    "export": (GIVE, "Write sessions as pages, documents or tables."),
    "restore": (GIVE, "Write sessions back as files."),
    "recover": (GIVE, "List sessions that are gone everywhere, and reconstruct what is left of one."),
    "secrets": (KEEP, "Find keys, tokens and passwords in the history, and decide about them."),
    "verify": (GIVE, "Check every stored byte against its hash."),
    "demo": (MORE, "Try Hansard on an invented history."),
    "schema": (MORE, "Print the schema of the databases."),
    "help": (MORE, "Show help for a command."),
    "completion": (MORE, "Print a shell completion script."),
}
USAGE_BY = {"daily": "day", "weekly": "week", "monthly": "month", "session": "session"}
"""Commands that are `usage --by` under a name that users of other tools know."""

_MODULES = {
    "remarks": "pin tag rename note",
    "store": "sync status doctor rebuild",
    "sessions": "sessions projects related",
    "git": "git blame commits",
    "restore": "restore recover cat",
    "usage": "usage explain",
    "web": "web open",
    "help": "help completion schema",
    "import_": "import",
}
MODULES = {name: module for module, names in _MODULES.items() for name in names.split()}
"""The modules of commands; any other command's module has its name."""


class Commands(Group):
    """A group that imports a command when it is run, and reports errors in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in USAGE_BY:
            from hansard.cli.commands.usage import usage_by

            command: object = usage_by(cmd_name, USAGE_BY[cmd_name])
        else:
            from importlib import import_module

            module = import_module(f"hansard.cli.commands.{MODULES.get(cmd_name, cmd_name)}")
            command = getattr(module, "import_" if cmd_name == "import" else cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{command!r} is not a command")
        if "_HANSARD_COMPLETE" in os.environ:
            from hansard.cli.completion import attach

            return attach(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`hansard --help` lists all commands"
            ctx.fail(f"unknown command {args[0]!r}: {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List commands from the table, without importing any."""
        longest = max(map(len, COMMANDS))
        for group in (READ, COUNT, MARK, KEEP, GIVE, MORE):
            with formatter.section(group):
                formatter.write_dl(
                    [(name.ljust(longest), what) for name, (place, what) in COMMANDS.items() if place == group]
                )

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse arguments; a pipe that closes early (`--help | head`) is not an error."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError, OSError):  # a replaced stream may lack it
                stream.reconfigure(errors="replace")  # type: ignore[union-attr]
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.ClickException as error:
            return _fail(_usage_words(error), error.exit_code)
        except BrokenPipeError:
            _quiet()
            raise click.exceptions.Exit(0) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn known errors into a message and an exit code."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except HansardError as error:
            return _fail(str(error), error.exit_code)
        except click.ClickException as error:
            return _fail(_usage_words(error), error.exit_code)
        except KeyboardInterrupt:
            return _fail("stopped", 130)
        except OSError as error:
            # On Windows a closed pipe gives EINVAL.
            if error.errno == errno.EPIPE or (
                os.name == "nt" and error.errno == errno.EINVAL and error.filename is None
            ):
                _quiet()
                raise click.exceptions.Exit(0) from None
            if error.filename is None and error.errno == errno.ENOENT and not _has_directory():
                return _fail("the current directory no longer exists", HansardError.exit_code)
            place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
            return _fail(f"{place}{error.strerror or error}", HansardError.exit_code)
        return result


def _has_directory() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _usage_words(error: click.ClickException) -> str:
    """Click's message, in the form of our errors."""
    text = error.format_message()
    text = text[:1].lower() + text[1:].removesuffix(".")
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    return text if ctx is None else f"{text}\nTry '{ctx.command_path} --help' for help."


def _fail(message: str, code: int) -> NoReturn:
    with contextlib.suppress(BrokenPipeError):
        note(f"hansard: {message}")
    raise click.exceptions.Exit(code)


def _quiet() -> None:
    """Discard further output: flushing to a closed pipe at exit would fail."""
    with contextlib.suppress(OSError, ValueError):
        place = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, place)
        os.close(nowhere)


def _show_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from hansard.cli.version import version_line

        click.echo(version_line())
        context.exit()


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version, the revision and whether the native module is used.",
)
@reads
@click.pass_context
def hansard(ctx: click.Context, cli: Context) -> None:
    """Keep, read and restore the history of your coding-agent sessions.

    Without a command: an overview of recent activity.

    Examples:
      hansard                       what happened lately
      hansard search flaky login    find anything ever said or done
      hansard sessions --since 7d   the sessions of the last week
      hansard show @last            read the newest session
      hansard usage --by model      what was used and what it cost
      hansard status                the store, and what the client deletes next

    SESSION is the beginning of a session's id, words of its title, @last, or @2 for the one before it.
    """
    if ctx.invoked_subcommand is None:
        from hansard.cli.commands.overview import overview

        overview(cli)
