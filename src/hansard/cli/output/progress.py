"""Progress bars on stderr for long operations; silent if stderr is not a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from hansard.sync.report import Progress

_PHASES = {"reading": "Keeping", "indexing": "Indexing", "text": "Indexing text"}


class _DelayedBar:
    """A bar that appears when the work has taken a while."""

    _in_bytes = True

    def __init__(self, *, after: float) -> None:
        self._due = time.monotonic() + after
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._wanted = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _show(self, label: str, done: int, total: int, detail: str = "") -> None:
        if not self._wanted or time.monotonic() < self._due:
            return
        if self._bar is None or self._task is None:
            self._bar = _bar(in_bytes=self._in_bytes)
            self._task = self._bar.add_task(label, total=total or None, detail=detail)
            self._bar.start()
        self._bar.update(self._task, description=label, completed=done, total=total or None, detail=detail)


class SyncBar(_DelayedBar):
    """Listens to a sync: files, bytes, rate and the time left."""

    def __call__(self, progress: Progress) -> None:
        label = _PHASES.get(progress.phase, progress.phase)
        files = f"{progress.files:,}/{progress.files_total:,} files" if progress.files_total else ""
        self._show(label, progress.bytes, progress.bytes_total, files)


class BytesBar(_DelayedBar):
    """Listens to a check or a restore: bytes done and to do."""

    def __init__(self, label: str, *, after: float) -> None:
        super().__init__(after=after)
        self._label = label

    def __call__(self, done: int, total: int) -> None:
        self._show(self._label, done, total)


class CountBar(BytesBar):
    """The same for steps instead of bytes."""

    _in_bytes = False


def _bar(*, in_bytes: bool) -> Bar:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True)
    console.width = max(20, console.width - 3)  # leave space for the ^C that a terminal echoes
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[detail]}", markup=False),
        *((DownloadColumn(binary_units=True), TransferSpeedColumn()) if in_bytes else (MofNCompleteColumn(),)),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
        expand=True,
    )
