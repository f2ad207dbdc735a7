"""The sync: bring a store up to date."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

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
from hansard.sync.report import DEFAULT_MAX_FILE, Change, ProgressReporter, SyncReport, SyncRequest
from hansard.sync.survey import RootSurvey, survey, survey_paths

if TYPE_CHECKING:
    from hansard.index.rows import RowIndex
    from hansard.record.store import Record
    from hansard.sync.record_writer import RecordWriter
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
       indexes were made from this revision of the record, the sync ends without writing or locking anything.
    2. Lock. One process syncs at a time; another that waited too long for the lock answers from the existing indexes.
    3. Keep. For each file that differs, newest first, read what is new and append it to the record; a log that was truncated,
       rewritten or replaced begins a new generation, and the former one stays. Files that disappeared are marked gone. All of it is
       committed before any byte is parsed, and a file that cannot be read is quarantined while the others go on.
    4. Index. What the record has and the indexes lack is read back and becomes rows of `index.db`. The text of a large backlog is
       indexed at the same time, from the record's first commit on, by a second process, which writes `text.db`; a small one is
       indexed here. For a large backlog other processes make the rows; this one writes them. What cannot be indexed is noted, and tried
       again when it has grown.
    5. Derive. Sessions, subagents and links are derived again for what changed.
    6. Sign. Both indexes store the record's revision, so that the next sync can trust them.

    A large first sync takes the newest transcripts through 3 to 5 before the rest, since there is nothing to
    answer from before. All new transcripts get their ids before any is read, so the index is the same.

    The record commits before the indexes, and each index has its own cursor per transcript. So a crash between any two
    steps leaves an index that is behind, never one that is ahead; the next sync notices that the revisions differ, compares all
    cursors with the record's sizes and goes on from there. An index that is damaged, of another version or ahead of the
    record (which was restored from an older copy) is made again.

    `walks` gets the walk of each root, by its path, if nothing was new.
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
            if record.has_unfinished_erasure():
                from hansard.sync.erasing import go_on_overwriting

                go_on_overwriting(record)
            run = _Run(home, record, roots, request, max_file, prices)
            try:
                report = run.go(look)
            except IndexDamaged as damage:
                discard(damage.path)
                report = run.go(None)
            finally:
                run.reporter.close()
            if run.late:
                from hansard.sync.erasing import erase_late

                run.erase(erase_late(run.late))
            if record.has_unfinished_erasure():
                from hansard.sync.erasing import finish

                report = replace(report, unfinished=finish(home, record))
        finally:
            record.close()
    return report


def _refuse_lost_record(home: str) -> None:
    """Refuse to start over if there is an index whose record is missing or empty: that would hide the loss."""
    path = place(home, RECORD)
    if os.path.exists(path) and os.path.getsize(path):
        return
    if _was_complete(home):
        raise StoreCorrupt(
            f"{path} is missing or empty, but {INDEX} beside it was made from it. Restore the record from a backup; to "
            f"start over with what the sources still have, remove {INDEX} and {TEXT} from {home} too."
        )


class _Look(Struct, frozen=True):
    """The walk before the lock; it is valid as long as the record stays at that revision."""

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
        return None  # incomplete, or of an older layout: opening it for writing completes it, or reports what is wrong
    try:
        revision = record.head()
        surveys = survey(record, roots, max_file)
        quiet = all(result.is_quiet for result in surveys) and is_signed(home, record, prices)
        quiet = quiet and not record.has_unfinished_erasure()
        return _Look(surveys, revision, quiet)
    finally:
        record.close()


def is_signed(home: str, record: Files, prices: Prices | None = None) -> bool:
    """Whether both indexes were made from this state of the record, and priced with these prices."""
    expected = (record.store_id, *record.head())
    rows = _signature(home, INDEX)
    if rows is None or rows[:3] != expected or (prices is not None and rows[3] != prices.signature()):
        return False
    texts = _signature(home, TEXT)
    return texts is not None and texts[:3] == expected


def _was_complete(home: str) -> bool:
    """Whether the index has the rows of a complete sync, to answer from until this one ends."""
    signed = _signature(home, INDEX)
    return signed is not None and bool(signed[1])


def _signature(home: str, name: str) -> tuple[Any, ...] | None:
    """The record that an index was made from, and its prices; None if it is missing or of another version."""
    from hansard.index.schema import VERSION
    from hansard.index.store import signature

    return signature(place(home, name), VERSION)


def _report(surveys: Sequence[RootSurvey]) -> SyncReport:
    return SyncReport(
        transcripts=sum(result.logs for result in surveys),
        unreadable=tuple(line for result in surveys for line in result.unreadable),
        unfollowed_links=sum(result.unfollowed_links for result in surveys),
        forgotten=sum(result.forgotten for result in surveys),
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
        self.late: dict[int, list[tuple[int, bytes]]] = {}

    def erase(self, change: Change) -> None:
        """Erase something from the record and from the indexes, which are up to date with it."""
        _Run(self.home, self.record, (), SyncRequest(only=(), change=change), self.max_file, self.prices).go(None)

    def go(self, look: _Look | None) -> SyncReport:
        from hansard.index.rows import RowIndex
        from hansard.index.store import telling
        from hansard.sync.indexing import catch_up, finish, show
        from hansard.sync.record_writer import RecordWriter
        from hansard.sync.row_workers import RowWorkers
        from hansard.sync.text import TextRun

        record, request = self.record, self.request
        surveys = self._surveys(look)
        trusted = is_signed(self.home, record)
        is_first = not trusted and not _was_complete(self.home)
        text: TextRun | None = None
        workers = RowWorkers(record, request.row_workers if request.workers else 0)
        records = 0
        checked = {} if trusted else record.sizes()  # bytes stored from here on are hashed as they come
        try:
            if request.change is not None:
                with record.writing():
                    erased = request.change(record)
                if erased:
                    trusted, checked = False, record.sizes()
            coming = sum(result.bytes for result in surveys)
            if request.text:
                text = TextRun(self.home, record, behind=not trusted, coming=coming, workers=request.workers)
            keeper = RecordWriter(
                record,
                self.reporter,
                committed=(lambda: None) if text is None else text.more,
                reread=request.reread,
                compare_bytes=request.compare_bytes,
                scratch=self.home,
            )
            is_large = is_first and text is not None and text.backlog >= newest.LARGE_BYTES
            if text is not None and not (is_large and request.newest_only):
                text.start()
            if is_large and text is not None:
                if not request.newest_only:
                    workers.start(text.backlog)
                records = self._newest(keeper, surveys, checked, workers)
                if request.newest_only:
                    early = {"changed": keeper.kept.changed, "bytes_read": keeper.kept.bytes_read}
                    return replace(_report(surveys), **early, records=records, partial=True)
            kept = keeper.keep(surveys)
            self.late = kept.late
            if text is not None:
                text.complete()
            index = RowIndex(place(self.home, INDEX), record)
            try:
                with telling(index.path):
                    if trusted and index.fresh:
                        trusted, checked = False, record.sizes()
                    show_early = partial(show, record, index, self.prices) if is_first else None
                    touched = kept.touched if trusted else None
                    records += catch_up(
                        record, index, touched, self.reporter, show_early, checked=checked, workers=workers
                    )
                    finish(record, index, kept.retouched if trusted else None, self.prices, look=True)
                    report = self._summary(surveys, index)
            finally:
                index.close()
            problems = 0 if text is None else text.finish(touched, self.reporter)
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
        """Store, index and derive the newest transcripts before all others; returns the number of records."""
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
