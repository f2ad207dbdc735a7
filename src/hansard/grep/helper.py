"""`python -m hansard.grep.helper`: a process that searches some of the files, as its standard input tells it.

A message is `marshal` with its length before it: one side starts the other, with the same interpreter. First comes the job,
which is answered when it can be done, then come tasks, each a list of places. The answers to a task are a place's number in
it and what was found there, any number of times, and at last `DONE` with the bytes searched and the places that are damaged.
A failure is `FAILED` with the name of the error and its text.
"""

from __future__ import annotations

import contextlib
import marshal
import sys
from typing import IO, TYPE_CHECKING, Any

from hansard.errors import HansardError
from hansard.grep.file_search import FileLocation, SearchJob, Tally, search
from hansard.record.store import Record

if TYPE_CHECKING:
    from hansard.grep.file_search import Found

READY, DONE, FAILED = -1, -2, -3
_BATCH = 1 << 16  # bytes that are sent at once
_ROW_COST = 256  # bytes that a row takes beside its text


def send(stream: IO[bytes], *message: Any) -> None:
    """Write one message."""
    data = marshal.dumps(message)
    stream.write(len(data).to_bytes(8, "big"))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one message, a tuple; None when the other side has gone."""
    head = stream.read(8)
    size = int.from_bytes(head, "big") if len(head) == 8 else 0
    data = stream.read(size)
    return marshal.loads(data) if size and len(data) == size else None  # noqa: S302 - both sides are this program


def weight(rows: list[Found]) -> int:
    """How many bytes of memory rows take, roughly."""
    return sum([_ROW_COST + (len(row[5]) if len(row) > 1 else 0) for row in rows])


def serve(stdin: IO[bytes], stdout: IO[bytes]) -> None:
    """Do the tasks that come in, one after the other."""
    job = SearchJob(*receive(stdin))
    pattern = job.compile()
    with Record.open(job.path, readonly=True) as record:
        send(stdout, READY)
        while (task := receive(stdin)) is not None:
            tally = Tally()
            for number, place in enumerate(task):
                rows: list[Found] = []
                held = 0
                for row in search(record, FileLocation(*place), job, pattern, tally):
                    rows.append(row)
                    held += _ROW_COST + (len(row[5]) if len(row) > 1 else 0)
                    if held >= _BATCH:
                        send(stdout, number, rows)
                        rows, held = [], 0
                if rows:
                    send(stdout, number, rows)
            send(stdout, DONE, tally.searched, tally.damaged)


if __name__ == "__main__":
    # An OSError is a pipe without its other end: whoever started this has gone.
    with contextlib.suppress(KeyboardInterrupt, OSError):
        try:
            serve(sys.stdin.buffer, sys.stdout.buffer)
        except HansardError as error:
            send(sys.stdout.buffer, FAILED, type(error).__name__, str(error))
