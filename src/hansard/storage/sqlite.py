"""Opening SQLite with page checksums, also where its -shm file cannot be created, and turning its errors into messages for users.

With checksums, a flipped bit on disk is an error and never a wrong answer.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import apsw

from hansard.errors import HansardError, StoreBusy, StoreUnusable
from hansard.files import FILE_MODE

PAGE_SIZE = 8192
PARTIAL = ".partial"
RESERVED = 8
"""Bytes at the end of each page that hold its checksum."""

_WORD = 0xFFFFFFFF
_LOCKED = 1 << 30  # the byte that SQLite locks; its page holds no data

_VFS = "cksmvfs"
_LIBRARY = {"win32": "cksumvfs.dll", "darwin": "cksumvfs.dylib"}.get(sys.platform, "cksumvfs.so")


@cache
def checksum_vfs() -> str | None:
    """The name of SQLite's checksum VFS, registered once per process; None if this build of apsw does not include it."""
    library = os.path.join(os.path.dirname(apsw.__file__), "sqlite_extra_binaries", _LIBRARY)
    if not os.path.exists(library):
        return None
    default = apsw.vfs_names()[0]
    try:
        db = apsw.Connection(":memory:")
        try:
            db.enable_load_extension(True)  # noqa: FBT003 - apsw takes it by position
            db.load_extension(library)
        finally:
            db.close()
        # It makes itself the default, which other users of apsw in this process do not expect.
        apsw.set_default_vfs(default)
    except (apsw.Error, ValueError):
        return None
    return _VFS if _VFS in apsw.vfs_names() else None


def connect(path: str, *, readonly: bool = False, flags: int = 0) -> apsw.Connection:
    """Open a database file; pages that were written with a checksum are checked as they are read."""
    if not readonly:
        _allow_journals(path)
    flags |= apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE
    return apsw.Connection(path, flags=flags, vfs=checksum_vfs())


def _allow_journals(path: str) -> None:
    """Make the -wal and -shm files of one of Hansard's databases writable again: a copy or a backup may have changed their modes.

    SQLite would open such a file for reading, then refuse every write with an error that names the database.
    """
    if os.name != "posix":
        return
    for journal in (path + "-wal", path + "-shm"):
        with contextlib.suppress(OSError):
            status = os.stat(journal, follow_symlinks=False)
            if (
                stat.S_ISREG(status.st_mode)
                and status.st_mode & FILE_MODE != FILE_MODE
                and status.st_uid == os.geteuid()
            ):
                os.chmod(journal, FILE_MODE)


def unwritable_file(path: str) -> str:
    """The file that prevents writing to a database: its log, its shared memory, or the database itself."""
    if os.access(path, os.R_OK | os.W_OK):
        for journal in (path + "-wal", path + "-shm"):
            if os.path.lexists(journal) and not (os.path.isfile(journal) and os.access(journal, os.R_OK | os.W_OK)):
                return journal
    return path


def reserve_checksums(db: apsw.Connection) -> bool:
    """Reserve space for checksums in the pages of a database, before its first write or a VACUUM; False if there are none."""
    if checksum_vfs() is None:
        return False
    db.reserve_bytes("main", RESERVED)
    return True


def create(path: str, prepare: Callable[[apsw.Connection], None], *, can_shrink: bool = False) -> None:
    """Create a private database, atomically and only if none exists; `can_shrink`: it can give back unused pages."""
    partial = f"{path}.{os.urandom(4).hex()}{PARTIAL}"
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        db = connect(partial)
        try:
            db.pragma("page_size", PAGE_SIZE)
            reserve_checksums(db)
            db.pragma("auto_vacuum", 2 * can_shrink)
            db.pragma("journal_mode", "wal")
            prepare(db)
        finally:
            db.close()
        with contextlib.suppress(FileExistsError):
            _appear(partial, path)
    finally:
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(partial + suffix)


def remove_partial(folder: str) -> None:
    """Remove incomplete databases; only the holder of the lock may create one."""
    for name in os.listdir(folder):
        if name.removesuffix("-wal").removesuffix("-shm").removesuffix("-journal").endswith(PARTIAL):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))


