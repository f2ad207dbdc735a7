"""The new bytes of a file since it was last read, and whether it is still the same file."""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import StrEnum
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self

WINDOW = 4096
RACY_NS = 2_000_000_000  # the coarsest file clock in use (FAT)
# A log up to this size is compared in full each time it has grown. A larger one that was written within RACY_NS is not: a live
# session is synced many times a second. What it grew by counts as unproven until the whole log has been compared: a part
# of it at each sync, or all of it at the first sync after the writes stopped.
LARGE = 16 << 20
PACKED = ".zst"
"""The ending of a log that its client has compressed; it is the same log."""
LARGEST_UNPACKED = 8 << 30
_HELD = 1 << 20  # new bytes that are held in memory while the bytes before them are compared

_LARGEST = (1 << 63) - 1  # of an SQLite integer; a time in the year 2400 needs more, and so do some inodes (ReFS)
_HAS_CTIME = os.name != "nt"  # on Windows it is the time of creation


class FileStatus(NamedTuple):
    """The status of a file, in numbers that a database can store."""

    size: int
    mtime_ns: int
    ctime_ns: int  # 0 if the system has none
    inode: int  # 0: unknown, never compared
    mode: int


def file_status(status: os.stat_result) -> FileStatus:
    """Convert a status; a number that does not fit into 63 bits is clamped."""
    return FileStatus._make(status_numbers(status))


def status_numbers(status: os.stat_result) -> tuple[int, int, int, int, int]:
    """The same as a plain tuple, for walks over thousands of files."""
    mtime, ctime = status.st_mtime_ns, status.st_ctime_ns
    if not -_LARGEST < mtime < _LARGEST or not -_LARGEST < ctime < _LARGEST:
        mtime, ctime = (max(-_LARGEST, min(time_, _LARGEST)) for time_ in (mtime, ctime))
    return (status.st_size, mtime, ctime if _HAS_CTIME else 0, status.st_ino & _LARGEST, status.st_mode & 0o7777)


class Mark(NamedTuple):
    """What is known about a file that was read up to `offset`."""

    offset: int
    mtime_ns: int
    ctime_ns: int | None  # None in stores older than this field
    inode: int
    head: bytes  # fingerprint of the first WINDOW bytes, or of all before the offset
    last: bytes  # fingerprint of the WINDOW bytes before the offset
    seen_ns: int  # wall clock when it was read
    since_ns: int  # wall clock when this status was first seen


def settled(mark: Mark, size: int, mtime_ns: int, ctime_ns: int, inode: int) -> bool:
    """Whether the status alone proves that nothing was written since the mark."""
    return (
        size == mark.offset
        and mtime_ns == mark.mtime_ns
        and ctime_ns == mark.ctime_ns
        and not _differ(inode, mark.inode)
        and at_rest(ctime_ns or mtime_ns, mark.seen_ns, mark.since_ns)
    )


def at_rest(changed_ns: int, seen_ns: int, since_ns: int) -> bool:
    """Whether a file was read so long after a change that a later write must have changed its times.

    A write within the granularity of the file clock may not. A time in the future says nothing about when the write was;
    then the status must be the same at two readings.
    """
    return changed_ns + RACY_NS <= seen_ns or (changed_ns > seen_ns and seen_ns - since_ns >= RACY_NS)


def _differ(inode: int, other: int) -> bool:
    return 0 not in {inode, other} and inode != other


class Verdict(StrEnum):
    """What happened to a log since its mark."""

    NEW = "new"
    SAME = "same"
    GREW = "grew"
    TRUNCATED = "truncated"
    REWRITTEN = "rewritten"
    REPLACED = "replaced"


