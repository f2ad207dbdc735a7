"""The full text's part of a sync: in this process for a little, in a second one for a lot."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from hansard.record.store import Record
from hansard.sync.report import Progress

if TYPE_CHECKING:
    from hansard.index.text import TextIndex

_TEXT = "text.db"
_RECORD = "record.db"
_COMMIT_BYTES = 256 << 20
_REPORT_BYTES = 8 << 20


class TextRun:
    """Keeps `text.db` in step during a sync."""

    def __init__(self, home: str, record: Record, *, backlog: int, workers: bool, minimum: int) -> None:
        self.home = home
        self.record = record
        self.worker: subprocess.Popen[bytes] | None = None
        self.backlog = backlog
        if workers and backlog > minimum and (os.cpu_count() or 1) > 1:
            self.worker = subprocess.Popen(
                [sys.executable, "-m", "hansard.sync.worker", home],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )

    def more(self) -> None:
        """Say that the record has committed something new."""
        worker = self.worker
        if worker is not None and worker.stdin is not None:
            try:
                worker.stdin.write(b"\n")
                worker.stdin.flush()
            except OSError:  # it died: what it has not done is done at the end
                self.abandon()

    def finish(self, touched: Collection[int] | None, tell: Callable[[Progress], None]) -> None:
        """Wait for the second process, or do here what there is to do (`touched`: only these; None: whatever is behind)."""
        worker, self.worker = self.worker, None
        if worker is not None and worker.stdin is not None and worker.stdout is not None:
            progress = Progress(phase="text", bytes_total=self.backlog)
            try:
                worker.stdin.close()
            except OSError:
                pass
            for line in worker.stdout:
                progress.bytes = int(line)
                tell(progress)
            worker.stdout.close()
            if worker.wait() == 0:
                return
            touched = None
        catch_up(self.home, self.record, touched)

    def abandon(self) -> None:
        """End the second process; its work up to its last commit stays."""
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()


def open_text(home: str, record: Record) -> TextIndex:
    """Open `text.db` for writing."""
    from hansard.index.text import TextIndex

    return TextIndex(os.path.join(home, _TEXT), record.store_id, record.revision())


def catch_up(home: str, record: Record, touched: Collection[int] | None = None) -> None:
    """Index the text that the record has and `text.db` has not, and sign it."""
    text = open_text(home, record)
    try:
        with text.transaction():
            feed(text, record, touched, lambda _bytes: None)
            feed_snapshots(text, record)
            text.set_meta("revision", record.revision())
    finally:
        text.close()


def feed(text: TextIndex, record: Record, touched: Collection[int] | None, done: Callable[[int], None]) -> None:
    """Index the text of logs, in the order of their ids."""
    generations = record.generations() if touched is None else (record.generation(id_) for id_ in sorted(touched))
    for transcript, kind in text.backlog((item.id, item.kind, item.size) for item in generations):
        done(text.feed(transcript, kind, record.read))


def feed_snapshots(text: TextIndex, record: Record) -> None:
    """Index the text of overflowed tool results."""
    last = done = text.snapshots_indexed()
    for snapshot in record.snapshots(kinds=("tool_result",), after=last):
        text.feed_snapshot(snapshot.id, record.read_snapshot(snapshot.id))
        done = snapshot.id
    if done != last:
        text.set_meta("snapshot", done)


def work(home: str) -> None:
    """The second process: index the text of whatever the record commits, until standard input ends.

    A line on standard input means that there is more; each line on standard output says how many bytes are done.
    """
    record = Record.open(os.path.join(home, _RECORD), readonly=True)
    text = open_text(home, record)
    text.begin_bulk()
    total = reported = uncommitted = 0

    def done(size: int) -> None:
        nonlocal total, reported, uncommitted
        total += size
        uncommitted += size
        if total - reported >= _REPORT_BYTES:
            reported = total
            sys.stdout.write(f"{total}\n")
            sys.stdout.flush()

    more = True
    while more:
        with text.transaction():
            uncommitted = 0
            while uncommitted < _COMMIT_BYTES:
                more = bool(sys.stdin.buffer.readline())
                feed(text, record, None, done)
                if not more:
                    feed_snapshots(text, record)
                    text.set_meta("revision", record.revision())
                    break
    text.close()
    record.close()