def _appear(partial: str, path: str) -> None:
    """Move a finished file to its name, unless that exists."""
    try:
        os.link(partial, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.exists(path):
            raise FileExistsError(path) from None
        os.rename(partial, path)


def is_checksummed(path: str) -> bool:
    """Whether the last writer of a database file wrote checksums.

    Other programs change at least the first page without one, when they copy or write the file; checksums on other pages then
    prove nothing.
    """
    with open(path, "rb") as file:
        header = file.read(18)
        size = int.from_bytes(header[16:18]) if len(header) == 18 else 0
        size = 65536 if size == 1 else size
        file.seek(0)
        page = file.read(size)
    if size < 512 or size & (size - 1):  # no page has that size
        return False
    return len(page) == size and page_checksum(page[:-RESERVED]) == page[-RESERVED:]


def has_flipped_bit(path: str) -> bool:
    """Whether the first page of a database file differs from its checksum by a single bit: damage, not a write of another program."""
    with open(path, "rb") as file:
        page = file.read(PAGE_SIZE)
    if len(page) < PAGE_SIZE:
        return False
    data, stored = memoryview(page)[:-RESERVED].cast("I"), memoryview(page)[-RESERVED:].cast("I")
    found = memoryview(page_checksum(page[:-RESERVED])).cast("I")
    if (int.from_bytes(found) ^ int.from_bytes(stored)).bit_count() == 1:
        return True
    missing = tuple((wanted - has) & _WORD for wanted, has in zip(stored, found, strict=True))
    # How much the last words count in each half of the checksum, then those before them.
    odd, even = (0, 1), (1, 1)
    for place in range(len(data) - 2, -1, -2):
        for word, (one, other) in ((data[place], even), (data[place + 1], odd)):
            for bit in range(32):
                change = -(1 << bit) if word >> bit & 1 else 1 << bit
                if (one * change & _WORD, other * change & _WORD) == missing:
                    return True
        odd, even = _weight_before(odd), _weight_before(even)
    return False


def _weight_before(weight: tuple[int, int]) -> tuple[int, int]:
    one, other = weight
    return (one + other) & _WORD, (one + 2 * other) & _WORD


def pages_match(path: str, first: int, count: int) -> bool:
    """Whether a range of pages of a database file match their checksums; False if they have none."""
    vfs = checksum_vfs()
    if vfs is None or not is_checksummed(path):
        return False
    with open(path, "rb") as head:
        size = int.from_bytes(head.read(18)[16:])
    size = 65536 if size == 1 else size
    nothing = bytes(size)
    file = apsw.VFSFile(vfs, path, [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
    try:
        file.xRead(size, 0)  # detects that there are checksums
        # The checksum of an empty page is zero, so a page lost as a whole must not match. The lock page is never written.
        places = (place for place in range(first, first + count) if place != _LOCKED // size)
        return all(file.xRead(size, place * size) != nothing for place in places)
    except apsw.Error:
        return False
    finally:
        file.xClose()


def page_checksum(data: bytes) -> bytes:
    """The checksum that cksumvfs gives a page."""
    one = other = 0
    words = memoryview(data).cast("I")  # in the machine's order, which is little-endian on all that wheels are made for
    for place in range(0, len(words), 2):
        one = (one + words[place] + other) & _WORD
        other = (other + words[place + 1] + one) & _WORD
    return one.to_bytes(4, sys.byteorder) + other.to_bytes(4, sys.byteorder)


def is_page_damage(error: apsw.Error) -> bool:
    """Whether SQLite read something that it did not write: a page that does not match its checksum, or a truncated file."""
    return isinstance(error, (apsw.CorruptError, apsw.NotADBError)) or getattr(error, "extendedresult", 0) in {
        apsw.SQLITE_IOERR_DATA,
        apsw.SQLITE_IOERR_SHORT_READ,
    }


_T = TypeVar("_T")
_SHM_REGION = 1 << 15  # bytes; a -shm file has one or more of these
_SHM_ERRORS = frozenset({apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP})


def connect_readonly(path: str, prepare: Callable[[apsw.Connection], object] = lambda _: None) -> apsw.Connection:
    """Open a database file for reading and read its first page, after `prepare` has set the connection up."""

    def attempt(uri: str) -> apsw.Connection:
        db = connect(uri, readonly=True, flags=apsw.SQLITE_OPEN_URI)
        try:
            prepare(db)
            db.pragma("user_version")
        except BaseException:
            db.close()
            raise
        return db

    return try_uris(path, attempt)


def try_uris(path: str, attempt: Callable[[str], _T]) -> _T:
    """Call `attempt` with the URI of a database for reading, and again with other options if SQLite cannot make its -shm file.

    With `readonly_shm` SQLite builds the index of the log in memory: it sees everything committed, and notices when another
    process begins to write. (An exclusive lock would do that too, but then only one process could read.) It needs a -shm file of
    any size, and the first attempt leaves one on a full disk. In a read-only directory there is no such file; then the database is opened
    as immutable, unless it has a log: its content would be ignored.
    """
    try:
        return attempt(uri_of(path, "mode=ro"))
    except apsw.Error as error:
        if not _is_shm_missing(error):
            raise
        without_shm = error
    if os.path.exists(path + "-shm"):
        try:
            return attempt(uri_of(path, "mode=ro&readonly_shm=1"))
        except apsw.Error as error:
            if not _is_shm_missing(error):
                raise
    if _has_log(path):
        raise without_shm
    return attempt(uri_of(path, "immutable=1"))


def has_shared_memory(path: str) -> bool:
    """Whether connections to an open database share memory in a -shm file: all do, unless it could not be made."""
    try:
        return os.path.getsize(path + "-shm") >= _SHM_REGION
    except OSError:
        return False


def uri_of(path: str, options: str) -> str:
    """A path as SQLite's URI; only three characters are special, and importing urllib is slow."""
    slashed = os.path.abspath(path).replace(os.sep, "/")
    for character in "%?#":
        slashed = slashed.replace(character, f"%{ord(character):02x}")
    return "file:" + ("" if slashed.startswith("/") else "/") + slashed + "?" + options


def _is_shm_missing(error: apsw.Error) -> bool:
    return (
        isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError) or getattr(error, "extendedresult", 0) in _SHM_ERRORS
    )


def _has_log(path: str) -> bool:
    try:
        return os.path.getsize(path + "-wal") > 0
    except OSError:
        return False


NO_SPACE = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})


def store_error(error: apsw.Error, path: str, damaged: Callable[[apsw.Error], HansardError]) -> Exception:
    """The Hansard error for an error of SQLite on the database at `path`; `damaged` makes the one for a damaged file.

    A mistake in our own SQL is not converted: no user can fix it, and the file is not to blame.
    """
    if isinstance(error, apsw.SQLError):
        return error
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreBusy(
            f"{path}: another process is writing to it and did not finish in time. "
            "Wait for it to end (perhaps another sync or watch), then run this again."
        )
    if is_page_damage(error):
        return damaged(error)
    if isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
        return StoreUnusable(
            f"{path}: no space left to write. The write was undone; everything before it is intact. "
            "Free some space, or move the data directory to a larger disk and name it with --home, then run this again."
        )
    if isinstance(error, (apsw.ReadOnlyError, apsw.CantOpenError)):
        blamed = unwritable_file(path)
        if blamed != path:
            return StoreUnusable(
                f"{blamed}: SQLite keeps this file beside the database and cannot write to it. End the programs that use this "
                "store, then make yourself its owner and set its mode to 0600 (or remove it if its name ends in -shm), and run this again."
            )
    if isinstance(error, apsw.ReadOnlyError):
        return StoreUnusable(
            f"{path}: readable but not writable. Check the permissions of the file and of its directory, "
            "or name another data directory with --home."
        )
    if isinstance(error, (apsw.CantOpenError, apsw.PermissionsError)):
        return StoreUnusable(
            f"{path}: cannot be opened ({error}). Check that you may read and write this file and its directory, "
            "or name another data directory with --home."
        )
    if isinstance(error, apsw.TooBigError):
        return StoreUnusable(f"{path}: a file is too large to be kept whole ({error}). Leave it out.")
    return StoreUnusable(
        f"{path}: the database could not be read or written ({type(error).__name__}: {error}). "
        "Check the disk; everything that was committed before is intact."
    )


def os_error(error: OSError, path: str) -> StoreUnusable:
    """The Hansard error for a file system error while the file at `path` is created."""
    if error.errno in NO_SPACE:
        return StoreUnusable(
            f"{path}: no space left to create it. Free some space, or name another data directory with --home."
        )
    if isinstance(error, (NotADirectoryError, FileExistsError)):
        return StoreUnusable(
            f"{path}: {error.filename or 'its parent'} is not a directory. Name another data directory with --home."
        )
    return StoreUnusable(
        f"{path}: cannot be created ({error.strerror or error}). "
        "Check the permissions of its directory, or name another data directory with --home."
    )


def to_json(value: Any) -> str:
    """A list for `json_each`, or another value, as JSON. The standard library's module takes long to import."""
    import msgspec

    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # a lone surrogate
        import json

        return json.dumps(value)


def from_json(text: str | bytes) -> Any:
    """Decode JSON as `json.loads` does."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (
        msgspec.MsgspecError,
        UnicodeEncodeError,
    ):  # invalid, or a lone surrogate or an infinity, which Python accepts
        import json

        return json.loads(text)