class Tail:
    """An open file whose new bytes can be read; use it in a `with`."""

    def __init__(self, file: BinaryIO, seen_ns: int, mark: Mark | None, packed: BinaryIO | None = None) -> None:
        """`open_tail` sets the verdict; `packed` is the compressed file that this one was unpacked from."""
        self.verdict = Verdict.NEW
        self._file = file
        self._source = packed or file
        self._unpacked = None if packed is None else os.fstat(file.fileno()).st_size
        self.status = self._status()
        self.size = self.status.size
        self._seen_ns = seen_ns
        self._since_ns = seen_ns
        if mark is not None and _same_status(self.status, mark) and mark.since_ns <= seen_ns:
            self._since_ns = mark.since_ns
        self._proves = False  # all bytes, old and new, were found in the file twice
        self._compared = True  # nothing before the offset, or all of it was compared
        self._held = b""  # new bytes that were read before the comparison
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
        self._file.close()
        self._source.close()

    def _status(self) -> FileStatus:
        status = file_status(os.fstat(self._source.fileno()))
        return status if self._unpacked is None else status._replace(size=self._unpacked)

    def pieces(self, size: int = 1 << 20) -> Iterator[bytes]:
        """Yield the new bytes, up to the size that the file had when it was opened."""
        while self._offset < self.size:
            size = min(size, self.size - self._offset)
            piece = self._held[:size] or self._read(self._offset, size)
            self._held = self._held[size:]
            if not piece:  # truncated since it was opened
                return
            self._offset += len(piece)
            if len(self._head) < WINDOW:
                self._head += piece[: WINDOW - len(self._head)]
            self._window = piece[-WINDOW:] if len(piece) >= WINDOW else (self._window + piece)[-WINDOW:]
            yield piece

    def has_moved(self) -> bool:
        """Whether the file was written or replaced since it was opened, so that what was read may never have been its content."""
        return self._status() != self.status

    def proves(self) -> bool:
        """Whether the file held all the bytes before the mark and all that were read since at one moment.

        It did if it was at rest when opened and has not changed since, or if all bytes were read twice: then it held them
        between the two readings.
        """
        return self._proves or (self._compared and self.is_at_rest() and not self.has_moved())

    def is_at_rest(self) -> bool:
        """Whether the status when it was opened shows every write until then."""
        return at_rest(self.status.ctime_ns or self.status.mtime_ns, self._seen_ns, self._since_ns)

    def is_large(self) -> bool:
        """Whether the file is too large to be compared in full each time."""
        return self.size > LARGE

    def compare(self, same: Callable[[BinaryIO], bool]) -> bool:
        """Pass the file, at position 0, to a comparison."""
        self._file.seek(0)
        return same(self._file)

    def mark(self) -> Mark:
        """The mark for what was read so far, with the status at the opening, so that a later write is noticed."""
        return Mark(
            self._offset,
            self.status.mtime_ns,
            self.status.ctime_ns,
            self.status.inode,
            _fingerprint(self._head),
            _fingerprint(self._window),
            self._seen_ns,
            self._since_ns,
        )

    def _judge(self, mark: Mark, same_prefix: Callable[[BinaryIO], bool] | None, *, reread: bool) -> Verdict:
        other_file = _differ(self.status.inode, mark.inode)
        if self.size < mark.offset:
            # A truncated head cannot be compared, but an emptied file counts as truncated.
            if self.size == 0 or (self.size >= WINDOW and _fingerprint(self._read(0, WINDOW)) == mark.head):
                return Verdict.TRUNCATED
            return Verdict.REPLACED if other_file else Verdict.REWRITTEN
        head = self._read(0, min(mark.offset, WINDOW))
        start = max(0, mark.offset - WINDOW)
        window = self._read(start, mark.offset - start) if start else head
        same = _fingerprint(head) == mark.head and _fingerprint(window) == mark.last
        if same and mark.offset:
            self._compared = False
            if same_prefix is not None and (reread or other_file or self._needs_comparison(mark)):
                same = self._compare_twice(mark.offset, same_prefix)
        if not same:
            self._compared, self._held = True, b""  # it is read from the start
            return Verdict.REPLACED if other_file else Verdict.REWRITTEN
        self._offset, self._head, self._window = mark.offset, head, window
        return Verdict.SAME if self.size == mark.offset else Verdict.GREW

    def _compare_twice(self, offset: int, same_prefix: Callable[[BinaryIO], bool]) -> bool:
        """Compare the bytes before the offset, between two readings of the new ones."""
        new = self.size - offset
        with suppress(OSError):  # `pieces` raises it after the readable bytes
            self._held = self._read(offset, new) if new <= _HELD else b""
        self._compared = self.compare(same_prefix)
        self._proves = self._compared and len(self._held) == new and (not new or self._read(offset, new) == self._held)
        return self._compared

    def _needs_comparison(self, mark: Mark) -> bool:
        status = self.status
        if settled(mark, status.size, status.mtime_ns, status.ctime_ns, status.inode):
            return False
        if not self.is_large():
            return True
        if self.size == mark.offset and (status.mtime_ns, status.ctime_ns) != (mark.mtime_ns, mark.ctime_ns):
            return True  # written without growing, so not by an append
        return self.is_at_rest()

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(size)


