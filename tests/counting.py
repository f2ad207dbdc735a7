"""Counting work, for tests of how it grows: instructions of SQLite's virtual machine, lines of Python, never time."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

# Doubling what is given may at most do this to linear work: a tree becomes a level deeper, a constant part is left out.
DOUBLED = 2.6


class Work:
    """How often each statement ran and with how many instructions, of all connections that were opened since it is there."""

    def __init__(self) -> None:
        self.steps: Counter[str] = Counter()
        self.statements: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """All of them."""
        return self.steps.total()

    def note(self, event: dict[str, Any]) -> None:
        """Take what a statement did; those that FTS5 runs by itself count as one, since their counters never begin anew."""
        self.statements[event["sql"]] += 1
        is_inner = "'main'.'" in event["sql"] or "'full'.'" in event["sql"]
        self.steps[event["sql"]] += 1 if is_inner else event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    def most(self) -> str:
        """The statements that did most, to be shown when there was too much."""
        return "\n".join(f"{steps:>12,} {sql[:150]}" for sql, steps in self.steps.most_common(8))


@contextmanager
def counted() -> Iterator[Work]:
    """Count the work of the connections that are opened inside."""
    work = Work()

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, work.note, id=work)

    apsw.connection_hooks.append(watch)
    try:
        yield work
    finally:
        apsw.connection_hooks.remove(watch)


def assert_linear(work_of: Callable[[int], Work], n: int) -> None:
    """Twice as much of something may cost at most a little more than twice the work, and again when that is doubled."""
    small, middle, large = (work_of(times * n) for times in (1, 2, 4))
    for less, more in ((small, middle), (middle, large)):
        assert more.total <= DOUBLED * less.total, f"{less.total:,} and then {more.total:,} steps\n{more.most()}"


def assert_constant(work_of: Callable[[int], Work], n: int) -> None:
    """Four times as much of something beside it may not change the work; trees may become a little deeper."""
    less, more = work_of(n), work_of(4 * n)
    assert more.total <= 1.2 * less.total + 200, f"{less.total:,} and then {more.total:,} steps\n{more.most()}"


def lines_run(call: Callable[[], object]) -> int:
    """How many lines of Python a call executes."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
        nonlocal count
        count += event == "line"
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(former)
    return count
