"""`hansard sync`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hansard.cli.context import (
    Command,
    Context,
    closed_roots,
    common,
    has_store,
    no_roots,
    pass_context,
    warn,
)
from hansard.cli.output.progress import SyncBar
from hansard.errors import Incomplete, SourceUnreadable, StoreBusy
from hansard.render.format import incomplete, many, odd_lines, size
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.sync.report import SyncReport


BUSY = "another process is syncing this store and did not finish in time: try again"


@click.command(cls=Command)
@click.option("--reread", is_flag=True, help="Compare every file in full with the stored copy, whatever its date.")
@common
@pass_context
def sync(cli: Context, reread: bool) -> None:
    """Store and index whatever is new in the source roots.

    Every command that reads does this by itself; on its own it is for a scheduler, and for the first time. Exits with 10 when a file
    could not be kept or a transcript could not be indexed; everything else was.

    Examples:
      hansard sync
      hansard sync --reread
      hansard sync --root ~/.claude --root /backup/claude --json
    """
    cli.must_sync("sync")
    with cli.engine() as h:
        if not h.roots and not has_store(h):
            raise no_roots()
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
            f"there is no transcript in {', '.join(root.path for root in h.roots)};"
            " a root is a Claude config directory (it has projects/ in it) or a projects directory"
        )


def report_sync(cli: Context, report: SyncReport) -> None:
    """Say what a sync or a rebuild did."""
    if report.busy:
        raise StoreBusy(BUSY)
    for line in report.unreadable:
        warn(f"cannot read {one_line(line)}")
    if links := report.unfollowed_links:
        leads = "points outside its root and is" if links == 1 else "point outside their root and are"
        warn(f"{many(links, 'link')} {leads} not followed: see `hansard doctor`")
    if cli.as_json:
        cli.emit(report)
        return
    read = f"{size(report.bytes_read)} and {many(report.records, 'record')} in {report.seconds:.1f} s"
    lines = [f"{many(report.transcripts, 'transcript')}, {report.changed:,} changed: {read}"]
    if report.gone:
        lines.append(f"{many(report.gone, 'file')} gone from the source; their content is kept")
    if report.issues:
        lines.append(f"{odd_lines(report.issues)}: see `hansard doctor`")
    cli.say(lines)
