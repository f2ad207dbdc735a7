"""Processes that make rows out of transcripts, ahead of the one that writes them."""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hansard.clients.state import State
from hansard.errors import HansardError
from hansard.index.rows import RowBatch, Transcript, read_row_batches
from hansard.record.store import Record
from hansard.workers import Worker, processors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hansard.workers import Channel

WORTH_BYTES = 24 << 20
"""A smaller backlog is done before a process has started."""

_MOST = 4  # each takes about 30 MB of memory, and one process writes the rows of all
_AHEAD = 2  # tasks queued for each: while the rows of one are written it goes on with the next
_LARGE = (
    8 << 20
)  # bytes of a transcript that may be one long line; only one of these is done at a time, for the memory that takes
_END, _FAILED = b"end", b"failed"
_ENDS = (_END, _FAILED)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RowBatch).decode


class Task(NamedTuple):
    """A transcript that is not indexed yet, how much of it the record has, and whether its hashes are checked."""

    transcript: Transcript
    end: int
    check: bool


class FoldFailedError(HansardError):
    """A worker failed halfway through a transcript; the caller makes its rows itself."""


def usual_count(size: int) -> int:
    """How many workers pay off for a backlog; none on a single processor."""
    return min(_MOST, processors() - 1) if size > WORTH_BYTES else 0


class RowWorkers:
    """Workers whose rows are taken in the order of their tasks; the caller makes rows itself instead of waiting."""

    def __init__(self, record: Record, count: int | None) -> None:
        """`count` is the number of workers; None: as many as pay off. They start when there is something to do."""
        self._record = record
        self._count = count
        self._workers: list[Worker] | None = None
        self._tasks: deque[Task] = deque()
        self._doing: dict[int, tuple[Worker, Task]] = {}  # by transcript
        self._done_here: dict[
            int, list[bytes]
        ] = {}  # the same; as a worker sends them, since a fold goes on with their state

    def start(self, size: int) -> None:
        """Start the workers for a backlog of this size, unless they run already: they take a moment to be ready."""
        if self._workers is not None:
            return
        self._workers = []
        count = usual_count(size) if self._count is None else self._count
        with contextlib.suppress(OSError):  # fewer workers, or none, give the same result
            for _ in range(count):
                self._workers.append(Worker("hansard.sync.row_workers:make_rows", self._record.path))

    def give(self, tasks: Iterable[Task]) -> None:
        """Add tasks; the record must have committed all that is to be read for them."""
        if self._workers:
            self._tasks.extend(tasks)
            self._fill()

    def has(self, transcript: int) -> bool:
        """Whether `row_batches` gives the rows of a transcript."""
        return transcript in self._done_here or transcript in self._doing

    def row_batches(self, transcript: int) -> Iterator[RowBatch]:
        """The rows of a transcript; FoldFailedError, perhaps after some of them, if its worker failed."""
        if transcript in self._done_here:
            yield from map(_decode, self._done_here.pop(transcript))
            return
        worker, _ = self._doing[transcript]
        message = None
        try:
            while (message := self._receive(worker)) is not None:
                of, answer = message
                if of == transcript and answer in _ENDS:
                    break
                if of == transcript:  # not the rest of one that was abandoned
                    yield _decode(answer)
        finally:
            self._doing.pop(transcript, None)
            if message is None:
                self._drop_worker(worker)
            self._fill()
        if message is None or message[1] == _FAILED:
            raise FoldFailedError

    def _receive(self, worker: Worker) -> Any:
        """The next message of a worker, or None if it died. Until a message comes, rows are made here."""
        while not worker.has_message() and self._make_here():
            pass
        with contextlib.suppress(HansardError):
            return worker.receive()
        return None

    def _make_here(self) -> bool:
        """Make the rows of the next task that no worker has; False if there is none, or enough are waiting."""
        if not self._tasks or self._tasks[0].end > _LARGE or len(self._done_here) >= _AHEAD:
            return False
        task = self._tasks.popleft()
        with contextlib.suppress(Exception):  # the caller then tries again, and reports what is wrong
            self._done_here[task.transcript.id] = [_encode(batch) for batch in _make(self._record, task)]
        return True

    def _fill(self) -> None:
        """Fill the queue of every worker."""
        for ahead in range(1, _AHEAD + 1):
            for worker in list(self._workers or ()):
                if self._tasks and sum(other is worker for other, _ in self._doing.values()) < ahead:
                    is_large = self._tasks[0].end > _LARGE
                    if is_large and any(task.end > _LARGE for _, task in self._doing.values()):
                        return
                    self._give(worker, self._tasks.popleft())

    def _give(self, worker: Worker, task: Task) -> None:
        if worker.send(msgspec.structs.astuple(task.transcript), task.end, task.check):
            self._doing[task.transcript.id] = (worker, task)
        else:
            self._drop_worker(worker)

    def _drop_worker(self, worker: Worker) -> None:
        """Drop a worker that died."""
        if self._workers and worker in self._workers:
            self._workers.remove(worker)
            worker.close()
        self._doing = {of: doing for of, doing in self._doing.items() if doing[0] is not worker}

    def close(self) -> None:
        for worker in self._workers or ():
            worker.close()


def _make(record: Record, task: Task) -> Iterator[RowBatch]:
    def unknown(_key: str) -> int | None:
        raise FoldFailedError  # only the writer of the rows can look up what was written

    pieces = record.read(task.transcript.id, 0, task.end, mend=True, check=task.check)
    return read_row_batches(task.transcript, pieces, 0, State(), unknown)


def make_rows(channel: Channel, path: str) -> None:
    """The worker's loop: make the rows of transcripts, one after the other."""
    import gc

    gc.disable()  # nothing here makes cycles, and rows are costly to scan
    with Record.open(path, readonly=True) as record:
        while (message := channel.receive()) is not None:
            fields, end, check = message
            task = Task(Transcript(*fields), end, check)
            outcome = _END
            try:
                for batch in _make(record, task):
                    channel.send(task.transcript.id, _encode(batch))
            except OSError:
                raise
            except Exception:  # noqa: BLE001 - the writer of the rows tries again, and reports what is wrong
                outcome = _FAILED
            channel.send(task.transcript.id, outcome)
