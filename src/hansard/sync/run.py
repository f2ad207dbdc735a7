"""Bringing a store up to date."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from hansard.errors import StoreCorrupt, StoreUnusable
from hansard.pricing.settle import Prices
from hansard.record.store import GONE, LIVE, Known, Record
from hansard.sources.discover import Found
from hansard.sources.layout import FileKind
from hansard.sources.roots import Root
from hansard.sources.tail import Tail, Verdict, open_tail
from hansard.sync.lock import sync_lock
from hansard.sync.places import INDEX, NEW, RECORD, TEXT, place
from hansard.sync.report import DEFAULT_MAX_FILE, Listener, SyncReport, Teller
from hansard.sync.survey import RootSurvey, survey, survey_paths

if TYPE_CHECKING:
    from hansard.index.rows import RowIndex
    from hansard.sync.text import TextRun

# A commit waits for the disk. The first ones come early, so that the second process has something to do.
_FIRST_COMMIT, _LAST_COMMIT = 4 << 20, 32 << 20
_PIECE = 1 << 18  # one chunk of the record; larger pieces only leave the cache


Change = Callable[[Record], None]


def sync(
    home: str,
    roots: Sequence[Root],
    *,
    max_file: int = DEFAULT_MAX_FILE,
    listener: Listener | None = None,
    wait_seconds: float = 2.0,
    only: Collection[str] | None = None,
    workers: bool = True,
    prices: Prices | None = None,
    change: Change | None = None,
) -> SyncReport:
    """Bring the store in `home` up to date with its source roots.

    1. Look. Walk the roots and compare names, sizes, times and inodes with the record's. If nothing differs and both
       indexes were made from this very revision of the record, that was all, and nothing was written or locked.
    2. Lock. One process syncs at a time; another one that finds the lock held for long answers from what is there.
    3. Keep. For each file that differs, read what is new and append it to the record; a log that was truncated, rewritten
       or replaced begins a new generation, the former one stays. Files that vanished are marked gone.
    4. Index. The bytes that were just read go on to the rows of `index.db`; after each commit of the record the rows of
       that stretch are committed with their cursor. The text of a large backlog is indexed at the same time by a second
       process, which reads the record and writes `text.db`; a small one is done here.
    5. Derive. Sessions, subagents and links of what changed are made again.
    6. Sign. Both indexes note the record's revision, so that the next sync can trust them.

    The record commits before the indexes do, and each index has its own cursor per transcript. So a crash between any two
    steps leaves an index that is behind, never one that is ahead; the next sync sees that the revisions differ, compares all
    cursors with the record's sizes and goes on from there. An index that is damaged, of another version or ahead of the
    record (which was put back to an older copy) is made again.

    `only` names files (absolute paths) that are known to have changed, which saves the walk. `change` writes what no source has,
    the user's remarks, in a transaction of its own before step 3; it may be called again when an index turns out to be damaged.
    """
    started = time.perf_counter()
    prices = prices or Prices(home)
    look = _look(home, roots, max_file, prices) if only is None else None
    if look is not None and look.is_quiet:
        return replace(_report(look.surveys), seconds=time.perf_counter() - started)
    with sync_lock(home, wait_seconds) as held:
        if not held:
            return SyncReport(busy=True, seconds=time.perf_counter() - started)
        from hansard.index.store import IndexDamaged, discard

        for name in (INDEX, TEXT):
            if os.path.exists(place(home, name + NEW)):
                discard(place(home, name + NEW))
        _refuse_lost_record(home)
        record = Record.open(place(home, RECORD))
        try:
            try:
                report = _Run(home, record, roots, max_file, listener, prices, workers=workers).go(only, look, change)
            except IndexDamaged as damage:
                discard(damage.path)
                report = _Run(home, record, roots, max_file, listener, prices, workers=workers).go(only, None, change)
        finally:
            record.close()
    return replace(report, seconds=time.perf_counter() - started)


def _refuse_lost_record(home: str) -> None:
    """An index whose record is gone or empty is no new store: to begin anew in silence would hide what was lost."""
    from hansard.index.schema import VERSION
    from hansard.index.store import signature

    path = place(home, RECORD)
    if os.path.exists(path) and os.path.getsize(path):
        return
    signed = signature(place(home, INDEX), VERSION)
    if signed is not None and signed[1]:
        raise StoreCorrupt(
            f"{path} is missing or empty, but {INDEX} beside it was made from it. Put a backup of the record in its place; to "
            f"begin anew with what the sources still have, remove {INDEX} and {TEXT} from {home} too."
        )


class _Look(NamedTuple):
    """What the walk before the lock saw; it need not be walked again while the record stays at that revision."""

    surveys: list[RootSurvey]
    revision: int
    is_quiet: bool


def _look(home: str, roots: Sequence[Root], max_file: int, prices: Prices) -> _Look | None:
    path = place(home, RECORD)
    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    try:
        record = Record.open(path, readonly=True)
    except StoreUnusable:
        # Not made in full, or of an older layout: opening it for writing sees to that, or tells what is wrong.
        return None
    try:
        revision = record.revision()
        surveys = survey(record, roots, max_file)
        quiet = all(result.is_quiet for result in surveys) and _signed(home, record) and _priced(home, prices)
        return _Look(surveys, revision, quiet)
    finally:
        record.close()


def _signed(home: str, record: Record) -> bool:
    """Whether both indexes were made from this very state of the record."""
    from hansard.index.schema import VERSION
    from hansard.index.store import signature

    expected = (record.store_id, record.revision())
    return all(signature(place(home, name), VERSION) == expected for name in (INDEX, TEXT))


def _priced(home: str, prices: Prices) -> bool:
    """Whether the index was priced with the prices of today."""
    from hansard.index.store import meta

    return meta(place(home, INDEX), "prices") == prices.signature()


def _report(surveys: Sequence[RootSurvey]) -> SyncReport:
    return SyncReport(
        transcripts=sum(result.logs for result in surveys),
        unreadable=tuple(line for result in surveys for line in result.unreadable),
    )


class _Run:
    """One sync under the lock."""

    def __init__(
        self,
        home: str,
        record: Record,
        roots: Sequence[Root],
        max_file: int,
        listener: Listener | None,
        prices: Prices,
        *,
        workers: bool,
    ) -> None:
        self.home = home
        self.prices = prices
        self.record = record
        self.roots = roots
        self.max_file = max_file
        self.teller = Teller(listener)
        self.workers = workers
        self.touched: set[int] = set()  # generations with something new
        self.retouched: dict[int, int] = {}  # snapshots with a new date
        self.changed = 0
        self.gone = 0
        self.bytes_read = 0
        self.records = 0
        self._writing: contextlib.AbstractContextManager[None] | None = None
        self._indexing: contextlib.AbstractContextManager[None] | None = None
        self._uncommitted = 0
        self._enough = _FIRST_COMMIT
        self.index: RowIndex

    def go(self, only: Collection[str] | None, look: _Look | None, change: Change | None) -> SyncReport:
        from hansard.index.rows import RowIndex
        from hansard.index.store import telling
        from hansard.sync.indexing import catch_up, finish
        from hansard.sync.text import TextRun

        record = self.record
        surveys = survey_paths(record, self.roots, only, self.max_file) if only is not None else None
        if surveys is None:
            known = look is not None and look.revision == record.revision()
            surveys = look.surveys if look is not None and known else survey(record, self.roots, self.max_file)
        trusted = _signed(self.home, record)
        total = sum(result.bytes for result in surveys)
        self.index = RowIndex(place(self.home, INDEX), record.store_id, record.revision())
        trusted = trusted and not self.index.fresh
        text: TextRun | None = None
        try:
            with telling(self.index.path):
                text = TextRun(self.home, record, behind=not trusted, coming=total, workers=self.workers)
                if change is not None:
                    with record.writing():
                        change(record)
                self._keep(surveys, total, text)
                self.records += catch_up(record, self.index, self.touched if trusted else None, self.teller)
                finish(record, self.index, self.retouched if trusted else None, self.prices)
                text.finish(self.touched if trusted else None, self.teller)
                return self._summary(surveys)
        except BaseException as error:
            self._abandon(error)
            if text is not None:
                text.abandon()
            raise
        finally:
            self.index.close()

    def _summary(self, surveys: Sequence[RootSurvey]) -> SyncReport:
        report = _report(surveys)
        if not all(result.complete for result in surveys):
            logs = self.index.db.execute(
                "SELECT root, count(*) FROM transcripts WHERE current = 1 AND state = 'live' GROUP BY root"
            )
            paths = {root.path for root in self.roots}
            report = replace(report, transcripts=sum(count for root, count in logs if root in paths))
        issues = self.index.db.execute("SELECT coalesce(sum(issues), 0) FROM transcripts WHERE current = 1").fetchone()
        return replace(
            report,
            changed=self.changed,
            bytes_read=self.bytes_read,
            records=self.records,
            issues=issues[0] if issues else 0,
            gone=self.gone,
        )

    # -- transactions of both databases, the record's always first

    def _begin(self) -> None:
        self._writing = self.record.writing()
        self._writing.__enter__()
        self._indexing = self.index.transaction()
        self._indexing.__enter__()
        self._uncommitted = 0

    def _commit(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.__exit__(None, None, None)
        indexing, self._indexing = self._indexing, None
        if indexing is not None:
            indexing.__exit__(None, None, None)

    def _abandon(self, error: BaseException) -> None:
        """Undo what is not committed; the error itself goes on from where it was raised."""
        for open_ in (self._writing, self._indexing):
            if open_ is not None:
                with contextlib.suppress(BaseException):
                    open_.__exit__(type(error), error, error.__traceback__)
        self._writing = self._indexing = None

    # -- keeping

    def _keep(self, surveys: Sequence[RootSurvey], total: int, text: TextRun) -> None:
        """Take over into the record and its rows what the surveys found."""
        self.teller.begin("reading", files=sum(len(result.changed) for result in surveys), size=total)
        self._begin()
        for result in surveys:
            self._root(result, text)
        self._commit()
        self.teller.end()
        text.more()

    def _root(self, result: RootSurvey, text: TextRun) -> None:
        record = self.record
        root_id = record.root_id(result.root.path, result.root.name)
        # The oldest first: ids then follow time, and a search that must stop somewhere stops among the old ones.
        for file, known in sorted(result.changed, key=lambda pair: (pair[0].mtime_ns, pair[0].path)):
            try:
                if file.kind.is_log:
                    self._log(result, root_id, file, known)
                else:
                    self._whole(result, root_id, file, known)
            except FileNotFoundError:
                if known is not None and known.state == LIVE:
                    self._lose([known])
            except OSError as error:
                result.unreadable.append(f"{result.root.locate(file.path)}: {error.strerror or error}")
            self.teller.step(files=1)
            if self._uncommitted >= self._enough:
                self._enough = min(2 * self._enough, _LAST_COMMIT)
                self._commit()
                text.more()
                self._begin()
        if result.gone:
            self._lose(result.gone)
        if result.complete:
            record.forget_left_out(root_id, {item.path for item in result.left_out})
            for item in result.left_out:
                record.leave_out(root_id, item.path, item.size, item.reason)

    def _lose(self, lost: Sequence[Known]) -> None:
        self.record.set_state([known.file_id for known in lost], GONE, _now())
        self.touched.update(known.generation for known in lost if _is_log(known))
        self.gone += len(lost)

    def _log(self, result: RootSurvey, root_id: int, file: Found, known: Known | None) -> None:
        record = self.record
        if known is not None and not _is_log(known):
            known = None
        mark = known.mark if known is not None else None
        same = record.same_prefix(known.generation) if known is not None and mark is not None else None
        with open_tail(result.root.locate(file.path), mark, same) as tail:
            if known is not None and known.state == GONE:
                record.set_state([known.file_id], LIVE, _now())
                self.touched.add(known.generation)
            if tail.verdict is Verdict.SAME and known is not None:
                fresh = tail.mark()
                record.settle(known.generation, fresh, tail.mode)
                if fresh.mtime_ns != known.mtime_ns:
                    self.touched.add(known.generation)
                return
            self.changed += 1
            if tail.verdict is not Verdict.GREW or known is None:
                self._begin_log(result, root_id, file, known, tail, tail.verdict.value)
            elif record.can_append(known.generation):
                self.touched.add(known.generation)
                self._feed(result, file, known.generation, tail)
            else:
                with open_tail(result.root.locate(file.path), None) as whole:
                    self._begin_log(result, root_id, file, known, whole, "damaged")

    def _begin_log(
        self, result: RootSurvey, root_id: int, file: Found, known: Known | None, tail: Tail, reason: str
    ) -> None:
        """Read a log from its first byte into a generation of its own."""
        generation = self.record.start_generation(root_id, file.path, file.kind.value, reason)
        self.touched.update({generation} if known is None else {generation, known.generation})
        self._feed(result, file, generation, tail)

    def _feed(self, result: RootSurvey, file: Found, generation: int, tail: Tail) -> None:
        """Read a log's new bytes once: each piece is kept first, then indexed."""
        from hansard.sync.indexing import transcript_of

        record = self.record
        kept = record.size(generation)
        known = self.index.known(generation)
        transcript = transcript_of(record.generation(generation), result.root.path, tail.mark().mtime_ns)

        def pieces() -> Iterator[bytes]:
            if known < kept:
                yield from record.read(generation, known, kept, mend=True)
            try:
                for piece in tail.pieces(_PIECE):
                    record.append(generation, piece)
                    self._count(len(piece))
                    yield piece
            except OSError as error:
                # What was read up to here stays; the next sync tries to go on.
                result.unreadable.append(f"{result.root.locate(file.path)}: {error.strerror or error}")

        self.records += self.index.feed(transcript, pieces())
        record.settle(generation, tail.mark(), tail.mode)

    def _whole(self, result: RootSurvey, root_id: int, file: Found, known: Known | None) -> None:
        record = self.record
        with open_tail(result.root.locate(file.path), None) as tail:
            data = b"".join(tail.pieces(_PIECE))
            mark = tail.mark()
            self._count(len(data))
            if record.snapshot(root_id, file.path, file.kind.value, data, mark, tail.mode):
                self.changed += 1
            elif known is not None and not _is_log(known):
                self.retouched[known.generation] = mark.mtime_ns

    def _count(self, size: int) -> None:
        self.bytes_read += size
        self._uncommitted += size
        self.teller.step(size)


def _is_log(known: Known) -> bool:
    return FileKind(known.kind).is_log


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
