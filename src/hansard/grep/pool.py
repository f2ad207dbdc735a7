"""Helper processes for a large search; results come out in the order of the files.

Threads were tried: zstd, SHA-256 and RE2 let go of the interpreter's lock, but every match takes it, and two threads needed
as long as one for a pattern that one line in ten has. Two processes need half as long for any.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING

from hansard.errors import StoreUnusable
from hansard.grep.file_search import DONE, Tally, search, weight
from hansard.record.store import Record
from hansard.workers import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from hansard.grep.file_search import FileLocation, Found, SearchJob

AHEAD = 1 << 18
"""Bytes that one task may have waiting for its turn; a single larger line waits alone."""

_WINDOW = 64  # tasks that may be begun before the first of them was taken: it may be a file of a hundred megabytes
_TASK = 1 << 20  # bytes of small files that are searched as one task: handing over costs more than they do

Answer = tuple[int, list["Found"]]
"""A place's number, and some of what was found there."""


def start_helpers(job: SearchJob, count: int) -> list[Helper]:
    """Start `count` helpers, or as many as the system allows."""
    helpers: list[Helper] = []
    with contextlib.suppress(OSError):
        helpers.extend(Helper(job) for _ in range(count))
    return helpers


class Helper:
    """A process that searches."""

    def __init__(self, job: SearchJob) -> None:
        self.tally = Tally()
        self._job = job
        self.worker = Worker("hansard.grep.file_search:search_files", *job)

    def search(self, tasks: Iterator[list[FileLocation]]) -> Iterator[Iterator[Answer]]:
        """The results of each task; without a process of its own, they are found in this one."""
        is_ready = self.worker.receive() is not None
        for task in tasks:
            yield self._ask(task) if is_ready else self._do(task)

    def _ask(self, task: list[FileLocation]) -> Iterator[Answer]:
        self.worker.send(*map(tuple, task))
        while (answer := self.worker.receive()) is not None:
            if answer[0] == DONE:
                self.tally.searched += answer[1]
                self.tally.damaged += answer[2]
                return
            yield answer
        raise StoreUnusable("a worker process of this search ended unexpectedly. Try again")

    def _do(self, task: list[FileLocation]) -> Iterator[Answer]:
        pattern = self._job.compile()
        with Record.open(self._job.path, readonly=True) as record:
            for number, place in enumerate(task):
                for row in search(record, place, self._job, pattern, self.tally):
                    yield number, [row]


class _StoppedError(Exception):
    """The caller has stopped."""


class Pool:
    """Helpers at work on files ahead of those that are taken, each with a thread that listens to it."""

    def __init__(self, helpers: Sequence[Helper], places: Sequence[FileLocation]) -> None:
        self._helpers = helpers
        self._starts, self._tasks = _tasks(places)
        self._changed = threading.Condition()
        self._next = 0  # task to be begun
        self._taking = 0  # task whose answers are taken
        self._waiting: list[deque[tuple[Answer, int]]] = [deque() for _ in self._tasks]
        self._held = [0] * len(self._tasks)
        self._done = [False] * len(self._tasks)
        self._stopped = False
        self._error: BaseException | None = None

    def run(self, idle: Callable[[], None]) -> Generator[Answer]:
        """What is found, place by place; `idle` is called now and then while waiting."""
        threads = [
            threading.Thread(target=self._listen, args=(helper,), name=f"grep-{number}", daemon=True)
            for number, helper in enumerate(self._helpers)
        ]
        try:
            for thread in threads:
                thread.start()
            for number in range(len(self._tasks)):
                while (answer := self._take(number, idle)) is not None:
                    yield answer
                idle()
        finally:
            with self._changed:
                self._stopped = True
                self._changed.notify_all()
            for helper in self._helpers:
                helper.worker.kill()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            for helper in self._helpers:
                helper.worker.close()

    def _take(self, number: int, idle: Callable[[], None]) -> Answer | None:
        """The next answer to a task, None when there will be no more."""
        while True:
            with self._changed:
                self._taking = number
                if self._error is not None:
                    raise self._error
                if self._waiting[number]:
                    answer, size = self._waiting[number].popleft()
                    self._held[number] -= size
                    self._changed.notify_all()
                    return answer
                if self._done[number]:
                    self._taking = number + 1
                    self._changed.notify_all()
                    return None
                # Not for ever: on Windows an endless wait does not notice ctrl-c.
                self._changed.wait(0.1)
            idle()

    def _listen(self, helper: Helper) -> None:
        begun: list[int] = []

        def tasks() -> Iterator[list[FileLocation]]:
            while (number := self._begin()) is not None:
                begun.append(number)
                yield self._tasks[number]

        try:
            for answers in helper.search(tasks()):
                number = begun.pop()
                for place, rows in answers:
                    self._give(number, (self._starts[number] + place, rows), sum(map(weight, rows)))
                with self._changed:
                    self._done[number] = True
                    self._changed.notify_all()
        except _StoppedError:
            return
        except BaseException as error:  # noqa: BLE001 - raised again where the answers are taken
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _begin(self) -> int | None:
        with self._changed:
            while not self._stopped and self._next < len(self._tasks) and self._next >= self._taking + _WINDOW:
                self._changed.wait()
            if self._stopped or self._next >= len(self._tasks):
                return None
            self._next += 1
            return self._next - 1

    def _give(self, number: int, answer: Answer, size: int) -> None:
        with self._changed:
            while not self._stopped and self._held[number] and self._held[number] + size > AHEAD:
                self._changed.wait()
            if self._stopped:
                raise _StoppedError
            self._waiting[number].append((answer, size))
            self._held[number] += size
            if number == self._taking:
                self._changed.notify_all()


def _tasks(places: Sequence[FileLocation]) -> tuple[list[int], list[list[FileLocation]]]:
    """Files that are searched by one helper in one go, and the number of the first of each."""
    starts: list[int] = []
    tasks: list[list[FileLocation]] = []
    held = _TASK
    for number, place in enumerate(places):
        if held + place.size >= _TASK:
            starts.append(number)
            tasks.append([])
            held = 0
        tasks[-1].append(place)
        held += place.size
    return starts, tasks
