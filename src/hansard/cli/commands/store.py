"""`hansard sync`, `status`, `doctor` and `rebuild`: the store itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hansard.cli.context import Command, Context, closed_roots, common, has_store, no_roots, note, now, reads, warn
from hansard.cli.output.progress import SyncBar
from hansard.errors import HansardError, Incomplete, NotFound, SourceUnreadable, StoreBusy, UsageError
from hansard.render.format import describe_unread, incomplete, many, odd_lines, size
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.sync.report import SyncReport


BUSY = "another process is syncing this store and did not finish in time: try again"


@click.command(cls=Command)
@click.option(
    "--reread", is_flag=True, help="Compare every file in full with the stored copy, even if its date is unchanged."
)
@click.option(
    "--client",
    "clients",
    multiple=True,
    metavar="NAME",
    help="Read only this client's roots, e.g. codex; may be repeated.",
)
@common
def sync(cli: Context, reread: bool, clients: tuple[str, ...]) -> None:
    """Store and index what is new in the source roots.

    Commands that read the history sync first, so run this only from a scheduler, or for the first sync. Exits with 10
    when a file could not be stored or a transcript could not be indexed; everything else was.

    What is new is not searched for secrets: web, tui and watch do that, the hooks when a session ends, the guard once a
    day, and `hansard secrets`. Until then `unscanned_bytes` of `hansard status --json` counts it.

    Examples:
      hansard sync
      hansard sync --reread
      hansard sync --client codex
      hansard sync --root ~/.claude --root /backup/claude --json
    """
    cli.must_sync("sync")
    with cli.engine() as h:
        if not h.roots and not has_store(h):
            raise no_roots()
        if clients:
            h.roots = tuple(root for root in h.roots if root.client in clients)
            if missing := sorted(set(clients).difference(root.client for root in h.roots)):
                raise UsageError(f"no root of {', '.join(missing)}: `hansard status` lists the roots and their clients")
        with SyncBar(after=0.3) as bar:
            report = h.sync(listener=bar, wait_seconds=10, reread=reread, compare_bytes=None)
        problems = h.problems() if report.problems else ()
    report_sync(cli, report)
    if closed := closed_roots(h, report):
        raise SourceUnreadable(f"nothing could be read from {', '.join(closed)}: check the permissions")
    if problems:
        raise Incomplete(incomplete(problems))
    if h.roots and not report.transcripts:
        warn(
            f"no transcripts in {', '.join(root.path for root in h.roots)};"
            " a root is the directory where a client keeps its history, such as ~/.claude (see `hansard status`)"
        )


def report_sync(cli: Context, report: SyncReport) -> None:
    if report.busy:
        raise StoreBusy(BUSY)
    for line in report.unreadable:
        warn(f"cannot read {one_line(line)}")
    if report.unfinished:
        warn(f"bytes of something that was forgotten may still be on the disk: {report.unfinished}")
    if links := report.unfollowed_links:
        leads = "points outside its root and is" if links == 1 else "point outside their root and are"
        warn(f"{many(links, 'link')} {leads} not followed: see `hansard doctor`")
    if cli.as_json:
        cli.emit(report)
        return
    read = f"{size(report.bytes_read)} and {many(report.records, 'record')} in {report.seconds:.1f} s"
    lines = [f"{many(report.transcripts, 'transcript')}, {many(report.changed, 'file')} changed: {read}"]
    if report.gone:
        lines.append(f"{many(report.gone, 'file')} gone from the source; their content is kept")
    if report.issues:
        lines.append(f"{odd_lines(report.issues)}: see `hansard doctor`")
    cli.say(lines)


@click.command(cls=Command)
@reads
def status(cli: Context) -> None:
    """Show the store, its sources, and what the client's clean-up deletes next.

    Examples:
      hansard status
      hansard status --json
    """
    with cli.reading(early=True, waits=False) as h:
        answer = replace(h.status(as_synced=True), unread=tuple(cli.settings().unread()))
    if cli.as_json:
        cli.emit(answer)
    else:
        from hansard.render.terminal.health import status_lines

        cli.say(status_lines(answer, now(), cli.width(), cli.paint(), syncing=cli.syncing))


@click.command(cls=Command)
@click.option("--fix", is_flag=True, help="Show which of Hansard's own files others can read; with --yes, close them.")
@click.option("--sources", is_flag=True, help="With --fix: also the directories that the clients' histories are in.")
@click.option("--yes", "-y", is_flag=True, help="With --fix: change the modes; otherwise they are only shown.")
@click.option("--undo", is_flag=True, help="Give the directories of clients the modes back that --fix changed.")
@reads
def doctor(cli: Context, fix: bool, sources: bool, yes: bool, undo: bool) -> None:
    """Look for problems: the store's health, permissions, bad lines, unknown records and fields.

    Exits with 1 if there are errors; notes and warnings do not count. --fix closes files to other users of this machine, with
    --yes only.

    Examples:
      hansard doctor
      hansard doctor --json
      hansard doctor --fix
      hansard doctor --fix --sources --yes
    """
    if (sources or yes) and not fix:
        raise UsageError("--sources and --yes belong to --fix")
    if fix or undo:
        if fix and undo:
            raise UsageError("--fix and --undo cannot be used together")
        _undo_fix(cli) if undo else _fix_modes(cli, sources=sources, yes=yes)
        return
    from hansard.model.health import Diagnosis, Finding

    try:
        with cli.reading(waits=False) as h:
            answer = h.doctor()
    except HansardError as error:
        if error.exit_code <= 2:  # the question is wrong, not the store
            raise
        answer = Diagnosis((Finding("error", "store", str(error)),), (), ())
    unread = tuple(Finding("note", "not read", describe_unread(item)) for item in cli.settings().unread())
    answer = replace(answer, findings=(*answer.findings, *unread))
    if cli.as_json:
        cli.emit(answer)
    else:
        from hansard.render.terminal.health import doctor_lines

        cli.say(doctor_lines(answer, cli.width(), cli.paint()))
    if not answer.is_healthy:
        raise click.exceptions.Exit(1)


def _fix_modes(cli: Context, *, sources: bool, yes: bool) -> None:
    """Show or change the modes of what others can read."""
    import os

    from hansard.changes.modes import close_to_others, plan_modes

    if os.name == "nt":
        raise UsageError("on Windows files have no such modes")
    with cli.engine() as h:
        plan = plan_modes(h.home, [root.path for root in h.roots] if sources else ())
        if yes:
            close_to_others(h.home, plan)
    found = many(len(plan), "file or folder", "files and folders")
    lines = [f"{change.mode} -> {change.new_mode}  {one_line(change.path)}" for change in plan]
    last = f"{found} open to others" if plan else "only you can read these"
    cli.answer({"changes": plan, "is_done": yes}, lambda: [*lines, last])
    if plan and not yes:
        note("nothing was changed: add --yes")


def _undo_fix(cli: Context) -> None:
    """Give source directories their modes back."""
    from hansard.changes.modes import undo_modes

    undone = undo_modes(cli.settings().home)
    if not undone:
        raise NotFound("no directory of a client was changed")
    cli.answer({"undone": undone}, lambda: [f"restored {one_line(path)}" for one in undone for path in one.restored])
    for line in (line for one in undone for line in one.notes("the mode")):
        note(line)
    if failed := [problem for one in undone for problem in one.failed]:
        raise HansardError(f"not all modes could be restored: {'; '.join(failed)}")


@click.command(cls=Command)
@common
def rebuild(cli: Context) -> None:
    """Rebuild both indexes from the record; the sources are not read.

    The indexes hold nothing that the record does not: use this when one is damaged.

    Examples:
      hansard rebuild
      hansard rebuild --json
    """
    with cli.engine() as h:
        if not has_store(h):
            raise NotFound(f"nothing has been synced to {h.home} yet: run `hansard sync` first")
        with SyncBar(after=0.3) as bar:
            report = h.rebuild(listener=bar)
    report_sync(cli, report)
