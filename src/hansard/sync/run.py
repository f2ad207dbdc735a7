"""Bringing a store up to date."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hansard.record.store import GONE, LIVE, Known, Record
from hansard.sources.discover import Found
from hansard.sources.names import agent_of, project_dir_of, session_of
from hansard.sources.roots import Root
from hansard.sources.tail import Tail, Verdict, open_tail
from hansard.sync.lock import sync_lock
from hansard.sync.report import Listener, Progress, SyncReport
from hansard.sync.survey import RootSurvey, survey, survey_paths

if TYPE_CHECKING:
    from hansard.index.rows import RowIndex, Transcript
    from hansard.record.store import Generation

RECORD, INDEX, TEXT = "record.db", "index.db", "text.db"
DEFAULT_MAX_FILE = 64 << 20
_COMMIT_BYTES = 24 << 20
_WORKER_BYTES = 24 << 20  # a backlog over this is worth a second process
_PIECE = 1 << 20


def sync(
    home: str,
    roots: Sequence[Root],
    *,
    max_file: int = DEFAULT_MAX_FILE,
    listener: Listener | None = None,
    wait_seconds: float = 2.0,
    only: Collection[str] | None = None,
    workers: bool = True,
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
    cursors with the record's sizes and goes on from there.

    `only` names files (absolute paths) that are known to have changed, which saves the walk.
    """
    started = time.perf_counter()
    os.makedirs(home, mode=0o700, exist_ok=True)
    if only is None:
        quick = _nothing_to_do(home, roots)
        if quick is not None:
            return replace(quick, seconds=time.perf_counter() - started)
    with sync_lock(home, wait_seconds) as held:
        if not held:
            return SyncReport(busy=True, seconds=time.perf_counter() - started)
        record = Record.open(os.path.join(home, RECORD))
        try:
            run = _Run(home, record, roots, max_file=max_file, listener=listener, workers=workers)
            report = run.go(only)
        finally:
            record.close()
    return replace(report, seconds=time.perf_counter() - started)


def _nothing_to_do(home: str, roots: Sequence[Root]) -> SyncReport | None:
    path = os.path.join(home, RECORD)
    if not os.path.exists(path):
        return None
    record = Record.open(path, readonly=True)
    try:
        surveys = survey(record, roots)
        if all(result.is_quiet for result in surveys) and _signed(home, record):
            return _report(surveys)
    finally:
        record.close()
    return None


