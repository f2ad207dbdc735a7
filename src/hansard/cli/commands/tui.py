"""`hansard tui`."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import click

from hansard.cli.context import Command, Context, has_store, no_roots, reads
from hansard.errors import HansardError, UsageError

if TYPE_CHECKING:
    from hansard.config import Settings
    from hansard.tui.app import Outcome


@click.command(cls=Command)
@click.option(
    "--pick",
    type=click.Choice(["session", "message"]),
    is_flag=False,
    flag_value="session",
    help="Choose a session and print its id, or a message and print its location; exit with 1 if nothing is chosen.",
)
@reads
def tui(cli: Context, pick: str | None) -> None:
    """Browse, search, read and resume sessions in the terminal.

    Press ? for the keys of each screen. With --pick the app draws on the terminal itself, so that its standard output can be used
    by another command.

    Examples:
      hansard tui
      claude --resume "$(hansard tui --pick)"
      hansard tui --pick message
    """
    if cli.as_json and not pick:
        raise UsageError("--json needs --pick")
    settings = cli.settings()
    if not settings.roots and not has_store(settings):
        raise no_roots()
    outcome = start_app(cli, settings, picks=pick or "", purpose="pick" if pick == "session" else "")
    if pick:
        _print(cli, outcome, pick)
    elif outcome is not None and outcome.action != "pick":
        from hansard.cli.commands.resume import resume_session

        resume_session(cli, outcome.session_id, ["--fork-session"] if outcome.action == "fork" else [])


def _print(cli: Context, outcome: Outcome | None, pick: str) -> None:
    if outcome is None:
        raise click.exceptions.Exit(1)
    if cli.as_json:
        cli.emit({"session_id": outcome.session_id, "agent": outcome.agent, "offset": outcome.offset})
    elif pick == "message":
        place = [outcome.session_id, *(["--at", str(outcome.offset)] if outcome.offset is not None else [])]
        cli.say([" ".join([*place, *(["--agent", outcome.agent] if outcome.agent else [])])])
    else:
        cli.say([outcome.session_id])


def start_app(
    cli: Context, settings: Settings, *, picks: str = "", purpose: str = "", is_syncing: bool = True
) -> Outcome | None:
    """Run the terminal app on the user's terminal, even if standard streams are redirected."""
    from hansard.model.calendar import find_zone

    _use_terminal()
    before = os.environ.get("NO_COLOR")
    if cli.color == "never":
        os.environ["NO_COLOR"] = "1"  # the only thing that Textual checks, at import
    gc.disable()  # until the first screen is drawn
    from hansard.tui.app import Setup, run_app

    try:
        directory: str | None = os.getcwd()
    except OSError:  # it was removed
        directory = None
    servers: list[subprocess.Popen[bytes]] = []

    def browse(session_id: str, agent: str | None, offset: int | None) -> None:
        words = [sys.executable, "-m", "hansard", "open", session_id, "--home", settings.home]
        words += ["--no-sync"] + [word for root in settings.roots for word in ("--root", os.fspath(root))]
        words += ["--agent", agent] if agent else []
        words += ["--at", str(offset)] if offset is not None else []
        quiet = subprocess.DEVNULL
        servers.append(subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet))  # noqa: S603 - ourselves

    setup = Setup(
        lambda: cli.engine(settings),
        settings.home,
        find_zone(settings.timezone),
        directory,
        is_syncing=is_syncing and not cli.no_sync,
        browse=browse,
        purpose=purpose,
        picks=picks,
        remembers=settings.tui_remember,
    )
    try:
        return run_app(setup)
    finally:  # the client that runs next has its own settings
        gc.enable()
        for server in servers:
            server.terminate()
        if cli.color == "never" and before is None:
            del os.environ["NO_COLOR"]


def _use_terminal() -> None:
    """Give Textual the controlling terminal if stdin or stderr, which it uses, are redirected."""
    if os.name == "nt":
        return
    for number, flags in ((0, os.O_RDONLY), (2, os.O_WRONLY)):
        if not os.isatty(number):
            try:
                terminal = os.open("/dev/tty", flags)
            except OSError as error:
                raise HansardError("there is no terminal to draw on") from error
            os.dup2(terminal, number)
            os.close(terminal)
