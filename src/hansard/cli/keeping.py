"""`hansard sync`, `hansard rebuild` and `hansard watch`."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from hansard.cli.front import Command, Front, closed_roots, common, has_store, no_roots, note, now, pass_front, warn
from hansard.cli.progress import SyncBar
from hansard.cli.terminal import fit, one_line
from hansard.cli.words import incomplete, local, many, odd_lines, project_name, size
from hansard.errors import Incomplete, NotFound, SourceUnreadable, StoreBusy

if TYPE_CHECKING:
    from types import FrameType

    from hansard.engine import Hansard
    from hansard.sync.report import SyncReport

_RECENT = 20  # sessions that are looked at for what changed
_BUSY = "another process is syncing this store and did not finish in time: try again"


@click.command(cls=Command)
@click.option("--reread", is_flag=True, help="Compare every file in full with what was kept, whatever its date says.")
@common
@pass_front
def sync(front: Front, reread: bool) -> None:
    """Keep and index whatever is new in the source roots.

    Every command that reads does this by itself; on its own it is for a scheduler, and for the first time. Exits with 10 when a file
    could not be kept or a transcript could not be indexed; everything else was.

    Examples:
      hansard sync
      hansard sync --reread
      hansard sync --root ~/.claude --root /backup/claude --json
    """
    front.must_sync("sync")
    with front.engine() as h:
        if not h.roots and not has_store(h):
            raise no_roots()
        with SyncBar(after=0.3) as bar:
            report = h.sync(listener=bar, wait_seconds=10, reread=reread, thorough=True)
        problems = h.problems() if report.problems else ()
    _tell_sync(front, report)
    if closed := closed_roots(h, report):
        raise SourceUnreadable(f"nothing could be read from {', '.join(closed)}: check the permissions")
    if problems:
        raise Incomplete(incomplete(problems))
    if h.roots and not report.transcripts:
        warn(
            f"there is no transcript in {', '.join(root.path for root in h.roots)};"
            " a root is a Claude config directory (it has projects/ in it) or a projects directory"
        )


@click.command(cls=Command)
@common
@pass_front
def rebuild(front: Front) -> None:
    """Make both indexes again from the record alone; the sources are not read.

    The indexes hold nothing that the record does not: use this when one is damaged.

    Examples:
      hansard rebuild
      hansard rebuild --json
    """
    with front.engine() as h:
        if not has_store(h):
            raise NotFound(f"nothing is kept in {h.home} yet: run `hansard sync` first")
        with SyncBar(after=0.3) as bar:
            report = h.rebuild(listener=bar)
    _tell_sync(front, report)


def _tell_sync(front: Front, report: SyncReport) -> None:
    if report.busy:
        raise StoreBusy(_BUSY)
    for line in report.unreadable:
        warn(f"cannot read {one_line(line)}")
    if links := report.unfollowed_links:
        leads = "leads out of its root and is" if links == 1 else "lead out of their root and are"
        warn(f"{many(links, 'link')} {leads} not followed: see `hansard doctor`")
    if front.as_json:
        front.emit(report)
        return
    read = f"{size(report.bytes_read)} and {many(report.records, 'record')} in {report.seconds:.1f} s"
    lines = [f"{many(report.transcripts, 'transcript')}, {report.changed:,} changed: {read}"]
    if report.gone:
        lines.append(f"{many(report.gone, 'file')} gone from the source; what was in them is kept")
    if report.issues:
        lines.append(f"{odd_lines(report.issues)}: see `hansard doctor`")
    front.say(lines)


@click.command(cls=Command)
@click.option("--poll", is_flag=True, help="Look again and again instead of waiting for the system's events.")
@common
@pass_front
def watch(front: Front, poll: bool) -> None:
    """Stay current until stopped with ctrl-c, and tell what happens.

    With --json each change is one JSON document on a line of its own.

    Examples:
      hansard watch
      hansard watch --poll --root /mnt/network/claude
    """
    front.must_sync("watch")
    with front.engine() as h:
        if not h.roots:
            raise no_roots()
        note(f"watching {many(len(h.roots), 'root')}; ctrl-c stops")
        stop = threading.Event()
        # Ctrl-c is how a watch ends, so it is no failure.
        with _stopped_by_sigterm(stop), contextlib.suppress(KeyboardInterrupt):
            _watch(front, h, stop, poll=poll)
    note("stopped")


def _watch(front: Front, h: Hansard, stop: threading.Event, *, poll: bool) -> None:
    before: dict[str, tuple[int, str]] | None = None
    for report in h.watch(stop, poll=poll):
        if report.busy:
            warn(_BUSY)
            continue
        found = h.sessions(limit=_RECENT, debris=True).sessions
        after = {session.session_id: (session.bytes, session.source_state) for session in found}
        touched = (
            [] if before is None else [item for item in found if after[item.session_id] != before.get(item.session_id)]
        )
        if front.as_json:
            front.emit({"at": now(), "report": report, "sessions": touched})
        else:
            front.say(
                _happened(
                    front,
                    report,
                    [
                        (item.project, item.title, item.bytes - (before or {}).get(item.session_id, (0, ""))[0])
                        for item in touched
                    ],
                )
            )
        before = after


def _happened(front: Front, report: SyncReport, touched: list[tuple[str, str, int]]) -> list[str]:
    paint, at = front.paint(), f"{local(now()):%H:%M:%S}"
    if not touched:
        what = f"{many(report.changed, 'file')}, {size(report.bytes_read)}, {many(report.records, 'record')}"
        return [f"{paint(at, 'dim')}  {what}" + (f", {report.gone} gone" if report.gone else "")]
    lines = []
    for project, title, grown in touched:
        name = fit(project_name(project), 24)
        change = f"+{size(grown)}" if grown > 0 else "changed"
        rest = front.width() - len(at) - len(change) - len(name) - 6
        lines.append(
            f"{paint(at, 'dim')}  {paint(name, 'green')}  {fit(one_line(title[:400]) or '(untitled)', rest)}  {paint(change, 'dim')}"
        )
    return lines


@contextlib.contextmanager
def _stopped_by_sigterm(stop: threading.Event) -> Iterator[None]:
    """Let a service manager end the watch as calmly as ctrl-c does."""

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
