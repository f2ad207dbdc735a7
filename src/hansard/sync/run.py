"""Bringing a store up to date."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import StoreCorrupt, StoreUnusable
from hansard.pricing.settle import Prices
from hansard.record.chain import Revision
from hansard.record.files import Files
from hansard.sources.discover import Walk
from hansard.sources.roots import Root
from hansard.storage.heartbeat import beat, last_problems, note_failure
from hansard.sync import newest
from hansard.sync.data_files import INDEX, RECORD, REPAIRED, TEXT, place, sync_lock
from hansard.sync.report import DEFAULT_MAX_FILE, ProgressReporter, SyncReport, SyncRequest
from hansard.sync.survey import RootSurvey, survey, survey_paths

if TYPE_CHECKING:
    from hansard.index.rows import RowIndex
    from hansard.record.store import Record
    from hansard.sync.keep import RecordWriter
    from hansard.sync.row_workers import RowWorkers

_USUAL = SyncRequest()


def sync(
    home: str,
    roots: Sequence[Root],
    request: SyncRequest = _USUAL,
    *,
    max_file: int = DEFAULT_MAX_FILE,
    prices: Prices | None = None,
    walks: dict[str, Walk] | None = None,
) -> SyncReport:
    """Bring the store in `home` up to date with its source roots.

    1. Look. Walk the roots and compare names, sizes, times and inodes with the record's. If nothing differs and both
       indexes were made from this very revision of the record, that was all, and nothing was written or locked.
    2. Lock. One process syncs at a time; another one that finds the lock held for long answers from what is there.
    3. Keep. For each file that differs, the newest first, read what is new and append it to the record; a log that was truncated,
       rewritten or replaced begins a new generation, the former one stays. Files that vanished are marked gone. All of it is
       committed before anything asks what the bytes mean, and a file that cannot be read is noted while the others go on.
    4. Index. What the record has and the indexes have not is read back and becomes rows of `index.db`. The text of a large backlog is
       indexed at the same time, from the record's first commit on, by a second process, which writes `text.db`; a small one is
       done here. Other processes make the rows of much that is new; this one writes them. What cannot be indexed is noted, and tried
       again when there is more of it.
    5. Derive. Sessions, subagents and links of what changed are made again.
    6. Sign. Both indexes note the record's revision, so that the next sync can trust them.

    A large first sync goes through 3 to 5 with the newest transcripts alone before it does so with the rest, since there is nothing to
    answer from before. All new transcripts get their ids before one of them is read, so that makes no other index.

    The record commits before the indexes do, and each index has its own cursor per transcript. So a crash between any two
    steps leaves an index that is behind, never one that is ahead; the next sync sees that the revisions differ, compares all
    cursors with the record's sizes and goes on from there. An index that is damaged, of another version or ahead of the
    record (which was put back to an older copy) is made again.

    `walks` is given what each root held, by its path, where nothing was new.
    """
    started = time.perf_counter()
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreUnusable(
            f"{home}: the data directory cannot be created ({error.strerror or error}). Name another with --home"
        ) from error
    try:
        report = _sync(home, roots, request, max_file, prices or Prices(home), walks)
    except Exception as error:
        note_failure(home, error)
        raise
    if not report.busy and not report.partial:
        beat(home, report.problems)
    return replace(report, seconds=time.perf_counter() - started)


def _sync(
    home: str, roots: Sequence[Root], request: SyncRequest, max_file: int, prices: Prices, walks: dict[str, Walk] | None
) -> SyncReport:
    look = _look(home, roots, max_file, prices) if request.only is None and not request.reread else None
    if look is not None and look.is_quiet:
        if walks is not None:
            walks.update((result.root.path, result.walk) for result in look.surveys if result.walk is not None)
        return replace(_report(look.surveys), problems=last_problems(home))
    with sync_lock(home, request.wait_seconds) as held:
        if not held:
            return SyncReport(busy=True)
        from hansard.index.store import IndexDamaged, discard
        from hansard.record.store import Record
        from hansard.sync.data_files import remove_leftovers

        remove_leftovers(home)
        if os.path.exists(place(home, RECORD + REPAIRED)):
            from hansard.sync.repair import finish_repair

            finish_repair(home)
        _refuse_lost_record(home)
        record = Record.open(place(home, RECORD))
        try:
            run = _Run(home, record, roots, request, max_file, prices)
            try:
                report = run.go(look)
            except IndexDamaged as damage:
                discard(damage.path)
                report = run.go(None)
            finally:
                run.reporter.close()
        finally:
            record.close()
    return report


def _refuse_lost_record(home: str) -> None:
    """Refuse to start over if an index is there but its record is gone or empty: that would hide the loss."""
    from hansard.index.schema import VERSION
    from hansard.index.store import signature

    path = place(home, RECORD)
    if os.path.exists(path) and os.path.getsize(path):
        return
    signed = signature(place(home, INDEX), VERSION)
    if signed is not None and signed[1]:
        raise StoreCorrupt(
            f"{path} is missing or empty, but {INDEX} beside it was made from it. Restore the record from a backup; to "
            f"start over with what the sources still have, remove {INDEX} and {TEXT} from {home} too."
        )


class _Look(Struct, frozen=True):
    """What the walk before the lock saw; it need not be walked again while the record stays at that revision."""

    surveys: list[RootSurvey]
    revision: Revision
    is_quiet: bool


def _look(home: str, roots: Sequence[Root], max_file: int, prices: Prices) -> _Look | None:
    path = place(home, RECORD)
    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    try:
        record = Files.open(path, readonly=True)
    except StoreUnusable:
        # Not made in full, or of an older layout: opening it for writing sees to that, or tells what is wrong.
        return None
    try:
        revision = record.head()
        surveys = survey(record, roots, max_file)
        quiet = all(result.is_quiet for result in surveys) and is_signed(home, record, prices)
        return _Look(surveys, revision, quiet)
    finally:
        record.close()


def is_signed(home: str, record: Files, prices: Prices | None = None) -> bool:
    """Whether both indexes were made from this very state of the record, and priced with these prices."""
    from hansard.index.schema import VERSION
    from hansard.index.store import signature

    expected = (record.store_id, *record.head())
    rows = signature(place(home, INDEX), VERSION)
    if rows is None or rows[:3] != expected or (prices is not None and rows[3] != prices.signature()):
        return False
    texts = signature(place(home, TEXT), VERSION)
    return texts is not None and texts[:3] == expected


def _was_complete(home: str) -> bool:
    """Whether there are rows of a sync that came to its end: something to answer from until this one does."""
    from hansard.index.schema import VERSION
    from hansard.index.store import signature

    signed = signature(place(home, INDEX), VERSION)
    return signed is not None and bool(signed[1])


def _report(surveys: Sequence[RootSurvey]) -> SyncReport:
    return SyncReport(
        transcripts=sum(result.logs for result in surveys),
        unreadable=tuple(line for result in surveys for line in result.unreadable),
        unfollowed_links=sum(result.unfollowed_links for result in surveys),
    )


class _Run:
    """One sync under the lock."""

    def __init__(
        self, home: str, record: Record, roots: Sequence[Root], request: SyncRequest, max_file: int, prices: Prices
    ) -> None:
        self.home = home
        self.record = record
        self.roots = roots
        self.request = request
        self.max_file = max_file
        self.prices = prices
        self.reporter = ProgressReporter(request.listener, home)

    def go(self, look: _Look | None) -> SyncReport:
        from hansard.index.rows import RowIndex
        from hansard.index.store import telling
        from hansard.sync.indexing import catch_up, finish, show
        from hansard.sync.keep import RecordWriter
        from hansard.sync.row_workers import RowWorkers
        from hansard.sync.text import TextRun

        record, request = self.record, self.request
        surveys = self._surveys(look)
        trusted = is_signed(self.home, record)
        is_first = not trusted and not _was_complete(self.home)
        text: TextRun | None = None
        workers = RowWorkers(record, request.row_workers if request.workers else 0)
        records = 0
        # What is kept from here on is hashed then.
        checked = {} if trusted else {generation.id: generation.size for generation in record.generations()}
        try:
            if request.change is not None:
                with record.writing():
                    request.change(record)
            coming = sum(result.bytes for result in surveys)
            text = TextRun(self.home, record, behind=not trusted, coming=coming, workers=request.workers)
            keeper = RecordWriter(
                record,
                self.reporter,
                committed=text.more,
                reread=request.reread,
                compare_bytes=request.compare_bytes,
                scratch=self.home,
            )
            is_large = is_first and text.backlog >= newest.LARGE_BYTES
            if not (is_large and request.newest_only):
                text.start()
            if is_large:
                if not request.newest_only:
                    workers.start(text.backlog)
                records = self._newest(keeper, surveys, checked, workers)
                if request.newest_only:
                    kept = keeper.kept
                    return replace(
                        _report(surveys),
                        changed=kept.changed,
                        bytes_read=kept.bytes_read,
                        records=records,
                        partial=True,
                    )
            kept = keeper.keep(surveys)
            text.complete()
            index = RowIndex(place(self.home, INDEX), record)
            try:
                with telling(index.path):
                    if trusted and index.fresh:
                        trusted = False
                        checked = {generation.id: generation.size for generation in record.generations()}
                    early = partial(show, record, index, self.prices) if is_first else None
                    records += catch_up(
                        record,
                        index,
                        kept.touched if trusted else None,
                        self.reporter,
                        early,
                        checked=checked,
                        workers=workers,
                    )
                    finish(record, index, kept.retouched if trusted else None, self.prices, look=True)
                    report = self._summary(surveys, index)
            finally:
                index.close()
            problems = text.finish(kept.touched if trusted else None, self.reporter)
        except BaseException:
            if text is not None:
                text.abandon()
            raise
        finally:
            workers.close()
        return replace(
            report,
            changed=kept.changed,
            bytes_read=kept.bytes_read,
            records=records,
            gone=kept.gone,
            problems=report.problems + problems,
        )

    def _newest(
        self, keeper: RecordWriter, surveys: Sequence[RootSurvey], checked: Mapping[int, int], workers: RowWorkers
    ) -> int:
        """Keep, index and derive the newest transcripts before all others; returns how many records."""
        from hansard.index.rows import RowIndex
        from hansard.index.store import telling
        from hansard.sync.indexing import index_newest, show

        _, size = self.record.log_totals()
        size += sum(result.log_bytes for result in surveys)
        keeper.keep_newest(surveys, newest.NEWEST_BYTES)
        index = RowIndex(place(self.home, INDEX), self.record)
        try:
            with telling(index.path):
                records = index_newest(self.record, index, newest.NEWEST_BYTES, checked=checked, workers=workers)
                with index.transaction():
                    index.expect(self.record.log_totals()[0], size)
                show(self.record, index, self.prices)
        finally:
            index.close()
        return records

    def _surveys(self, look: _Look | None) -> list[RootSurvey]:
        record, only = self.record, self.request.only
        surveys = survey_paths(record, self.roots, only, self.max_file) if only is not None else None
        if surveys is not None:
            return surveys
        if look is not None and look.revision == record.head():
            return look.surveys
        return survey(record, self.roots, self.max_file, reread=self.request.reread)

    def _summary(self, surveys: Sequence[RootSurvey], index: RowIndex) -> SyncReport:
        report = _report(surveys)
        if not all(result.complete and not result.root.layout.rows for result in surveys):
            logs = index.db.execute(
                "SELECT root, count(*) FROM transcripts WHERE current IN (0, 1) AND state = 'live' GROUP BY root"
            )
            paths = {root.path for root in self.roots}
            report = replace(report, transcripts=sum(count for root, count in logs if root in paths))
        issues = index.db.execute("SELECT coalesce(sum(issues), 0) FROM transcripts WHERE current = 1").fetchone()
        problems = len(self.record.quarantined()) + index.quarantined()
        return replace(report, issues=issues[0] if issues else 0, problems=problems)
