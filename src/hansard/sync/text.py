"""The full-text part of a sync: in this process for a small backlog, in a second one for a large one."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING

from hansard.errors import HansardError, StoreCorrupt
from hansard.record.store import Record
from hansard.sync.data_files import RECORD, TEXT, place
from hansard.sync.report import ProgressReporter
from hansard.workers import Worker

if TYPE_CHECKING:
    from hansard.index.text import TextIndex
    from hansard.workers import Channel

WORKER_BYTES = 24 << 20  # a backlog over this is worth a second process
_COMMIT_BYTES = 256 << 20
_REPORT_BYTES = 8 << 20
_MORE, _COMPLETE, _END = "more", "complete", "end"


class TextRun:
    """Keeps `text.db`, or another file of its kind, in step with the record."""

    def __init__(
        self, home: str, record: Record, *, name: str = TEXT, behind: bool, coming: int, workers: bool
    ) -> None:
        """`behind`: the record has more than the file; `coming`: how many bytes the record is about to gain.

        Nothing is indexed before `start`.
        """
        self.home = home
        self.record = record
        self.name = name
        self.worker: Worker | None = None
        self.backlog = coming
        self._behind = behind
        if behind:
            self.backlog += self._waiting()
        self._has_worker = workers and self.backlog > WORKER_BYTES and (os.cpu_count() or 1) > 1
        self._kept: dict[int, int] = {}
        if self._has_worker:
            self._kept = {generation.id: generation.size for generation in record.generations() if generation.size}

    def start(self) -> None:
        """Start the second process for a large backlog; it begins with what the record has already."""
        if self._has_worker:
            with contextlib.suppress(OSError):  # without a second process, all is done here at the end
                self.worker = Worker("hansard.sync.text:index_text", self.home, self.name, self._kept)
        if self._behind:
            self.more()

    def _waiting(self) -> int:
        """How many bytes of the record the file has not read yet; what the record no longer has is dropped.

        The file is opened before the record grows: a file that is ahead of a restored record is still noticed, and made
        again. Later the record may be as long, with other bytes.
        """
        text = _open(self.home, self.name, self.record)
        try:
            with text.transaction():
                text.drop(self.record.generation_ids(), self.record.snapshot_ids())
            return sum(size for *_, size in text.backlog(_sizes(self.record, None)))
        finally:
            text.close()

    def more(self) -> None:
        self._say(_MORE)

    def complete(self) -> None:
        """Signal that the record is complete: the second process can merge while this one still makes rows."""
        self._say(_COMPLETE)

    def _say(self, message: str) -> None:
        if self.worker is not None and not self.worker.send(message):
            self.abandon()  # it died: the rest is done at the end

    def finish(self, touched: Collection[int] | None, reporter: ProgressReporter) -> int:
        """Wait for the second process, or do its work here (`touched`: only these; None: everything that is behind).

        Returns how many texts could not be indexed.
        """
        worker, self.worker = self.worker, None
        if worker is not None:
            try:
                is_done = self._wait(worker, reporter)
            finally:
                worker.close()
            if is_done:
                reporter.end()
                return _quarantined(self.home, self.name)
            touched = None
        catch_up(self.home, self.name, self.record, touched, reporter)
        return _quarantined(self.home, self.name)

    def _wait(self, worker: Worker, reporter: ProgressReporter) -> bool:
        """Wait for the second process to end; False if it failed, and the work must be done here."""
        reporter.begin("text", files=0, size=self.backlog)
        worker.send(_END)
        with contextlib.suppress(HansardError):
            while (message := worker.receive()) is not None:
                if message[0] == _END:
                    return True
                reporter.step(message[0])
        return False

    def abandon(self) -> None:
        """Stop the second process; its work up to its last commit stays."""
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.close()


def catch_up(home: str, name: str, record: Record, touched: Collection[int] | None, reporter: ProgressReporter) -> None:
    """Index the missing text of some generations (None: of all), and sign it."""
    from hansard.index.store import telling

    text = _open(home, name, record)
    try:
        with telling(text.path):
            waiting = text.backlog(_sizes(record, touched))[::-1]
        read = partial(record.read, mend=True, check=touched is None)
        size = sum(size for *_, size in waiting)
        if size > WORKER_BYTES:
            text.begin_bulk()
        if waiting:
            reporter.begin("text", files=len(waiting), size=size)
        while waiting:
            done = 0
            with text.transaction():
                while waiting and done < _COMMIT_BYTES:
                    transcript, kind, client, _ = waiting.pop()
                    fed = text.feed_isolated(transcript, kind, client, record.size(transcript), read)
                    reporter.step(fed, files=1)
                    done += fed
        if size:
            reporter.end()
        with text.transaction():
            _feed_snapshots(text, record)
        text.finish_bulk()
        with text.transaction():
            text.sign(record.head())
    finally:
        text.close()


def _quarantined(home: str, name: str) -> int:
    from hansard.index.store import count_quarantined

    return count_quarantined(place(home, name))


def _open(home: str, name: str, record: Record) -> TextIndex:
    from hansard.index.text import TextIndex

    return TextIndex(place(home, name), record)


def _sizes(record: Record, touched: Collection[int] | None) -> list[tuple[int, str, str, int]]:
    generations = record.generations() if touched is None else (record.generation(id_) for id_ in touched)
    clients = {root.id: root.client for root in record.roots()}
    return [(made.id, made.kind, clients[made.root_id], made.size) for made in generations]


def _feed_snapshots(text: TextIndex, record: Record) -> None:
    """Index the text of overflowed tool results."""
    last = done = text.snapshots_indexed()
    for snapshot in record.snapshots(kinds=("tool_result",), after=last):
        with contextlib.suppress(StoreCorrupt):  # `verify` tells; the others are not to wait for it
            text.feed_snapshot_isolated(snapshot.id, record.read_snapshot(snapshot.id))
        done = snapshot.id
    if done != last:
        text.set_meta("snapshot", done)


def index_text(channel: Channel, home: str, name: str, kept: dict[int, int]) -> None:
    """The worker's loop: index the text of everything the record commits, until the last message.

    `kept` is the former size of each generation: newer bytes have just been hashed.
    Messages say that there is more, then that this was all; the answers say how many more bytes are done. When its parent is gone,
    it stops: another sync may be waiting.
    """
    gc.disable()  # nothing here makes cycles, and a long-lived heap is costly to scan
    record = Record.open(place(home, RECORD), readonly=True)
    text = _open(home, name, record)
    parent = os.getppid()
    unreported = 0

    def read(transcript: int, start: int) -> Iterator[bytes]:
        return record.read(transcript, start, mend=True, check=start < kept.get(transcript, 0))

    def feed() -> int | None:
        """How many bytes were new; None when the other side has gone."""
        nonlocal unreported
        done = 0
        for transcript, kind, client, _ in text.backlog(_sizes(record, None)):
            size = text.feed_isolated(transcript, kind, client, record.size(transcript), read)
            done += size
            unreported += size
            if unreported >= _REPORT_BYTES:
                channel.send(unreported)
                unreported = 0
            if os.getppid() != parent:
                return None
        return done

    def feed_until(last: str) -> bool:
        """Index what comes up to this message; False when the other side has gone."""
        is_last = False
        while not is_last:
            with text.transaction():
                uncommitted = 0
                while uncommitted < _COMMIT_BYTES and not is_last:
                    message = channel.receive()
                    done = feed() if message is not None else None
                    if done is None:
                        return False
                    uncommitted += done
                    is_last = message[0] == last
                if is_last:
                    _feed_snapshots(text, record)
        return True

    try:
        text.begin_bulk()
        if not feed_until(_COMPLETE):
            return
        text.finish_bulk(lambda: os.getppid() == parent)
        if not feed_until(_END):
            return
        with text.transaction():
            text.sign(record.head())
    finally:
        text.close()
        record.close()
    channel.send(_END)
