"""What a sync says: while it goes on, and when it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True)
class Progress:
    """How far a sync is; the same object is passed again and again."""

    phase: str = "reading"  # reading, indexing, text
    files: int = 0
    files_total: int = 0
    bytes: int = 0
    bytes_total: int = 0


class Listener(Protocol):
    """Is told of progress, a few times a second at the most."""

    def __call__(self, progress: Progress) -> None:
        """Take note."""


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did."""

    transcripts: int = 0  # logs that the roots hold now
    changed: int = 0  # files with something new
    bytes_read: int = 0
    records: int = 0
    issues: int = 0
    gone: int = 0  # files that are no longer at their place
    seconds: float = 0.0
    busy: bool = False  # another process is syncing: the answer is from what is there
    unreadable: tuple[str, ...] = field(default=())


Clock = Callable[[], float]
