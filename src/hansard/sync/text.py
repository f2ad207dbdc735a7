"""The full text's part of a sync: in this process for a little, in a second one for a lot."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from hansard.errors import StoreCorrupt
from hansard.record.store import Record
from hansard.sync.places import RECORD, TEXT, place
from hansard.sync.report import Teller

if TYPE_CHECKING:
    from hansard.index.text import TextIndex

WORKER_BYTES = 24 << 20  # a backlog over this is worth a second process
_COMMIT_BYTES = 256 << 20
_REPORT_BYTES = 8 << 20
_END = b"end\n"


def worker_command(home: str, name: str) -> list[str]:
    """How the second process is started; -P keeps what lies in the working directory from being imported."""
    return [sys.executable, "-P", "-m", "hansard.sync.worker", home, name]


class TextRun:
    """Keeps `text.db`, or another file of that make, in step with the record."""

    def __init__(
        self, home: str, record: Record, *, name: str = TEXT, behind: bool, coming: int, workers: bool
    ) -> None:
        """`behind`: the record holds more than the file knows; `coming`: how many bytes the record is about to gain."""
        self.home = home
        self.record = record
        self.name = name
        self.worker: subprocess.Popen[bytes] | None = None
        self.backlog = coming
        if behind:
            self.backlog += self._waiting()
        if workers and self.backlog > WORKER_BYTES and (os.cpu_count() or 1) > 1 and sys.executable:
            with contextlib.suppress(OSError):  # no second process then: all is done here at the end
                self.worker = subprocess.Popen(  # noqa: S603 - this very interpreter, no shell
                    worker_command(home, name),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
        if behind:
            self.more()

    def _waiting(self) -> int:
        """How many bytes the file has still to read of the record as it is now.

        Opened here, before the record goes on, a file that is ahead of a record which was put back still shows, and is made
        again; soon the record may be as far, with other bytes.
        """
        text = _open(self.home, self.name, self.record)
        try:
            return sum(size for _, _, size in text.backlog(_sizes(self.record, None)))
        finally:
            text.close()

    def more(self) -> None:
        """Say that the record has committed something new."""
        worker = self.worker
        if worker is not None and worker.stdin is not None:
            try:
                worker.stdin.write(b"\n")
                worker.stdin.flush()
            except OSError:  # it died: what it has not done is done at the end
                self.abandon()

    def finish(self, touched: Collection[int] | None, teller: Teller) -> int:
        """Wait for the second process, or do here what there is to do (`touched`: only these; None: whatever is behind).

        Returns how much could not be indexed.
        """
        worker, self.worker = self.worker, None
        if worker is not None and worker.stdin is not None and worker.stdout is not None:
            teller.begin("text", files=0, size=self.backlog)
            with contextlib.suppress(OSError):
                worker.stdin.write(_END)
            with contextlib.suppress(OSError):
                worker.stdin.close()
            try:
                for line in worker.stdout:
                    teller.step(int(line))
            except BaseException:
                worker.kill()
                raise
            finally:
                worker.stdout.close()
                code = worker.wait()
            if code == 0:
                teller.end()
                return _quarantined(self.home, self.name)
            touched = None
        catch_up(self.home, self.name, self.record, touched, teller)
        return _quarantined(self.home, self.name)

    def abandon(self) -> None:
        """End the second process; its work up to its last commit stays."""
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()


def catch_up(home: str, name: str, record: Record, touched: Collection[int] | None, teller: Teller) -> None:
    """Index the text that the record has of some generations (None: of all) and the file has not, and sign it."""
    from hansard.index.store import telling

    text = _open(home, name, record)
    try:
        with telling(text.path):
            waiting = text.backlog(_sizes(record, touched))[::-1]
        size = sum(size for _, _, size in waiting)
        if size > WORKER_BYTES:
            text.begin_bulk()
        if waiting:
            teller.begin("text", files=len(waiting), size=size)
        while waiting:
            done = 0
            with text.transaction():
                while waiting and done < _COMMIT_BYTES:
                    transcript, kind, _ = waiting.pop()
                    fed = text.feed_isolated(transcript, kind, record.size(transcript), partial(record.read, mend=True))
                    teller.step(fed, files=1)
                    done += fed
        if size:
            teller.end()
        with text.transaction():
            _feed_snapshots(text, record)
            text.sign(record.head())
    finally:
        text.close()


def _quarantined(home: str, name: str) -> int:
    from hansard.index.store import count_quarantined

    return count_quarantined(place(home, name))


def _open(home: str, name: str, record: Record) -> TextIndex:
    from hansard.index.text import TextIndex

    return TextIndex(place(home, name), record)


def _sizes(record: Record, touched: Collection[int] | None) -> list[tuple[int, str, int]]:
    generations = record.generations() if touched is None else (record.generation(id_) for id_ in touched)
    return [(generation.id, generation.kind, generation.size) for generation in generations]


def _feed_snapshots(text: TextIndex, record: Record) -> None:
    """Index the text of overflowed tool results."""
    last = done = text.snapshots_indexed()
    for snapshot in record.snapshots(kinds=("tool_result",), after=last):
        with contextlib.suppress(StoreCorrupt):  # `verify` tells; the others are not to wait for it
            text.feed_snapshot_isolated(snapshot.id, record.read_snapshot(snapshot.id))
        done = snapshot.id
    if done != last:
        text.set_meta("snapshot", done)


def work(home: str, name: str) -> bool:
    """The second process: index the text of whatever the record commits, until it is told the end.

    A line on standard input means that there is more; each line on standard output says how many more bytes are done.
    Returns False when the input ended without a word: whoever started this is gone, and another sync may be waiting.
    """
    record = Record.open(place(home, RECORD), readonly=True)
    text = _open(home, name, record)
    parent = os.getppid()
    unreported = 0

    def feed() -> int:
        nonlocal unreported
        done = 0
        for transcript, kind, _ in text.backlog(_sizes(record, None)):
            size = text.feed_isolated(transcript, kind, record.size(transcript), partial(record.read, mend=True))
            done += size
            unreported = _report(unreported + size)
            if os.getppid() != parent:
                return -1
        return done

    try:
        text.begin_bulk()
        while True:
            with text.transaction():
                uncommitted = 0
                while uncommitted < _COMMIT_BYTES:
                    word = sys.stdin.buffer.readline()
                    if not word:
                        return False
                    done = feed()
                    if done < 0:
                        return False
                    uncommitted += done
                    if word == _END:
                        _feed_snapshots(text, record)
                        text.sign(record.head())
                        return True
    finally:
        text.close()
        record.close()


def _report(size: int) -> int:
    """Say how many bytes are done once there are enough of them; returns how many stay unsaid."""
    if size < _REPORT_BYTES:
        return size
    sys.stdout.write(f"{size}\n")
    sys.stdout.flush()
    return 0
