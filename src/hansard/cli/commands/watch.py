"""`hansard watch`."""

from __future__ import annotations

import contextlib
import threading
from functools import partial
from typing import TYPE_CHECKING

import click

from hansard.background_sync import BackgroundScan
from hansard.cli.commands.store import BUSY
from hansard.cli.context import Command, Context, common, interrupted_by_sigterm, no_roots, note, now, warn
from hansard.render.format import local, many, project_name, size, titled
from hansard.render.text import fit

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.sync.report import SyncReport


_RECENT = 20  # newest sessions that are checked for changes
_LAST_SECONDS = 10.0  # for the scan to end: a thread inside native code must not outlive the interpreter


@click.command(cls=Command)
@click.option("--poll", is_flag=True, help="Poll for changes instead of waiting for file system events.")
@common
def watch(cli: Context, poll: bool) -> None:
    """Keep syncing until stopped with Ctrl-C, and report what happens.

    With --json each change is one JSON document on a line of its own.

    Examples:
      hansard watch
      hansard watch --poll --root /mnt/network/claude
    """
    cli.must_sync("watch")
    with cli.engine() as h:
        if not h.roots:
            raise no_roots()
        note(f"watching {many(len(h.roots), 'root')}; Ctrl-C stops")
        stop = threading.Event()
        # Ctrl-C is the normal way to end a watch.
        with interrupted_by_sigterm(stop), contextlib.suppress(KeyboardInterrupt):
            _watch(cli, h, stop, poll=poll)
    note("stopped")


def _watch(cli: Context, h: Hansard, stop: threading.Event, *, poll: bool) -> None:
    before: dict[str, tuple[int, str]] | None = None
    scan = BackgroundScan(cli.engine, stop)
    try:
        for report in h.watch(stop, poll=poll):
            if report.busy:
                warn(BUSY)
                continue
            scan.wake()
            found = h.sessions(limit=_RECENT, debris=True).sessions
            after = {session.session_id: (session.bytes, session.source_state) for session in found}
            touched = (
                []
                if before is None
                else [item for item in found if after[item.session_id] != before.get(item.session_id)]
            )
            known = before or {}
            grown = [
                (item.project, item.title, item.bytes - known.get(item.session_id, (0, ""))[0]) for item in touched
            ]
            about = {"at": now(), "report": report, "sessions": touched}
            cli.answer(about, partial(_happened, cli, report, grown))
            before = after
    finally:
        stop.set()
        scan.end(_LAST_SECONDS)


def _happened(cli: Context, report: SyncReport, touched: list[tuple[str, str, int]]) -> list[str]:
    paint, at = cli.paint(), f"{local(now()):%H:%M:%S}"
    if not touched:
        what = f"{many(report.changed, 'file')}, {size(report.bytes_read)}, {many(report.records, 'record')}"
        return [f"{paint(at, 'dim')}  {what}" + (f", {report.gone} gone" if report.gone else "")]
    lines = []
    for project, title, grown in touched:
        name = fit(project_name(project, cli.names), 24)
        change = f"+{size(grown)}" if grown > 0 else "changed"
        rest = cli.width() - len(at) - len(change) - len(name) - 6
        lines.append(f"{paint(at, 'dim')}  {paint(name, 'green')}  {fit(titled(title), rest)}  {paint(change, 'dim')}")
    return lines
