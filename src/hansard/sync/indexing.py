"""From the record to `index.db`, for a sync and for a rebuild."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from hansard.clients import client_of
from hansard.errors import StoreCorrupt
from hansard.index.derive import derive
from hansard.index.drop import drop_side_files, drop_transcripts
from hansard.index.record_facts import (
    WITH_CONTENT,
    Remarked,
    SideFile,
    put_moves,
    put_remarks,
    put_side_file,
    put_worktrees,
    retouch_side_files,
)
from hansard.index.rows import Indexed, RowIndex, Transcript
from hansard.index.store import IndexDamaged
from hansard.pricing.settle import Prices, settle
from hansard.record.store import Generation, Record, Remark, RootRow
from hansard.sources.git import find_worktree
from hansard.sources.roots import path_inside
from hansard.sync import newest
from hansard.sync.report import ProgressReporter
from hansard.sync.row_workers import FoldFailedError, RowWorkers, Task

REWRITTEN = "rewritten"
_COMMIT_BYTES = 64 << 20
_GROWTH = 8  # how many times as much is indexed before it is shown again: making the indexes again costs little then
_DONE_HERE = frozenset({"cast", "history"})  # kinds of logs that are not transcripts


def transcript_of(generation: Generation, root: RootRow) -> Transcript:
    """A generation as the index stores it."""
    path = generation.path
    info = client_of(root.client).path_info(path)
    return Transcript(
        id=generation.id,
        root=root.path,
        client=root.client,
        path=path,
        kind=generation.kind,
        generation=generation.seq,
        # The content of a former generation is no longer in the file.
        state=generation.state if generation.current else REWRITTEN,
        mtime=generation.mtime_ns // 1_000_000,
        session_id=info.session_id,
        agent_id=info.agent_id,
        project_dir=info.project_dir,
        stem=info.stem,
    )


class Backlog(NamedTuple):
    """The part of a transcript that the record has and the index has not."""

    transcript: Transcript
    start: int
    end: int
    is_new: bool  # no part of it is indexed

    @property
    def size(self) -> int:
        return self.end - self.start


def catch_up(
    record: Record,
    index: RowIndex,
    touched: set[int] | None,
    reporter: ProgressReporter,
    show: Callable[[], None] | None = None,
    *,
    checked: Mapping[int, int],
    workers: RowWorkers,
) -> int:
    """Index what is missing of some generations (None: of all); returns the number of records.

    `show` is called in between during a large first sync, which begins with the newest, so that there is something to answer from.
    `checked` is the offset up to which the bytes of a generation are verified: what was hashed just now need not be.
    `workers` make the rows of new transcripts.
    """
    known = index.indexed(touched)
    if touched is None:
        _drop(record, index, known)
    wanted: Iterable[Generation] = (
        record.generations() if touched is None else (record.generation(id_) for id_ in sorted(touched))
    )
    notes: list[Transcript] = []
    waiting = list(_backlog(record, index, known, wanted, notes))
    if notes:
        with index.transaction():
            for transcript in notes:
                index.note(transcript)
    if not waiting:
        return 0
    size = sum(item.size for item in waiting)
    reporter.begin("indexing", files=len(waiting), size=size)
    if show is not None and size >= max(newest.LARGE_BYTES, sum(had.size for had in known.values())):
        index.begin_bulk()
    batches = list(_batches(waiting)) if show is not None else [waiting]
    workers.start(size)
    workers.give(_tasks((item for batch in batches for item in batch), checked))
    records = 0
    for number, batch in enumerate(batches, 1):
        records += _feed(record, index, batch, reporter, workers, checked=checked)
        if number < len(batches) and show is not None:
            show()
    reporter.end()
    return records


def _drop(record: Record, index: RowIndex, known: dict[int, Indexed]) -> None:
    """Drop what was erased from the record; transcripts that must be read again count as new."""
    gone = known.keys() - record.generation_ids() if known else set()
    if gone:
        with index.transaction():
            for transcript in drop_transcripts(index.db, gone):
                known.pop(transcript, None)


def _tasks(waiting: Iterable[Backlog], checked: Mapping[int, int]) -> Iterator[Task]:
    """The tasks for workers: transcripts that are not indexed yet."""
    for item in waiting:
        if item.is_new and item.transcript.kind not in _DONE_HERE:
            yield Task(item.transcript, item.end, check=checked.get(item.transcript.id, 0) > 0)


def index_newest(
    record: Record, index: RowIndex, limit: int, *, checked: Mapping[int, int], workers: RowWorkers
) -> int:
    """Index the newest missing transcripts, up to about `limit` bytes; returns the number of records.

    `checked` and `workers` as for `catch_up`.
    """
    backlog = _backlog(record, index, index.indexed(), record.newest_generations(), [])
    chosen = list(newest.choose(backlog, limit, lambda item: item.size))[::-1]
    workers.give(_tasks(chosen, checked))
    return _feed(record, index, chosen, ProgressReporter(None), workers, checked=checked)


def _backlog(
    record: Record,
    index: RowIndex,
    known: dict[int, Indexed],
    generations: Iterable[Generation],
    notes: list[Transcript],
) -> Iterator[Backlog]:
    """What to index of these generations; those with only a new state or date are added to `notes`."""
    roots = {row.id: row for row in record.roots()}
    for generation in generations:
        had = known.get(generation.id)
        if index.is_quarantined("rows", str(generation.id), generation.size):
            continue
        transcript = transcript_of(generation, roots[generation.root_id])
        if had is None:
            yield Backlog(transcript, 0, generation.size, is_new=True)
        elif had.size > generation.size:
            raise IndexDamaged(index.path, f"it has more of {generation.path} than the record")
        elif had.size < generation.size:
            yield Backlog(transcript, had.indexed, generation.size, is_new=False)
        elif (had.state, had.mtime) != (transcript.state, transcript.mtime):
            notes.append(transcript)


def _batches(waiting: list[Backlog]) -> Iterator[list[Backlog]]:
    """Batches from the newest to the oldest, each larger than the one before; ids ascend inside a batch, so that tables fill without gaps."""
    limit = newest.NEWEST_BYTES
    while waiting:
        limit *= _GROWTH
        first, size = len(waiting), 0
        while first and size < limit:
            first -= 1
            size += waiting[first].size
        batch = waiting[first:]
        del waiting[first:]
        yield batch


def _feed(
    record: Record,
    index: RowIndex,
    waiting: Sequence[Backlog],
    reporter: ProgressReporter,
    workers: RowWorkers,
    *,
    checked: Mapping[int, int],
) -> int:
    """Index transcripts with periodic commits; returns the number of records."""
    records = done = 0
    left = list(waiting[::-1])
    while left:
        done = 0
        with index.transaction():
            while left and done < _COMMIT_BYTES:
                item = left.pop()
                transcript, start, end, _ = item
                with index.isolated("rows", str(transcript.id), end):
                    made = _take(index, transcript, workers)
                    if made is not None:
                        records += made
                        reporter.step(end)
                    else:
                        check = start < checked.get(transcript.id, 0)
                        pieces = record.read(transcript.id, start, end, mend=True, check=check)
                        records += index.feed(transcript, _counted(pieces, reporter))
                reporter.step(files=1)
                done += item.size
    return records


def _take(index: RowIndex, transcript: Transcript, workers: RowWorkers) -> int | None:
    """Write the rows that a worker made of a transcript; returns the number of records, or None if it made none or failed."""
    if not workers.has(transcript.id):
        return None
    try:
        with index.db:  # a savepoint: rows that came before a failure are rolled back
            records = index.take(transcript, workers.row_batches(transcript.id))
    except FoldFailedError:
        return None
    return records


def show(record: Record, index: RowIndex, prices: Prices) -> None:
    """Derive the sessions indexed so far, for readers that do not wait for the rest; nothing is signed."""
    bulk = index.bulk
    index.finish_bulk()
    with index.transaction():
        _derive(record, index, look=True)
        settle(index.db, prices, partial(index.isolated, "price"))
    if bulk:
        index.begin_bulk()


def _counted(pieces: Iterable[bytes], reporter: ProgressReporter) -> Iterable[bytes]:
    for piece in pieces:
        yield piece
        reporter.step(len(piece))


def finish(
    record: Record, index: RowIndex, retouched: dict[int, int] | None, prices: Prices, *, look: bool = False
) -> None:
    """Index the small files and the remarks, derive rows again, price and sign.

    `retouched` are snapshots with a new date (None: any); `look` asks the folders of sessions whether they are worktrees.
    """
    index.finish_bulk()
    with index.transaction():
        _side_files(record, index, retouched)
        put_remarks(index.db, map(_remarked, record.remarks()))
        _derive(record, index, look=look)
        settle(index.db, prices, partial(index.isolated, "price"))
        index.sign(record.head())
        index.set_meta("synced_at", int(time.time() * 1000))


def _derive(record: Record, index: RowIndex, *, look: bool) -> None:
    """Derive rows again. What git's files say about a session's folder is stored in the record first."""
    db, isolated = index.db, partial(index.isolated, "session")
    known = record.worktrees()
    put_worktrees(db, known)
    put_moves(db, record.moves())
    sessions = [row[0] for row in db.execute("SELECT session_id FROM dirty")]
    derive(db, isolated)
    if not look:
        return
    folders = db.execute(
        "SELECT DISTINCT cwd FROM json_each(?) d JOIN sessions s ON s.session_id = d.value", (json.dumps(sessions),)
    ).fetchall()
    seen = dict(filter(None, (find_worktree(str(row[0])) for row in folders)))
    worktrees = {*known, *(path for path, repository in seen.items() if repository)}
    # A plain repository is noted only inside a worktree, or where one used to be.
    found = {
        path: name
        for path, name in seen.items()
        if name or any(path_inside(other, path) is not None for other in worktrees)
    }
    if found.items() <= known.items():
        return
    with record.writing():
        for worktree, repository in found.items():
            record.note_worktree(worktree, repository)
    put_worktrees(db, {**known, **found})
    derive(db, isolated)


def _remarked(remark: Remark) -> Remarked:
    moment = datetime.fromisoformat(remark.set_at)
    return Remarked(remark.id, remark.session_id, remark.kind, remark.value, round(moment.timestamp() * 1000))


def _side_files(record: Record, index: RowIndex, retouched: dict[int, int] | None) -> None:
    roots = {row.id: row for row in record.roots()}
    last = index.meta("snapshot")
    done = last if isinstance(last, int) else 0
    if retouched is None:
        drop_side_files(index.db, record.snapshot_ids())
        known = (
            (snapshot.id, snapshot.mtime_ns // 1_000_000) for snapshot in record.snapshots() if snapshot.id <= done
        )
        retouch_side_files(index.db, known)
    else:
        retouch_side_files(index.db, ((id_, mtime_ns // 1_000_000) for id_, mtime_ns in retouched.items()))
    for snapshot in record.snapshots(after=done):
        root = roots[snapshot.root_id]
        info = client_of(root.client).path_info(snapshot.path)
        data: bytes | None = None
        if snapshot.kind in WITH_CONTENT:
            with contextlib.suppress(StoreCorrupt):  # `verify` tells; the others are not to wait for it
                data = record.read_snapshot(snapshot.id)
        side = SideFile(
            snapshot.id,
            root.path,
            root.client,
            snapshot.path,
            snapshot.kind,
            info.session_id,
            info.agent_id,
            snapshot.size,
            snapshot.mtime_ns // 1_000_000,
        )
        with index.isolated("side_file", str(snapshot.id), snapshot.size):
            put_side_file(index.db, side, data)
        done = snapshot.id
    index.set_meta("snapshot", done)
