"""The bytes of a log since the last look, and whether it is still the same log."""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from types import TracebackType
from typing import BinaryIO, Self

from hansard.sources.inodes import INODE_BITS

WINDOW = 4096
RACY_NS = 2_000_000_000  # the coarsest file clock in use (FAT)
# A log over this size that was touched within RACY_NS is not compared in full: a live session is looked at many times a
# second. Its mark stays unsettled, so the full comparison happens at the first look after the log has come to rest.
LARGE = 16 << 20


@dataclass(frozen=True, slots=True)
class Mark:
    """What is known of a log that was read up to `offset`."""

    offset: int
    mtime_ns: int
    inode: int  # 0 is unknown, and is never compared
    head: bytes  # fingerprint of the first WINDOW bytes, or of all before the offset
    last: bytes  # fingerprint of the WINDOW bytes before the offset
    seen_ns: int  # wall clock of the look


def settled(mark: Mark, size: int, mtime_ns: int, inode: int) -> bool:
    """Tell whether the file's status alone proves that nothing was written since the mark."""
    # A write within the file clock's grain of our look may leave the time as it was; a time that lies in our future
    # says nothing about when the write was.
    return (
        size == mark.offset
        and mtime_ns == mark.mtime_ns
        and mtime_ns + RACY_NS <= mark.seen_ns
        and not _differ(inode, mark.inode)
    )


def _differ(inode: int, other: int) -> bool:
    return 0 not in {inode, other} and inode != other


class Verdict(StrEnum):
    """What became of a log since its mark."""

    NEW = "new"
    SAME = "same"
    GREW = "grew"
    TRUNCATED = "truncated"
    REWRITTEN = "rewritten"
    REPLACED = "replaced"


class Tail:
    """An open log, ready to give its new bytes; use it in a `with`."""

    def __init__(self, file: BinaryIO, status: os.stat_result, seen_ns: int) -> None:
        """Hold the file as it was when opened; `open_tail` decides the verdict."""
        self.verdict = Verdict.NEW
        self.size = status.st_size
        self.mode = stat.S_IMODE(status.st_mode)
        self._file = file
        self._mtime_ns = status.st_mtime_ns
        self._inode = status.st_ino & INODE_BITS
        self._seen_ns = seen_ns
        self._offset = 0
        self._head = b""  # the first WINDOW bytes of what was read
        self._window = b""  # the last WINDOW bytes of what was read

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def pieces(self, size: int = 1 << 20) -> Iterator[bytes]:
        """Give the bytes that are new, up to the size that the file had when it was opened."""
        while self._offset < self.size:
            self._file.seek(self._offset)
            piece = self._file.read(min(size, self.size - self._offset))
            if not piece:  # cut short since it was opened; the next look will tell
                return
            self._offset += len(piece)
            if len(self._head) < WINDOW:
                self._head += piece[: WINDOW - len(self._head)]
            self._window = piece[-WINDOW:] if len(piece) >= WINDOW else (self._window + piece)[-WINDOW:]
            yield piece

    def mark(self) -> Mark:
        """Give the mark for what was read so far."""
        return Mark(
            offset=self._offset,
            mtime_ns=self._mtime_ns,
            inode=self._inode,
            head=_fingerprint(self._head),
            last=_fingerprint(self._window),
            seen_ns=self._seen_ns,
        )

    def _judge(self, mark: Mark, same_prefix: Callable[[BinaryIO], bool] | None) -> Verdict:
        other_file = _differ(self._inode, mark.inode)
        if self.size < mark.offset:
            # A head that was cut too cannot be compared, but an emptied file is a truncated one.
            if self.size == 0 or (self.size >= WINDOW and _fingerprint(self._read(0, WINDOW)) == mark.head):
                return Verdict.TRUNCATED
            return Verdict.REPLACED if other_file else Verdict.REWRITTEN
        head = self._read(0, min(mark.offset, WINDOW))
        start = max(0, mark.offset - WINDOW)
        window = self._read(start, mark.offset - start) if start else head
        same = _fingerprint(head) == mark.head and _fingerprint(window) == mark.last
        if same and same_prefix is not None and mark.offset and self._needs_comparison(mark, other_file=other_file):
            self._file.seek(0)
            same = same_prefix(self._file)
        if not same:
            return Verdict.REPLACED if other_file else Verdict.REWRITTEN
        self._offset, self._head, self._window = mark.offset, head, window
        return Verdict.SAME if self.size == mark.offset else Verdict.GREW

    def _needs_comparison(self, mark: Mark, *, other_file: bool) -> bool:
        if other_file:
            return True
        if self.size > mark.offset or settled(mark, self.size, self._mtime_ns, self._inode):
            return False
        resting = self._mtime_ns + RACY_NS <= self._seen_ns
        return resting or self._mtime_ns != mark.mtime_ns or self.size <= LARGE

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(size)


def open_tail(
    path: str,
    mark: Mark | None,
    same_prefix: Callable[[BinaryIO], bool] | None = None,
    clock: Callable[[], int] = time.time_ns,
) -> Tail:
    """Open a log and judge it against its mark.

    The log is NEW without a mark. When it is shorter than the mark it was TRUNCATED, or REWRITTEN if it also begins
    differently. Else its first and last windows before the offset must have the marked fingerprints, or it was REWRITTEN
    (REPLACED when it is another file by inode too). That is all for a log that grew, since clients only append. Where the
    fingerprints agree but the file is another one, or has the marked size without being settled, the whole prefix is
    compared through `same_prefix`, which gets the file at position 0 and says whether it begins with the kept bytes.
    """
    seen_ns = clock()  # before the status, so that a write after it cannot look settled
    file = open(path, "rb", opener=_open_without_waiting)  # noqa: SIM115 - the Tail closes it
    try:
        tail = Tail(file, os.fstat(file.fileno()), seen_ns)
        if mark is not None:
            tail.verdict = tail._judge(mark, same_prefix)  # noqa: SLF001 - the two are one
    except BaseException:
        file.close()
        raise
    return tail


def _open_without_waiting(path: str, flags: int) -> int:
    # A pipe in a transcript's place would block until somebody writes to it.
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return handle


def _fingerprint(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
