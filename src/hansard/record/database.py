"""The connection under the record: one writer at a time, errors that say what to do, contents as zstd frames with hashes."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, cast

import apsw

from hansard.errors import StoreCorrupt, StoreUnusable
from hansard.quick_imports import import_quickly
from hansard.record import layout
from hansard.storage.sqlite import is_page_damage, store_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType
    from typing import Self

    import zstandard

_PAGE = 1000  # rows
_FRAME_PART = 16 << 10  # of a frame that is read at a time

Raw = bytes | bytearray | memoryview

LEVEL = 1


class DamagedError(Exception):
    """A stored frame does not give the bytes it should; the caller knows which file it belongs to and says so."""


def short_hash(raw: Raw) -> bytes:
    """The 16-byte hash of a chunk: on the machines measured, SHA-256 in hardware beats the cheaper-looking hashes."""
    from hashlib import sha256

    return sha256(raw).digest()[:16]


class Codec:
    """One reused compressor and decompressor; zstandard is imported when the first frame is packed or unpacked."""

    @cached_property
    def _compressor(self) -> zstandard.ZstdCompressor:
        import_quickly("zstandard")
        import zstandard

        return zstandard.ZstdCompressor(level=LEVEL, write_content_size=True)

    @cached_property
    def _decompressor(self) -> zstandard.ZstdDecompressor:
        import_quickly("zstandard")
        import zstandard

        return zstandard.ZstdDecompressor()

    def pack(self, raw: Raw) -> bytes:
        """Compress into one frame that states its raw length."""
        return self._compressor.compress(raw)

    def unpack(self, frame: bytes, length: int) -> bytes:
        """Decompress a frame of exactly `length` raw bytes, or raise DamagedError before memory is spent."""
        decompressor = self._decompressor
        import zstandard

        try:
            stated = zstandard.frame_content_size(frame)
            if stated != length:
                raise DamagedError(f"its compressed data claims {stated} bytes where {length} are recorded")
            raw = decompressor.decompress(frame)
        except zstandard.ZstdError as error:
            raise DamagedError(f"its compressed data cannot be read ({error})") from None
        except MemoryError:
            raise DamagedError(f"it claims {length} bytes, more than there is memory for") from None
        if len(raw) != length:
            raise DamagedError(f"it gives {len(raw)} bytes where {length} are recorded")
        return raw

    def unpack_start(self, frame: bytes | apsw.Blob, length: int) -> bytes:
        """The first `length` raw bytes of a frame, without spending time on the rest, which a blob need not even read."""
        decompressor = self._decompressor
        import zstandard

        try:
            # Of a file it only wants `read`.
            source = cast("bytes | IO[bytes]", frame)
            with decompressor.stream_reader(source, read_size=_FRAME_PART, closefd=False) as reader:
                return reader.read(length)
        except zstandard.ZstdError as error:
            raise DamagedError(f"its compressed data cannot be read ({error})") from None


Row = tuple[Any, ...]


class Database:
    """An open record.db; use one per thread."""

    def __init__(self, db: apsw.Connection, path: str, *, readonly: bool) -> None:
        """Take over an open and prepared connection; callers use `open`."""
        self.path = path
        self.readonly = readonly
        self._db = db
        self._writing = False
        self._failed = False
        self._changes = 0
        self._moment = ""
        """When the write transaction began; everything in it happened then."""
        self._codec = Codec()
        self._forget()
        self.store_id: str = self._one("SELECT store_id FROM store")[0]

    @classmethod
    def open(cls, path: str, *, readonly: bool = False, busy_seconds: float = 5.0) -> Self:
        """Open the record at `path`, creating it when absent unless `readonly`; a newer or damaged one is left untouched."""
        path = os.path.abspath(path)
        if isinstance(bind_name(path), bytes):
            raise StoreUnusable(
                f"{path!a}: SQLite opens only files with Unicode names. Name another data directory with --home."
            )
        try:
            if not readonly:
                layout.create(path)
            db = layout.connect(path, readonly=readonly, busy_seconds=busy_seconds)
            try:
                try:
                    layout.prepare(db, path, readonly=readonly, busy_seconds=busy_seconds)
                except apsw.IOError as error:
                    if not is_page_damage(error) or not layout.has_stale_checksums(db, path):
                        raise
                    layout.prepare(db, path, readonly=readonly, busy_seconds=busy_seconds)
                return cls(db, path, readonly=readonly)
            except BaseException:
                db.close()
                raise
        except apsw.Error as error:
            raise record_error(error, path) from error

    def close(self) -> None:
        self._forget()
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def revision(self) -> int:
        """How many write transactions were ever committed; a lower number than before means that an older copy was restored."""
        return int(self._one("SELECT revision FROM store")[0])

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One write transaction: all of it or, after any exception, nothing of it but what `commit` was called for."""
        if self.readonly:
            raise StoreUnusable(f"{self.path}: the record was opened read-only.")
        if self._writing:
            raise RuntimeError("a write transaction is already open")
        self._begin_write()
        try:
            yield
            self._end_write()
        except BaseException:
            # SQLite has already undone the transaction itself after some failures, a full disk among them.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        finally:
            self._writing = False
            self._forget()

    def commit(self) -> None:
        """Commit what was written so far, and go on in a new transaction."""
        self._end_write()
        self._forget()
        self._begin_write()

    def _begin_write(self) -> None:
        self._run("BEGIN IMMEDIATE")
        self._writing = True
        self._failed = False
        self._moment = layout.now()
        self._changes = self._db.total_changes()

    def _end_write(self) -> None:
        self._must_write()
        self._write_back()
        if self._db.total_changes() == self._changes:
            # Nothing was changed: no new revision, and no waiting for the disk.
            self._run("ROLLBACK")
        else:
            self._seal()
            self._run("COMMIT")

    @contextmanager
    def isolated(self) -> Iterator[None]:
        """A step of a write transaction that leaves nothing behind when it raises, while the rest goes on."""
        self._must_write()
        self._write_back()
        noted = self._step()
        self._run("SAVEPOINT step")
        try:
            yield
            self._write_back()
        except BaseException:
            self._undo_step(noted)
            if self._db.in_transaction:
                self._db.execute("ROLLBACK TO step")
                self._db.execute("RELEASE step")
            raise
        self._run("RELEASE step")

    def _write_back(self) -> None:
        """Write what is still held in memory."""

    def _release_tails(self) -> None:
        """Write what is still held in memory of logs, and drop it."""
        self._write_back()

    def _step(self) -> int:
        """How much is held in memory before a step."""
        return 0

    def _undo_step(self, noted: int) -> None:
        """Drop what was held in memory since a step that failed."""

    def _seal(self) -> None:
        """Make the write a revision."""

    def _forget(self) -> None:
        """Drop what was held in memory for the transaction that ended."""

    def _must_write(self) -> None:
        if not self._writing:
            raise RuntimeError("the record is changed only inside `with record.writing():`")
        if self._failed:
            # SQLite may have undone the transaction; going on would commit the rest bit by bit.
            raise StoreUnusable(f"{self.path}: an earlier write of this step failed, so all of it is undone.")

    def _run(self, sql: str, values: tuple[Any, ...] = ()) -> None:
        try:
            self._db.execute(sql, values)
        except apsw.Error as error:
            self._failed = True
            raise record_error(error, self.path) from error

    def _run_many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        try:
            self._db.executemany(sql, rows)
        except apsw.Error as error:
            self._failed = True
            raise record_error(error, self.path) from error

    def _insert(self, sql: str, values: tuple[Any, ...]) -> int:
        self._run(sql, values)
        return self._db.last_insert_rowid()

    def _rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Row]:
        try:
            return self._db.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise record_error(error, self.path) from error

    def _one_or_none(self, sql: str, values: tuple[Any, ...] = ()) -> Row | None:
        rows = self._rows(sql, values)
        return rows[0] if rows else None

    def _content_row(self, sql: str, values: tuple[Any, ...] = ()) -> Row | None:
        """A row of stored content; a damaged page raises DamagedError, so that the caller can name the file."""
        try:
            return self._one_or_none(sql, values)
        except StoreCorrupt as error:
            raise DamagedError(f"a page of the database is damaged ({error.__cause__})") from error

    def _frame_start(self, chunk: int, length: int) -> bytes | None:
        """The first raw bytes of a chunk, with no more of its frame read than they take.

        None where its pages cannot be read, or have no checksums: then only the hash of the whole chunk proves its bytes.
        """
        if not layout.checks_pages(self._db):
            return None
        try:
            frame = self._db.blob_open("main", "chunk", "data", chunk, False)  # noqa: FBT003 - apsw takes it by position
            try:
                return self._codec.unpack_start(frame, length)
            finally:
                frame.close()
        except apsw.Error:
            return None

    def _one(self, sql: str, values: tuple[Any, ...] = ()) -> Row:
        return self._rows(sql, values)[0]

    def _paged(self, sql: str, after: int = 0) -> Iterator[Row]:
        """Rows of a query by `id > ? ORDER BY id LIMIT ?` with the id first; no statement stays open between them."""
        while rows := self._rows(sql, (after, _PAGE)):
            yield from rows
            after = rows[-1][0]


def bind_name(name: str) -> str | bytes:
    """A path as a lossless SQLite value: TEXT, or a BLOB if it has surrogates, which UTF-8 cannot encode."""
    if name.isascii():
        return name
    try:
        name.encode()
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogatepass")
    return name


def read_name(value: str | bytes) -> str:
    """The path that `bind_name` was given."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


AFTER_DAMAGE = (
    "Nothing was changed. Run `hansard verify --repair`, which restores what the sources still have and keeps the damaged "
    "file, or restore it from a backup."
)

DAMAGED_TEXT = "[damaged in the record; run `hansard verify --repair`]"
"""Shown in lists instead of a text that the record cannot return."""


def record_error(error: apsw.Error, path: str) -> Exception:
    """The error of our tree for an error of SQLite on the record at `path`."""

    def damaged(reason: apsw.Error) -> StoreCorrupt:
        return StoreCorrupt(f"{path}: not a readable Hansard record ({reason}). {AFTER_DAMAGE}")

    return store_error(error, path, damaged)