def _signed(home: str, record: Record) -> bool:
    """Whether both indexes were made from this very state of the record."""
    from hansard.index.store import signature

    expected = (record.store_id, record.revision())
    return all(signature(os.path.join(home, name)) == expected for name in (INDEX, TEXT))


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
        *,
        max_file: int,
        listener: Listener | None,
        workers: bool,
    ) -> None:
        self.home = home
        self.record = record
        self.roots = roots
        self.max_file = max_file
        self.listener = listener
        self.workers = workers
        self.progress = Progress()
        self.touched: set[int] = set()  # generations with something new
        self.changed = 0
        self.bytes_read = 0
        self.records = 0
        self._told = 0.0
        self._writing: contextlib.AbstractContextManager[None] | None = None
        self._indexing: contextlib.AbstractContextManager[None] | None = None
        self._uncommitted = 0
        self.index: RowIndex
        self.worker: object = None

    def go(self, only: Collection[str] | None) -> SyncReport:
        from hansard.index.derive import derive
        from hansard.index.rows import RowIndex
        from hansard.sync.text import TextRun

        record = self.record
        surveys = survey_paths(record, self.roots, only) if only is not None else None
        if surveys is None:
            surveys = survey(record, self.roots)
        trusted = _signed(self.home, record)
        total = sum(max(0, file.size - (known.size if known else 0)) for result in surveys for file, known in result.changed)
        self.progress.files_total = sum(len(result.changed) for result in surveys)
        self.progress.bytes_total = total
        self.index = RowIndex(os.path.join(self.home, INDEX), record.store_id, record.revision())
        text = TextRun(self.home, record, backlog=total, workers=self.workers, minimum=_WORKER_BYTES)
        try:
            self._begin()
            for result in surveys:
                self._root(result, text)
            self._commit()
            text.more()
            self._catch_up(text, everything=not trusted)
            self.index.finish_bulk()
            with self.index.transaction():
                self._side_files()
                derive(self.index.db)
                self.index.set_meta("revision", record.revision())
                self.index.set_meta("synced_at", int(time.time() * 1000))
            text.finish(self.touched if trusted else None, self._tell)
            issues = self.index.db.execute("SELECT coalesce(sum(issues), 0) FROM transcripts WHERE current = 1").fetchone()[0]
        except BaseException:
            self._abandon()
            text.abandon()
            raise
        finally:
            self.index.close()
        report = _report(surveys)
        return replace(
            report,
            changed=self.changed,
            bytes_read=self.bytes_read,
            records=self.records,
            issues=issues,
            gone=sum(len(result.gone) for result in surveys),
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

    def _abandon(self) -> None:
        error = KeyboardInterrupt()
        for open_ in (self._writing, self._indexing):
            if open_ is not None:
                with contextlib.suppress(BaseException):
                    open_.__exit__(type(error), error, None)

    # -- keeping

    def _root(self, result: RootSurvey, text: object) -> None:
        record = self.record
        root_id = record.root_id(result.root.path, result.root.name)
        for file, known in sorted(result.changed, key=lambda pair: pair[0].path):
            try:
                if file.kind.is_log:
                    self._log(result.root, root_id, file, known)
                else:
                    self._whole(result.root, root_id, file, known)
            except FileNotFoundError:
                if known is not None and known.state == LIVE:
                    record.set_state([known.file_id], GONE, _now())
            except OSError as error:
                result.unreadable.append(f"{result.root.locate(file.path)}: {error.strerror or error}")
            self.progress.files += 1
            self._tell()
            if self._uncommitted >= _COMMIT_BYTES:
                self._commit()
                text.more()  # type: ignore[attr-defined]
                self._begin()
        if result.gone:
            record.set_state([known.file_id for known in result.gone], GONE, _now())
            self.touched.update(known.generation for known in result.gone if known.offset is not None)
        if result.complete:
            record.forget_left_out(root_id, {item.path for item in result.left_out})
            for item in result.left_out:
                record.leave_out(root_id, item.path, item.size, item.reason)

    def _log(self, root: Root, root_id: int, file: Found, known: Known | None) -> None:
        record = self.record
        mark = known.mark if known is not None else None
        same = record.same_prefix(known.generation) if known is not None and mark is not None else None
        with open_tail(root.locate(file.path), mark, same) as tail:
            if known is not None and known.state == GONE:
                record.set_state([known.file_id], LIVE, _now())
                self.touched.add(known.generation)
            if tail.verdict is Verdict.SAME and known is not None:
                record.settle(known.generation, tail.mark(), tail.mode)
                return
            self.changed += 1
            if tail.verdict is Verdict.GREW and known is not None:
                generation = known.generation
            else:
                generation = record.start_generation(root_id, file.path, file.kind.value, tail.verdict.value)
                if known is not None:
                    self.touched.add(known.generation)
            self.touched.add(generation)
            self._feed(root, file, generation, tail)

    def _feed(self, root: Root, file: Found, generation: int, tail: Tail) -> None:
        """Read a log's new bytes once: each piece is kept first, then indexed."""
        record = self.record
        kept = record.size(generation)
        known = self.index.known(generation)
        transcript = transcript_of(record.generation(generation), root.path, size=tail.size, mtime_ns=file.mtime_ns)

        def pieces() -> Iterator[bytes]:
            if known < kept:
                yield from record.read(generation, known, kept)
            for piece in tail.pieces(_PIECE):
                record.append(generation, piece)
                self.bytes_read += len(piece)
                self._uncommitted += len(piece)
                self.progress.bytes = self.bytes_read
                self._tell()
                yield piece

        self.records += self.index.feed(transcript, pieces())
        record.settle(generation, tail.mark(), tail.mode)

    def _whole(self, root: Root, root_id: int, file: Found, known: Known | None) -> None:
        record = self.record
        if file.size > self.max_file:
            record.leave_out(root_id, file.path, file.size, f"larger than {self.max_file} bytes")
            return
        with open_tail(root.locate(file.path), None) as tail:
            data = b"".join(itertools.chain(tail.pieces(_PIECE)))
            if known is not None and known.state == GONE:
                record.set_state([known.file_id], LIVE, _now())
            if record.snapshot(root_id, file.path, file.kind.value, data, tail.mark(), tail.mode):
                self.changed += 1
            self.bytes_read += len(data)
            self._uncommitted += len(data)

    # -- indexing what the record has and the index has not

    def _catch_up(self, text: object, *, everything: bool) -> None:
        record, index = self.record, self.index
        roots = {row.id: row.path for row in record.roots()}
        indexed = index.indexed()
        with index.transaction():
            wanted = record.generations() if everything else (record.generation(id_) for id_ in sorted(self.touched))
            for generation in wanted:
                transcript = transcript_of(generation, roots[generation.root_id])
                known = indexed.get(generation.id)
                if known is None or known.indexed > generation.size:
                    index.forget(generation.id)
                    known = None
                if known is None or known.size < generation.size:
                    start = known.indexed if known is not None else 0
                    self.records += index.feed(transcript, record.read(generation.id, start))
                elif (known.state, known.current) != (transcript.state, transcript.current):
                    index.note(transcript)

    def _side_files(self) -> None:
        from hansard.index.sides import WITH_CONTENT, SideFile, put

        record, index = self.record, self.index
        roots = {row.id: row.path for row in record.roots()}
        last = index.meta("snapshot")
        done = last if isinstance(last, int) else 0
        for snapshot in record.snapshots(after=done):
            data = record.read_snapshot(snapshot.id) if snapshot.kind in WITH_CONTENT else None
            side = SideFile(
                snapshot.id,
                roots[snapshot.root_id],
                snapshot.path,
                snapshot.kind,
                session_of(snapshot.path) or "",
                agent_of(snapshot.path) or "",
                snapshot.size,
                snapshot.mtime_ns // 1_000_000,
            )
            put(index.db, side, data)
            done = snapshot.id
        index.set_meta("snapshot", done)

    def _tell(self, progress: Progress | None = None) -> None:
        if self.listener is not None and (now := time.perf_counter()) - self._told > 0.1:
            self._told = now
            self.listener(progress or self.progress)


def transcript_of(
    generation: Generation, root: str, *, size: int | None = None, mtime_ns: int | None = None
) -> Transcript:
    """What the index must know of a generation."""
    from hansard.index.rows import Transcript

    path = generation.path
    return Transcript(
        id=generation.id,
        root=root,
        path=path,
        kind=generation.kind,
        generation=generation.seq,
        current=generation.current,
        state=generation.state,
        size=generation.size if size is None else size,
        mtime=(generation.mtime_ns if mtime_ns is None else mtime_ns) // 1_000_000,
        session_id=session_of(path) or "",
        agent_id=agent_of(path) or "",
        project_dir=project_dir_of(path) or "",
    )


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
