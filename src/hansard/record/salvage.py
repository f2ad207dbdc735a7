"""A new record from what can still be read of a broken one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import apsw
from msgspec import Struct, field

from hansard.errors import StoreCorrupt, UsageError
from hansard.record import chain, layout
from hansard.record.database import Codec, DamagedError, short_hash
from hansard.record.names import read_name
from hansard.storage import sqlite

_FOLDER = "projects/salvaged"
_HIGHEST = 1 << 40  # of any row's id
_METADATA = ("root", "file", "generation", "snapshot", "remark", "left_out", "worktree", "move", "unproven")

Row = dict[str, Any]


class Loss(Struct, frozen=True):
    """Bytes that the broken record cannot give back."""

    path: str
    generation: int | None
    offset: int
    length: int


class SalvageReport(Struct):
    """What was salvaged to the new record, and what was lost."""

    files: int = 0
    bytes: int = 0
    """Raw bytes whose hashes fit."""
    remarks: int = 0
    unnamed: int = 0
    """Files whose names were lost; they are in `projects/salvaged/`."""
    unread_rows: int = 0
    """Places in the tables where nothing could be read."""
    losses: list[Loss] = field(default_factory=list)


def salvage(broken: str, new: str) -> SalvageReport:
    """Write whatever is readable of the record at `broken` into a new one at `new`; the broken one is not changed.

    Tables are read row by row, past pages that make no sense. Every chunk and every small file is checked against its hash;
    one that does not fit keeps its place, so that `verify --repair` can mend it from a source that still has its bytes.
    """
    if os.path.exists(new):
        raise UsageError(f"{new}: already has a record. Choose a new directory to salvage into.")
    layout.create(new)
    source, target = apsw.Connection(broken, flags=apsw.SQLITE_OPEN_READONLY), sqlite.connect(new)
    try:
        try:
            source.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except apsw.Error as error:
            raise StoreCorrupt(f"{broken}: even its list of tables cannot be read ({error}).") from error
        target.execute("BEGIN IMMEDIATE")
        report = _Salvage(source, target).run()
        target.execute("COMMIT")
    except BaseException:
        target.close()
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(new + suffix):
                os.unlink(new + suffix)
        raise
    finally:
        source.close()
        target.close()
    return report


class _Salvage:
    def __init__(self, source: apsw.Connection, target: apsw.Connection) -> None:
        self.source = source
        self.target = target
        self.report = SalvageReport()
        self._codec = Codec()
        self._good: set[int] = set()  # chunks

    def run(self) -> SalvageReport:
        for table in _METADATA:
            for row in self._rows(table):
                self._put(table, row)
        self._chunks()
        self._contents()
        self._give_names()
        self._begin_chain()
        self.report.files = self._count("file")
        self.report.remarks = self._count("remark")
        self._tell_losses()
        return self.report

    # -- reading

    def _rows(self, table: str) -> Iterator[Row]:
        """Every row that can be read, in the order of its id."""
        key = "rowid" if table not in ("left_out", "worktree", "move", "unproven") else None
        names = [row[1] for row in self.target.execute(f"PRAGMA table_info({table})")]
        known = {row[1] for row in self.source.execute(f"PRAGMA table_info({table})")}
        names = [name for name in names if name in known]
        columns = ", ".join(names)
        if not names:  # a store of an older layout
            return
        if key is None:
            try:
                yield from (
                    dict(zip(names, row, strict=True)) for row in self.source.execute(f"SELECT {columns} FROM {table}")
                )
            except apsw.Error:
                self.report.unread_rows += 1
            return
        begin: int | None = -1
        while begin is not None:
            try:
                for row_id, *values in self.source.execute(
                    f"SELECT rowid, {columns} FROM {table} WHERE rowid > ? ORDER BY rowid", (begin,)
                ):
                    begin = int(row_id)
                    yield dict(zip(names, values, strict=True))
                return
            except apsw.Error:
                self.report.unread_rows += 1
                begin = self._next_readable(table, begin)

    def _next_readable(self, table: str, bad: int) -> int | None:
        """The least id from which on rows can be read again, less one; None where there is none."""

        def is_readable(above: int) -> bool:
            try:
                self.source.execute(
                    f"SELECT * FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT 1", (above,)
                ).fetchall()
            except apsw.Error:
                return False
            return True

        step = 1
        while not is_readable(bad + step):
            step *= 2
            if bad + step > _HIGHEST:
                return None
        low, high = bad + step // 2, bad + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_readable(middle) else (middle, high)
        return high

    # -- writing

    def _put(self, table: str, row: Row) -> bool:
        try:
            self.target.execute(
                f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
            )
        except apsw.Error:  # of the wrong type, or there already: what stood on the page was no row of ours
            self.report.unread_rows += 1
            return False
        return True

    def _chunks(self) -> None:
        shared: list[Row] = []
        for row in self._rows("chunk"):
            if row["source"] is not None:
                shared.append(row)
                continue
            is_good = self._fits(row["data"], row["length"], lambda raw, row=row: short_hash(raw) == row["hash"])  # type: ignore[misc]
            if self._put("chunk", row if is_good else row | {"data": b""}) and is_good:
                self._good.add(row["id"])
                self.report.bytes += row["length"]
        for row in shared:
            twin = self.target.execute(
                "SELECT id FROM chunk WHERE hash = ? AND length = ? AND data <> x'' LIMIT 1",
                (row["hash"], row["length"]),
            ).get
            if self._put("chunk", row | {"source": twin, "data": b""}) and twin is not None:
                self._good.add(row["id"])
                self.report.bytes += row["length"]

    def _contents(self) -> None:
        for row in self._rows("content"):
            if self._fits(row["data"], row["size"], lambda raw, row=row: sha256(raw).digest() == row["hash"]):  # type: ignore[misc]
                self._put("content", row)
                self.report.bytes += row["size"]
        lost: list[Any] = self.target.execute(
            "SELECT f.path, f.size FROM snapshot s LEFT JOIN file f ON f.id = s.file_id WHERE s.content_id NOT IN (SELECT id FROM content)"
        ).fetchall()
        for path, size in lost:
            self.report.losses.append(Loss(read_name(path or _FOLDER), None, 0, size or 0))
        self.target.execute("DELETE FROM snapshot WHERE content_id NOT IN (SELECT id FROM content)")

    def _fits(self, data: object, length: object, has_hash: Callable[[bytes], bool]) -> bool:
        try:
            return isinstance(data, bytes) and isinstance(length, int) and has_hash(self._codec.unpack(data, length))
        except DamagedError:
            return False

    def _give_names(self) -> None:
        """Let every generation and content belong to a file, and every file to a root, and have a current content."""
        run = self.target.execute
        run(
            "INSERT INTO generation (id, file_id, seq, size, mtime_ns, mode, started_at) SELECT generation_id, -generation_id, 1,"
            " max(start + length), 0, 384, ?1 FROM chunk WHERE generation_id NOT IN (SELECT id FROM generation) GROUP BY generation_id",
            (layout.now(),),
        )
        run(
            "INSERT INTO snapshot (file_id, content_id, mtime_ns, mode, seen_at) SELECT -(1 << 41) - id, id, 0, 384, ?1 FROM content"
            " WHERE id NOT IN (SELECT content_id FROM snapshot)",
            (layout.now(),),
        )
        nameless: list[Any] = run(
            "SELECT file_id, max(id), 'main', '.jsonl' FROM generation WHERE file_id NOT IN (SELECT id FROM file) GROUP BY file_id"
            " UNION ALL SELECT file_id, max(id), 'other', '.txt' FROM snapshot WHERE file_id NOT IN (SELECT id FROM file) GROUP BY file_id"
        ).fetchall()
        if nameless:
            run(
                "INSERT OR IGNORE INTO root (id, path, name) VALUES ((SELECT coalesce(max(id), 0) + 1 FROM root), '/salvaged', 'salvaged')"
            )
        for file_id, number, kind, suffix in nameless:
            run(
                "INSERT INTO file (root_id, path, kind, state, state_at, size) VALUES ((SELECT id FROM root WHERE path = '/salvaged'),"
                " ?, ?, 'gone', ?, 0)",
                (f"{_FOLDER}/{number}{suffix}", kind, layout.now()),
            )
            for table in ("generation", "snapshot"):
                run(f"UPDATE {table} SET file_id = ? WHERE file_id = ?", (self.target.last_insert_rowid(), file_id))
        self.report.unnamed = len(nameless)
        lost_roots = "SELECT DISTINCT root_id FROM file WHERE root_id NOT IN (SELECT id FROM root)"
        run(
            f"INSERT INTO root (id, path, name) SELECT root_id, '/salvaged-' || root_id, 'salvaged-' || root_id FROM ({lost_roots})"
        )
        run("DELETE FROM left_out WHERE root_id NOT IN (SELECT id FROM root)")
        # What is current was lost: then what was there before it is, and the next sync reads the source anew.
        run(
            "UPDATE file SET generation_id = (SELECT max(id) FROM generation g WHERE g.file_id = file.id), snapshot_id = NULL,"
            " mark_offset = NULL WHERE generation_id NOT IN (SELECT id FROM generation)"
            " OR (generation_id IS NULL AND snapshot_id IS NULL)"
        )
        run(
            "UPDATE file SET snapshot_id = (SELECT max(id) FROM snapshot s WHERE s.file_id = file.id), mark_offset = NULL"
            " WHERE generation_id IS NULL AND (snapshot_id IS NULL OR snapshot_id NOT IN (SELECT id FROM snapshot))"
        )
        run("DELETE FROM file WHERE generation_id IS NULL AND snapshot_id IS NULL")
        run(
            "UPDATE file SET size = (SELECT size FROM generation g WHERE g.id = generation_id) WHERE generation_id IS NOT NULL"
        )

    def _begin_chain(self) -> None:
        run = self.target.execute
        run("DELETE FROM entry")
        run("DELETE FROM revision")
        run("UPDATE store SET revision = revision + 1")
        chain.begin(self.target, run("SELECT store_id FROM store").get, layout.now())

    def _tell_losses(self) -> None:
        """Name every stretch of a log that no good chunk covers."""
        logs: list[Any] = self.target.execute(
            "SELECT f.path, g.id, g.size FROM generation g JOIN file f ON f.id = g.file_id ORDER BY g.id"
        ).fetchall()
        for path, generation, size in logs:
            position = 0
            chunks: list[Any] = self.target.execute(
                "SELECT id, start, length FROM chunk WHERE generation_id = ? ORDER BY start", (generation,)
            ).fetchall()
            for chunk, start, length in [*chunks, (None, size, 0)]:
                if start > position and (chunk is None or chunk in self._good):
                    self.report.losses.append(Loss(read_name(path), generation, position, start - position))
                if chunk is None or chunk in self._good:
                    position = start + length

    def _count(self, table: str) -> int:
        return int(self.target.execute(f"SELECT count(*) FROM {table}").get)