def _same_status(status: FileStatus, mark: Mark) -> bool:
    return (status.size, status.mtime_ns, status.ctime_ns) == (mark.offset, mark.mtime_ns, mark.ctime_ns)


def open_tail(
    path: str,
    mark: Mark | None,
    same_prefix: Callable[[BinaryIO], bool] | None = None,
    clock: Callable[[], int] = time.time_ns,
    *,
    reread: bool = False,
    scratch: str | None = None,
) -> Tail:
    """Open a log and judge it against its mark.

    The log is NEW without a mark. When it is shorter than the mark it was TRUNCATED, or REWRITTEN if it also begins
    differently. Else its first and last windows before the offset must have the marked fingerprints, or it was REWRITTEN
    (REPLACED when its inode differs too). If they agree, the whole prefix is compared through `same_prefix`, which
    gets the file at position 0 and tells whether it begins with the stored bytes: an edit in the middle followed by an append looks
    like growth. A large log that is being written is not compared here, so `Tail.proves` is false. `reread` compares regardless of
    the status. A path that ends with `.zst` is a compressed log, whose content is judged; it is unpacked in the
    folder `scratch`, or in the system's temporary folder.
    """
    seen_ns = clock()  # before the status, so that a later write cannot look settled
    file = open(path, "rb", opener=_open_without_waiting)  # noqa: SIM115 - the Tail closes it
    try:
        tail = (
            Tail(_unpacked(file, scratch), seen_ns, mark, file) if path.endswith(PACKED) else Tail(file, seen_ns, mark)
        )
        if mark is not None:
            tail.verdict = tail._judge(mark, same_prefix, reread=reread)  # noqa: SLF001 - the two are one
    except BaseException:
        file.close()
        raise
    return tail


def _unpacked(file: BinaryIO, folder: str | None) -> BinaryIO:
    """The content of a compressed file, in an unnamed file."""
    from tempfile import TemporaryFile

    from zstandard import ZstdDecompressor, ZstdError

    content = TemporaryFile(dir=folder)  # noqa: SIM115 - the Tail closes it
    try:
        with ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=False) as reader:
            while (piece := reader.read(1 << 20)) and content.tell() <= LARGEST_UNPACKED:
                content.write(piece)
        content.flush()
    except ZstdError as error:
        content.close()
        raise OSError(errno.EINVAL, f"cannot be unpacked ({error})", file.name) from error
    except BaseException:
        content.close()
        raise
    if content.tell() > LARGEST_UNPACKED:
        content.close()
        raise OSError(errno.EFBIG, f"more than {LARGEST_UNPACKED:,} bytes when it is unpacked", file.name)
    return content


def unseen_mark(offset: int, head: bytes, last: bytes) -> Mark:
    """The mark of stored bytes whose source must be compared again; `head` and `last` are their first and last WINDOW bytes."""
    return Mark(offset, 0, 0, 0, _fingerprint(head), _fingerprint(last), 0, 0)


def _open_without_waiting(path: str, flags: int) -> int:
    # A pipe in place of a transcript would block until it is written.
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return handle


def _fingerprint(data: bytes) -> bytes:
    from hashlib import blake2b  # loads OpenSSL, which a sync without anything new does not need

    return blake2b(data, digest_size=16).digest()
