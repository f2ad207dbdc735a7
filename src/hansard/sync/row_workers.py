"""Processes that make rows out of transcripts, ahead of the one that writes them."""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hansard.errors import HansardError
from hansard.index.rows import Transcript
from hansard.index.stretches import Stretch, read_stretches
from hansard.parse.state import State
from hansard.record.store import Record
from hansard.workers import Worker, processors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hansard.workers import Channel

WORTH_BYTES = 24 << 20
"""A smaller backlog is done before a process has started."""

_MOST = 4  # each takes some 30 MB of memory, and one process writes what all of them make
_AHEAD = 2  # transcripts that each has to do: while the rows of one are written it goes on with the next
_LARGE = (
    8 << 20
)  # bytes of a transcript that may be one long line; only one of these is done at a time, for the memory that takes
_END, _FAILED = b"end", b"failed"
_ENDS = (_END, _FAILED)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Stretch).decode


class Task(NamedTuple):
    """A transcript of which nothing is indexed, how much of it the record has, and whether that is compared with its hashes."""

    transcript: Transcript
    end: int
    check: bool


class FoldFailedError(HansardError):
    """No worker has the rows of a transcript: they are to be made by the process that asks."""


def usual_count(size: int) -> int:
    """How many workers pay off for a backlog; none where one processor has to do for all."""
    return min(_MOST, processors() - 1) if size > WORTH_BYTES else 0


class RowWorkers:
    """Some workers at work on tasks, whose rows are to be taken in the order of the tasks."""

    def __init__(self, record: str, count: int, tasks: Iterable[Task]) -> None:
        """`record` is the path of the record, which has committed all that is to be read."""
        self._tasks = deque(tasks if count else ())
        self._doing: dict[int, tuple[Worker, Task]] = {}  # by transcript
        self._workers: list[Worker] = []
        with contextlib.suppress(OSError):  # with fewer workers, or none, all is done all the same
            for _ in range(count):
                self._workers.append(Worker("hansard.sync.row_workers:make_rows", record))
        self._fill()

    def stretches(self, transcript: int) -> Iterator[Stretch]:
        """The rows of a transcript; FoldFailedError, at once or after some of them, where it is to be done by who asks."""
        worker, _ = self._doing.get(transcript, (None, None))
        if worker is None:
            raise FoldFailedError
        message = None
        try:
            while (message := _receive(worker)) is not None:
                of, answer = message
                if of == transcript and answer in _ENDS:
                    break
                if of == transcript:  # and no rest of one that was given up half-way
                    yield _decode(answer)
        finally:
            self._doing.pop(transcript, None)
            if message is None:
                self._lose(worker)
            self._fill()
        if message is None or message[1] == _FAILED:
            raise FoldFailedError

    def _fill(self) -> None:
        """Give every worker as much to do as it may have."""
        for ahead in range(1, _AHEAD + 1):
            for worker in list(self._workers):
                if self._tasks and sum(other is worker for other, _ in self._doing.values()) < ahead:
                    is_large = self._tasks[0].end > _LARGE
                    if is_large and any(task.end > _LARGE for _, task in self._doing.values()):
                        return
                    self._give(worker, self._tasks.popleft())

    def _give(self, worker: Worker, task: Task) -> None:
        if worker.send(msgspec.structs.astuple(task.transcript), task.end, task.check):
            self._doing[task.transcript.id] = (worker, task)
        else:
            self._lose(worker)

    def _lose(self, worker: Worker) -> None:
        """Do without a worker that died."""
        if worker in self._workers:
            self._workers.remove(worker)
            worker.close()
        self._doing = {of: doing for of, doing in self._doing.items() if doing[0] is not worker}

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.close()


def _receive(worker: Worker) -> Any:
    """What a worker says next; None where it has died, of whatever."""
    with contextlib.suppress(HansardError):
        return worker.receive()
    return None


def make_rows(channel: Channel, path: str) -> None:
    """A worker: make the rows of transcripts, one after the other."""
    import gc

    gc.disable()  # nothing here makes cycles, and rows are costly to scan

    def unknown(_key: str) -> int | None:
        raise FoldFailedError  # only who writes the rows can look up what was written

    with Record.open(path, readonly=True) as record:
        while (message := channel.receive()) is not None:
            fields, end, check = message
            transcript = Transcript(*fields)
            outcome = _END
            try:
                pieces = record.read(transcript.id, 0, end, mend=True, check=check)
                for stretch in read_stretches(transcript, pieces, 0, State(), unknown):
                    channel.send(transcript.id, _encode(stretch))
            except OSError:
                raise
            except Exception:  # noqa: BLE001 - who writes the rows tries again, and tells what is wrong
                outcome = _FAILED
            channel.send(transcript.id, outcome)
