"""`hansard guard`: the daily run that stores what is new and applies retention."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hansard.cli.commands.store import BUSY
from hansard.cli.context import Command, Context, common, note, now, warn
from hansard.cli.push import lake_target, push_lake, push_team, pushed_line
from hansard.cli.request_options import YES
from hansard.cli.team_address import place_of
from hansard.errors import HansardError, NotFound, StoreBusy, UsageError
from hansard.files import write_private
from hansard.render.format import ago, many, size
from hansard.render.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.changes.journal import Journal
    from hansard.cli.service import Service
    from hansard.cli.team_address import Place
    from hansard.lake import LakeReport
    from hansard.team import PushReport

_LAST = "last-guard.json"


@click.command(cls=Command)
@click.argument("action", type=click.Choice(["install", "remove", "status", "run"]), default="status")
@YES
@click.option(
    "--scheduler",
    type=click.Choice(["systemd", "launchd", "task", "cron"]),
    help="What runs it; by default what this system has.",
)
@click.option("--push", is_flag=True, help="Push to the configured team's database after each sync.")
@click.option("--push-lake", "lake", is_flag=True, help="Push to the configured lake after each sync.")
@common
def guard(cli: Context, action: str, yes: bool, scheduler: str | None, push: bool, lake: bool) -> None:
    """Store new history daily and after login, before the client cleans up, and apply the rules of `hansard retention`.

    It is a user service: a systemd timer, a launchd agent, a Windows task, or cron. Without --yes the changes are shown and nothing is
    done; `remove` restores every file as it was. `run` is what the scheduler runs: a sync, then the rules, if there are any, and a search for secrets in what is new.

    Examples:
      hansard guard install            show what would change
      hansard guard install --yes
      hansard guard install --scheduler cron --yes
      hansard guard install --push --yes
      hansard guard status
      hansard guard run
      hansard guard remove --yes
    """
    home = os.path.realpath(cli.settings().home)
    if (push or lake) and action not in ("install", "run"):
        raise UsageError("--push and --push-lake belong to `guard install` and `guard run`")
    pushes = _Pushes(place_of(cli, None, None) if push else None, lake_target(cli) if lake else None)
    if action == "run":
        _run(cli, home, pushes)
        return
    from hansard.changes.journal import list_journals
    from hansard.cli import service

    known = list_journals(home, service.PURPOSE)
    if action == "status":
        _status(cli, home, known)
        return
    if action == "remove" and not known:
        raise NotFound("the guard is not installed")
    roots = cli.roots or (list(cli.settings().roots) if os.environ.get("CLAUDE_CONFIG_DIR") else [])
    chosen = (scheduler or service.choose(os.environ)) if action == "install" else ""
    planned = service.plan(chosen, home, roots, os.environ, pushes.options) if chosen else None
    if not yes:
        _preview(cli, planned, known)
        return
    _change(home, lambda: service.plan(chosen, home, roots, os.environ, pushes.options) if chosen else None)
    if cli.as_json:
        cli.emit({"applied": True, "action": action, "scheduler": chosen or known[-1].facts["scheduler"]})
    elif chosen:
        cli.say([f"Installed with {chosen}. `hansard guard remove --yes` undoes it."])
    else:
        cli.say(["Removed; every file is as it was before."])


class _Pushes(NamedTuple):
    """Where a run pushes to."""

    team: Place | None
    lake: str | None

    @property
    def options(self) -> list[str]:
        """The same as options of the command."""
        return ["--push"] * (self.team is not None) + ["--push-lake"] * (self.lake is not None)


def _change(home: str, plan: Callable[[], Service | None]) -> None:
    """Remove what is installed, then install what is planned after that, if anything; undone if that fails."""
    from hansard.changes.journal import journals
    from hansard.cli import service

    with journals(home) as open_journals:
        for journal in reversed(open_journals.find(service.PURPOSE)):
            former = journal.facts["scheduler"]
            for command in service.stop(former):
                with suppress(HansardError):  # it is not running, or was removed by hand
                    command.run()
            undone = open_journals.undo(journal)
            for line in undone.notes("its own part"):
                note(line)
            for command in service.after_removal(former):
                with suppress(HansardError):
                    command.run()
        planned = plan()
        if planned is None:
            return
        journal = open_journals.apply(planned.changes)
        try:
            for command in planned.start:
                command.run()
        except BaseException:
            for command in service.stop(planned.scheduler):
                with suppress(HansardError):
                    command.run()
            open_journals.undo(journal)
            raise


def _preview(cli: Context, planned: Service | None, known: list[Journal]) -> None:
    from hansard.changes.plan import preview
    from hansard.cli import service

    lines: list[str] = []
    for journal in known:
        lines += [f"run {' '.join(command.argv)}" for command in service.stop(journal.facts["scheduler"])]
        lines += [f"restore {step.path}" for step in journal.steps]
    if planned is not None:
        lines += preview(planned.changes)
        lines += [f"run {' '.join(command.argv)}" for command in planned.start]
    cli.preview([one_line(line) for line in lines])


class LastRun(Struct, frozen=True):
    """What the last daily run did."""

    at: str
    error: str = ""
    freed_bytes: int = 0
    deleted_bytes: int = 0
    searched_bytes: int = 0
    """For secrets."""
    pushed: tuple[str, ...] = ()  # what was pushed where, in words


def _run(cli: Context, home: str, pushes: _Pushes) -> None:
    """A sync, the rules, a search for secrets and the pushes; what came of it is noted for `status`."""
    sent: list[PushReport | LakeReport] = []
    last = LastRun(now().isoformat(timespec="seconds"))
    try:
        with cli.engine() as h:
            report = h.sync(wait_seconds=60)
            if report.busy:
                raise StoreBusy(BUSY)
            for line in report.unreadable:
                warn(f"cannot read {one_line(line)}")
            rules = cli.settings().retention
            if rules is not None and rules.has_rules:
                done = h.apply_retention(rules)
                deleted = done.receipt.erased.bytes if done.receipt is not None else 0
                last = replace(last, freed_bytes=done.freed.bytes, deleted_bytes=deleted)
            # Another process may be searching: then it does this.
            last = replace(last, searched_bytes=h.scan_secrets().bytes_read)
            if pushes.team is not None:
                sent.append(push_team(cli, h, pushes.team))
            if pushes.lake is not None:
                sent.append(push_lake(cli, h))
    except HansardError as error:
        last = replace(last, error=str(error))
        raise
    finally:
        last = replace(last, pushed=tuple(map(pushed_line, sent)))
        with suppress(OSError):
            write_private(os.path.join(home, _LAST), msgspec.json.encode(last))
    if cli.as_json:
        cli.emit(
            {
                "sync": report,
                "freed_bytes": last.freed_bytes,
                "deleted_bytes": last.deleted_bytes,
                "searched_bytes": last.searched_bytes,
                "pushed": sent,
            }
        )
        return
    stored = f"{many(report.transcripts, 'transcript')}, {report.changed:,} changed"
    changed = f"{size(last.freed_bytes)} freed, {size(last.deleted_bytes)} deleted, {size(last.searched_bytes)} searched for secrets"
    cli.say([f"{stored}; {changed}", *last.pushed])


def _status(cli: Context, home: str, known: list[Journal]) -> None:
    last = None
    with suppress(OSError, msgspec.DecodeError), open(os.path.join(home, _LAST), "rb") as file:
        last = msgspec.json.decode(file.read(), type=LastRun)
    scheduler = known[-1].facts["scheduler"] if known else None
    files = [step.path for journal in known for step in journal.steps]
    missing = [path for path in files if not os.path.exists(path)]
    if cli.as_json:
        cli.emit(
            {"installed": bool(known), "scheduler": scheduler, "files": files, "missing": missing, "last_run": last}
        )
        return
    lines = (
        [f"The guard is installed with {scheduler}."]
        if known
        else ["The guard is not installed. `hansard guard install` shows what it would change."]
    )
    lines += [f"  {one_line(path)}" + (" (missing: install it again)" if path in missing else "") for path in files]
    if last is not None:
        failed = f", which failed: {one_line(last.error)}" if last.error else "."
        lines.append(f"Last run {ago(datetime.fromisoformat(last.at), now())}{failed}")
        lines += [f"  {line}" for line in last.pushed]
    cli.say(lines)
