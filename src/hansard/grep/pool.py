"""Helper processes for a large search; results come out in the order of the files.

Threads were tried: zstd, SHA-256 and RE2 let go of the interpreter's lock, but every match takes it, and two threads needed
as long as one for a pattern that one line in ten has. Two processes need half as long for any.
"""

from __future__ import annotations

import contextlib
import threading
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING

from hansard.errors import StoreUnusable
from hansard.grep.file_search import DONE, Tally, search
from hansard.record.store import Record
from hansard.workers import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from hansard.grep.file_search import FileLocation, Found, SearchJob

_AHEAD = 3  # messages of a worker, about 64 KiB each, that one task may have waiting for its turn
_WINDOW = 64  # tasks that may be begun before the first of them was taken: it may be a file of a hundred megabytes
_TASK = 1 << 20  # bytes of small files that are searched as one task: handing over costs more than they do
_LOOK = 0.1  # seconds between two looks whether to stop; on Windows an endless wait does not notice ctrl-c

Rows = list[tuple[int, "Found"]]
"""Some of what was found, each with its place's number."""


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

    def ask(self, task: list[FileLocation]) -> Iterator[Rows]:
        self.worker.send(*map(tuple, task))
        while (answer := self.worker.receive()) is not None:
            if answer[0] == DONE:
                self.tally.searched += answer[1]
                self.tally.damaged += answer[2]
                return
            yield answer[1]
        raise StoreUnusable("a worker process of this search ended unexpectedly. Try again")

    def search_here(self, task: list[FileLocation]) -> Iterator[Rows]:
        """The same in this process, for a helper whose own did not start."""
        pattern = self._job.compile()
        with Record.open(self._job.path, readonly=True) as record:
            for number, place in enumerate(task):
                for row in search(record, place, self._job, pattern, self.tally):
                    yield [(number, row)]


class Pool:
    """Helpers at work on files ahead of those that are taken, each with a thread that listens to it."""

    def __init__(self, helpers: Sequence[Helper], places: Sequence[FileLocation]) -> None:
        self._helpers = helpers
        tasks = _tasks(places)
        self._answers: list[Queue[Rows | None]] = [Queue(_AHEAD) for _ in tasks]  # of each task; None is its end
        self._tasks = iter(list(zip(tasks, self._answers, strict=True)))
        self._begun, self._taken = 0, 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._error: BaseException | None = None

    def run(self, idle: Callable[[], None]) -> Generator[tuple[int, Found]]:
        """What is found, with the number of its place, in order; `idle` is called now and then while waiting."""
        threads = [
            threading.Thread(target=self._listen, args=(helper,), name=f"grep-{number}", daemon=True)
            for number, helper in enumerate(self._helpers)
        ]
        try:
            for thread in threads:
                thread.start()
            for answers in self._answers:
                while (rows := self._take(answers, idle)) is not None:
                    yield from rows
                self._taken += 1
                idle()
        finally:
            self._stopped.set()
            for helper in self._helpers:
                helper.worker.kill()
            for answers in self._answers:
                with contextlib.suppress(Empty):
                    answers.get_nowait()  # for a thread that waits until there is room
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            for helper in self._helpers:
                helper.worker.close()

    def _take(self, answers: Queue[Rows | None], idle: Callable[[], None]) -> Rows | None:
        while self._error is None:
            with contextlib.suppress(Empty):
                return answers.get(timeout=_LOOK)
            idle()
        raise self._error

    def _listen(self, helper: Helper) -> None:
        try:
            ask = helper.ask if helper.worker.receive() is not None else helper.search_here
            while (begun := self._begin()) is not None:
                (first, task), answers = begun
                for rows in ask(task):
                    self._put(answers, [(first + number, row) for number, row in rows])
                self._put(answers, None)
        except BaseException as error:  # noqa: BLE001 - raised again where the answers are taken
            self._error = error

    def _begin(self) -> tuple[tuple[int, list[FileLocation]], Queue[Rows | None]] | None:
        """The next task, once it is near enough to the one whose answers are taken."""
        with self._lock:
            self._begun += 1
            while self._begun > self._taken + _WINDOW and not self._stopped.wait(_LOOK):
                pass
            return None if self._stopped.is_set() else next(self._tasks, None)

    def _put(self, answers: Queue[Rows | None], rows: Rows | None) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(Full):
                answers.put(rows, timeout=_LOOK)
                return


def _tasks(places: Sequence[FileLocation]) -> list[tuple[int, list[FileLocation]]]:
    """Files that are searched by one helper in one go, with the number of the first of them."""
    tasks: list[tuple[int, list[FileLocation]]] = []
    held = _TASK
    for number, place in enumerate(places):
        if held + place.size >= _TASK:
            tasks.append((number, []))
            held = 0
        tasks[-1][1].append(place)
        held += place.size
    return tasks
