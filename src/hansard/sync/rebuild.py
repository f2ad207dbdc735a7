"""Making both indexes anew from the record alone."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import Any

from msgspec.structs import replace

from hansard.errors import StoreUnusable
from hansard.pricing.settle import Prices
from hansard.record.store import Record
from hansard.sync.data_files import INDEX, NEW, RECORD, TEXT, place, remove_leftovers, sync_lock
from hansard.sync.report import Listener, ProgressReporter, SyncReport


def rebuild(
    home: str,
    listener: Listener | None = None,
    *,
    wait_seconds: float = 2.0,
    workers: bool = True,
    row_workers: int | None = None,
    prices: Prices | None = None,
) -> SyncReport:
    """Make `index.db` and `text.db` anew from the record; the sources are not read and may be gone.

    The new files are written beside the old ones, which answer until the new ones are complete and replace them. A
    crash before that leaves the store as it was; a crash in between leaves an index missing, which the next sync makes again.
    """
    started = time.perf_counter()
    with sync_lock(home, wait_seconds) as held:
        if not held:
            return SyncReport(busy=True, seconds=time.perf_counter() - started)
        remove_leftovers(home)
        record = Record.open(place(home, RECORD), readonly=True)
        reporter = ProgressReporter(listener, home)
        try:
            report = make(home, record, reporter, prices or Prices(home), workers=workers, row_workers=row_workers)
        finally:
            reporter.close()
            record.close()
        for name in (INDEX, TEXT):
            _swap(place(home, name))
    return replace(report, seconds=time.perf_counter() - started)


def make(
    home: str,
    record: Record,
    reporter: ProgressReporter,
    prices: Prices,
    *,
    workers: bool,
    row_workers: int | None = None,
    suffix: str = NEW,
) -> SyncReport:
    """Make both indexes from the record, beside the existing ones."""
    from hansard.index.rows import RowIndex
    from hansard.index.store import discard, telling
    from hansard.sync.indexing import catch_up, finish
    from hansard.sync.row_workers import RowWorkers
    from hansard.sync.text import TextRun

    for name in (INDEX, TEXT):
        discard(place(home, name + suffix))
    text = TextRun(home, record, name=TEXT + suffix, behind=True, coming=0, workers=workers)
    text.start()
    text.complete()
    try:
        index = RowIndex(place(home, INDEX + suffix), record)
        try:
            with telling(index.path):
                with closing(RowWorkers(record, row_workers if workers else 0)) as others:
                    records = catch_up(record, index, None, reporter, checked=record.sizes(), workers=others)
                finish(record, index, None, prices)
                sums: Any = index.db.execute(
                    "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(issues), 0) FROM transcripts WHERE current = 1"
                ).fetchone()
        finally:
            index.close()
        text.finish(None, reporter)
    except BaseException:
        text.abandon()
        raise
    transcripts, size, issues = sums
    return SyncReport(transcripts=transcripts, changed=transcripts, bytes_read=size, records=records, issues=issues)


def _swap(path: str) -> None:
    """Replace a database by a finished one."""
    from hansard.index.store import discard

    if os.path.exists(path + NEW + "-wal"):
        # Another program has opened it, so its last pages are still in its log, which cannot be moved along.
        raise StoreUnusable(f"{path + NEW} is open in another program. Close that, then run `hansard rebuild` again")
    try:
        # The old log is removed with the old database: SQLite would apply it to the new one.
        discard(path)
        os.replace(path + NEW, path)
    except OSError as error:
        raise StoreUnusable(
            f"cannot replace {path}: {error.strerror or error}. Close the programs that read it, then run this again"
        ) from error
