"""Queries in a process of their own, which ends at the deadline whatever the engine is doing, and whose memory the system limits.

Neither engine can be stopped inside one step, such as making a text of a gigabyte or sorting what was read, and DuckDB does not count all memory
that it takes. So the parent kills the process when its time is over. The process sends the columns, then rows as they are computed: the pipe holds back
an engine that is faster than the reader of the answer. It ends when the parent has gone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from hansard.errors import HansardError, UsageError
from hansard.model.sql import SqlResult
from hansard.workers import Worker, find, processors

if TYPE_CHECKING:
    from hansard.model.sql import Row
    from hansard.model.store_requests import SqlRequest
    from hansard.record.store import Record
    from hansard.workers import Channel

_ROWS, _BYTES = 1_000, 256 << 10  # of a message, about
_READY, _COLUMNS, _SOME, _END = "ready", "columns", "rows", "end"
_SPARE = 192 << 20  # bytes beside what a query may use: page caches, buffers of the record, the stacks of two threads
_STACK = 8 << 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def query_in_process(home: str, request: SqlRequest, redactor: tuple[str, ...] | None) -> SqlResult:
    """Run a query in another process; `redactor` names the function that makes one there, and its arguments."""
    from threading import TIMEOUT_MAX, Timer
    from weakref import finalize

    fields = {**asdict(request), "parameters": _checked(request.parameters)}
    if request.limit is not None:
        fields["limit"] = request.limit + 1  # one more than is shown says that there are more
    try:
        worker = Worker("hansard.sql.process:answer", home, fields, redactor)
    except OSError as error:
        raise HansardError(f"no process can be started for the query: {error}") from error
    is_late = False

    def stop() -> None:
        nonlocal is_late
        is_late = True
        worker.kill()

    timer = Timer(request.timeout or TIMEOUT_MAX, stop)
    timer.daemon = True

    def close() -> None:
        timer.cancel()
        worker.close()

    def receive() -> Any:
        message = worker.receive()
        if message is None:
            raise _too_long(request) if is_late else _ended(request)
        return message

    try:
        receive()  # it is ready: the time that a process needs to start does not count
        timer.start()
        _, names, types = receive()
        answer = SqlResult(
            request.engine, names, _rows(receive, types, close), types=types, limit=request.limit, close=close
        )
    except BaseException:
        close()
        raise
    finalize(answer, close)  # of an answer that nobody reads to its end
    return answer


def _checked(parameters: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in parameters.items():
        if not isinstance(value, (str, int, float, bytes, type(None))):
            raise UsageError(f"parameter ${name} is a {type(value).__name__}; give a text, a number or None")
    return dict(parameters)


def _rows(receive: Callable[[], Any], types: list[str], close: Callable[[], None]) -> Iterator[Row]:
    special = [(place, _READ[kind]) for place, kind in enumerate(types) if kind in _READ]
    while (message := receive())[0] != _END:
        yield from _changed(message[1], special)
    close()


def _too_long(request: SqlRequest) -> UsageError:
    words = f"the query took longer than {request.timeout:g} s: narrow it"
    return UsageError(words, ", or allow it more time (--timeout)")


def _too_large(request: SqlRequest) -> UsageError:
    words = f"the query needs more than {request.memory} MiB: narrow it"
    return UsageError(words, ", or allow it more memory (--memory)")


def _ended(request: SqlRequest) -> HansardError:
    words = f"the process of the query ended before its answer did: it may need more than {request.memory} MiB"
    return HansardError(words, " (--memory)")


# -- values that are not sent as they are


def _changed(rows: list[Row], special: list[tuple[int, Callable[[Any], Any]]]) -> list[Row]:
    if not special:
        return rows
    changed = []
    for row in rows:
        values = list(row)
        for place, change in special:
            if values[place] is not None:
                values[place] = change(values[place])
        changed.append(tuple(values))
    return changed


def _microseconds(value: Any) -> Any:
    return (value - _EPOCH) // _MICROSECOND if isinstance(value, datetime) else str(value)  # beyond the year 9999


def _moment(value: Any) -> Any:
    return _EPOCH + value * _MICROSECOND if isinstance(value, int) else value


_SENT: dict[str, Callable[[Any], Any]] = {"decimal": str, "time": _microseconds}
_READ: dict[str, Callable[[Any], Any]] = {"decimal": Decimal, "time": _moment}


# -- the other process


def answer(channel: Channel, home: str, fields: dict[str, Any], redactor: tuple[str, ...] | None) -> None:
    """Run a query here, and send its answer."""
    from _thread import start_new_thread

    from hansard.model.store_requests import SqlRequest
    from hansard.query.reader import Reader
    from hansard.sql.query import query

    request = SqlRequest(**fields)
    redact = None if redactor is None else find(redactor[0])(*redactor[1:])
    start_new_thread(_end_with_parent, ())
    if request.engine == "duckdb":
        with suppress(ImportError):  # reported by the query
            import duckdb  # noqa: F401 - the limits are for what it uses beside itself
    else:
        import hansard.sql.sqlite  # noqa: F401 - to import it takes none of the query's time
    _limit_memory(request.memory << 20)
    channel.send(_READY)
    try:
        with (
            closing(Reader(home)) as reader,
            query(home, reader, cache(lambda: _open_record(home)), request, redact) as found,
        ):
            types = [column.type for column in found.columns]
            channel.send(_COLUMNS, [column.name for column in found.columns], types)
            special = [(place, _SENT[kind]) for place, kind in enumerate(types) if kind in _SENT]
            for rows in _batches(found):
                channel.send(_SOME, _changed(rows, special))
        channel.send(_END)
    except MemoryError:
        raise _too_large(request) from None


def _open_record(home: str) -> Record:
    from hansard.record.store import Record

    return Record.open(os.path.join(home, "record.db"), readonly=True)


def _batches(rows: SqlResult) -> Iterator[list[Row]]:
    some: list[Row] = []
    size = 0
    for row in rows:
        some.append(row)
        size += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if len(some) >= _ROWS or size >= _BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def _limit_memory(size: int) -> None:
    """Let the system refuse memory beyond this, where it can: on Linux. Elsewhere the limits of the engines apply alone."""
    import apsw

    apsw.hard_heap_limit(size)
    if sys.platform != "linux":
        return
    import resource

    with suppress(OSError, ValueError, StopIteration):
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
        # Of the data, not of the address space: allocators reserve many addresses that they never use.
        most = used + size + _SPARE + processors() * _STACK
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 * size, 4 * size))  # what sorting writes to temporary files
