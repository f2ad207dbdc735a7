"""A new record from what can still be read of a damaged one, and from the sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import apsw
from msgspec import Struct, field

from hansard.clients import all_clients
from hansard.errors import UsageError
from hansard.record import chain, layout
from hansard.record.broken import BrokenRecord, Row, remove
from hansard.record.database import Codec, DamagedError, read_name, short_hash
from hansard.record.refill import Refill
from hansard.record.schema import CHUNK
from hansard.sources.roots import FileKind
from hansard.storage import sqlite

if TYPE_CHECKING:
    from hansard.sources.roots import Root

_FOLDER = "projects/salvaged"
_CHAIN = ("store", "revision", "entry", "seed")
_MAY_BE_EMPTY = frozenset({"seed"})
_METADATA = (
    *("root", "file", "generation", "snapshot", "remark", "left_out", "worktree", "move", "unproven"),
    *("blank", "tombstone", "erasure", "erasure_step", "freed", "secret_key", "secret_state"),
)
_LONGEST_CORRECTED = 2000  # bytes of a remark


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
    doubtful: list[str] = field(default_factory=list)
    """Descriptions of what was read from damaged pages and could not be proved."""


def salvage(broken: str, new: str, roots: Sequence[Root] = ()) -> SalvageReport:
    """Write what is readable of the record at `broken` into a new one at `new`; the broken one is not changed.

    Tables are read row by row, past pages that make no sense. Every chunk and every small file is checked against its hash;
    one that does not fit keeps its place. Lost bytes are taken from the files under `roots` where a hash in the record proves them.
    The chain of revisions goes on where all of it can be read, else it starts over.
    """
    if os.path.exists(new):
        raise UsageError(f"{new}: already has a record. Choose a new directory to salvage into.")
    layout.create(new)
    source = None
    target = sqlite.connect(new)
    try:
        source = BrokenRecord(broken, f"{new}.copy{sqlite.PARTIAL}")
        target.execute("BEGIN IMMEDIATE")
        report = _Salvage(source, target, roots).run()
        target.execute("COMMIT")
    except BaseException:
        target.close()
        remove(new)
        raise
    finally:
        if source is not None:
            source.close()
        target.close()
    return report


class _Salvage:
    def __init__(self, source: BrokenRecord, target: apsw.Connection, roots: Sequence[Root]) -> None:
        self.source = source
        self.target = target
        self.report = SalvageReport()
        self._codec = Codec()
        self._good: set[int] = set()  # chunks
        self._doubtful: dict[str, set[int]] = {}  # ids of rows from damaged pages, by table
        self._roots = roots

    def run(self) -> SalvageReport:
        has_chain = self._chain()
        unread = self.source.unread
        for table in _METADATA:
            for row in self._rows(table):
                self._put(table, row)
        self._chunks()
        self._contents()
        self._find_contents()
        self._give_names()
        refill = Refill(self.target, self._roots, self._good)
        refill.run()
        for file_id in sorted(self._doubtful.get("file", ())):
            refill.mark(file_id)
        self._drop_lost_contents()
        self.report.bytes += refill.bytes
        if has_chain:
            chain.extend(self.target, layout.now())  # of a record of an older layout
        else:
            self._begin_chain()
        self.report.files = self._count("file")
        self.report.remarks = self._count("remark")
        self.report.unread_rows = self.source.unread
        self._tell_losses()
        self.report.doubtful = [
            f"{len(ids)} rows of table {table} were on a damaged page and cannot be proved"
            for table, ids in self._doubtful.items()
            if table in ("worktree", "move", "unproven") or (table == "remark" and not has_chain)
        ]
        # With its chain, a verification finds out what is missing.
        if not has_chain and self.source.unread > unread:
            lost = f"{self.source.unread - unread} places in its tables" if self.report.files else "nothing of it"
            self.report.doubtful.append(f"{lost} could {'not ' if self.report.files else ''}be read")
        return self.report

    # -- reading

    def _rows(self, table: str) -> Iterator[Row]:
        """Every row that can be read; of one from a damaged page only what makes sense."""
        columns = [str(row[1]) for row in self.target.execute(f"PRAGMA table_info({table})").fetchall()]
        for row, is_proven in self.source.rows(table, columns):
            if is_proven:
                yield row
            elif (mended := self._mend(table, row)) is not None:
                self._doubtful.setdefault(table, set()).add(row.get("id", 0))
                yield mended

    def _mend(self, table: str, row: Row) -> Row | None:
        """A row from a damaged page with defaults for what cannot be trusted; None where nothing is left of it."""
        known = {name: value for name, value in row.items() if value is not None}
        if table == "root":
            path = row.get("path")
            return None if path is None else known | {"name": known.get("name", path)}
        if table == "file":
            path = row.get("path")
            if not isinstance(path, (str, bytes)):
                return None
            kinds = (client.layout.kind_of(read_name(path)) for client in all_clients())
            kind = next(filter(None, kinds), FileKind.OTHER)
            state = row["state"] if row.get("state") in ("live", "gone") else "live"
            moment = row["state_at"] if isinstance(row.get("state_at"), str) else layout.now()
            # What is current is found again, and the source is compared in full.
            return {"id": row["id"], "root_id": row["root_id"], "path": path} | {
                "kind": kind.value,
                "state": state,
                "state_at": moment,
                "size": 0,
            }
        if table == "generation":
            entry: Any = self.target.execute(
                "SELECT size FROM entry WHERE kind = ? AND ref = ? ORDER BY revision_id DESC LIMIT 1",
                (chain.LOG, row["id"]),
            ).get
            size = entry if entry is not None else row.get("size", 0)
            return {"mtime_ns": 0, "mode": 0o600, "started_at": layout.now()} | known | {"size": size, "rolling": b""}
        if table == "remark":
            expected = self._entry(chain.REMARK, row["id"])
            return (
                row
                if expected is None
                else _corrected(row, expected, chain.read_seed(self.target, chain.REMARK, row["id"]))
            )
        if table == "snapshot":
            return {"content_id": 0, "mtime_ns": 0, "mode": 0o600, "seen_at": layout.now()} | known
        return row

    # -- writing

    def _put(self, table: str, row: Row) -> bool:
        try:
            self.target.execute(
                f"{'REPLACE' if table == 'secret_key' else 'INSERT'} INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                tuple(map(_storable, row.values())),
            )
        except apsw.Error:  # of the wrong type, or a duplicate: the page did not hold this row of ours
            self.source.unread += 1
            return False
        return True

    def _chain(self) -> bool:
        """Take over the identity of the store and the chain of its revisions, if every row of it is on a sound page."""
        rows = {table: list(self._rows(table)) for table in _CHAIN}
        if (
            not all(found or table in _MAY_BE_EMPTY for table, found in rows.items())
            or self.source.unread
            or any(table in self._doubtful for table in _CHAIN)
        ):
            return False
        for table in reversed(_CHAIN):
            self.target.execute(f"DELETE FROM {table}")
        for table in _CHAIN:
            for row in rows[table]:
                self._put(table, row)
        self.target.execute("UPDATE store SET page_checksums = ?", (int(sqlite.checksum_vfs() is not None),))
        return True

    def _chunks(self) -> None:
        shared: list[Row] = []
        for row in self._rows("chunk"):
            if "hash" not in row:  # only its place is known
                continue
            if row["source"] is not None:
                shared.append(row)
                continue
            is_good = self._fits(row["data"], row["length"], lambda raw, row=row: short_hash(raw) == row["hash"])  # type: ignore[misc]
            if not is_good and row["id"] in self._doubtful.get("chunk", ()) and not _is_chunk(row):
                continue
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
            if self._fits(row.get("data"), row.get("size"), lambda raw, row=row: sha256(raw).digest() == row["hash"]):  # type: ignore[misc]
                self._put("content", row)
                self.report.bytes += row["size"]
            else:  # a source may have it: its hash proves it, regardless of size
                self._put("content", {"id": row["id"], "hash": row["hash"], "size": 0, "data": b""})

    def _fits(self, data: object, length: object, has_hash: Callable[[bytes], bool]) -> bool:
        try:
            return isinstance(data, bytes) and isinstance(length, int) and has_hash(self._codec.unpack(data, length))
        except DamagedError:
            return False

    def _entry(self, kind: str, ref: int) -> bytes | None:
        """The hash that the chain has for a remark or a snapshot."""
        found: bytes | None = self.target.execute(
            "SELECT hash FROM entry WHERE kind = ? AND ref = ? ORDER BY revision_id DESC LIMIT 1", (kind, ref)
        ).get
        return found

    def _find_contents(self) -> None:
        """Find the contents of snapshots from damaged pages by the chain."""
        run = self.target.execute
        for ref in sorted(self._doubtful.get("snapshot", ())):
            expected = self._entry(chain.SNAPSHOT, ref)
            path: Any = run("SELECT f.path FROM snapshot s JOIN file f ON f.id = s.file_id WHERE s.id = ?", (ref,)).get
            if expected is None or path is None:
                continue
            contents: list[Any] = run("SELECT id, hash FROM content").fetchall()
            for content, hash_ in contents:
                seed = chain.read_seed(self.target, chain.SNAPSHOT, ref)
                if chain.snapshot_hash(read_name(path), hash_, seed) == expected:
                    run("UPDATE snapshot SET content_id = ? WHERE id = ?", (content, ref))

    def _drop_lost_contents(self) -> None:
        """Drop the snapshots whose contents no source has."""
        run = self.target.execute
        run("DELETE FROM content WHERE data = x''")
        lost: list[Any] = run(
            "SELECT f.path, f.size FROM snapshot s LEFT JOIN file f ON f.id = s.file_id WHERE s.content_id NOT IN (SELECT id FROM content)"
        ).fetchall()
        self.report.losses += [Loss(read_name(name or _FOLDER), None, 0, size or 0) for name, size in lost]
        run("DELETE FROM snapshot WHERE content_id NOT IN (SELECT id FROM content)")
        self._choose_current()

    def _give_names(self) -> None:
        """Assign every generation and content to a file, and every file to a root; choose current contents."""
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
        self._choose_current()

    def _choose_current(self) -> None:
        """Choose the current content of every file; drop files that have none."""
        run = self.target.execute
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


def _is_chunk(row: Row) -> bool:
    """Whether a row from a damaged page can be that of a chunk, so that its hash may prove the bytes of a source."""
    return (
        isinstance(row["hash"], bytes)
        and len(row["hash"]) == 16
        and isinstance(row["length"], int)
        and 0 < row["length"] <= CHUNK
    )


def _storable(value: Any) -> Any:
    """A value from a damaged page without bytes that are not text."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return value


def _corrected(row: Row, expected: bytes, seed: bytes) -> Row:
    """A remark with one bit flipped back where that gives its hash in the chain: nothing else has these words."""
    names = ("session_id", "kind", "value", "set_at")
    values = [str(row[name]) for name in names]
    for number, value in enumerate(values):
        data = bytearray(value.encode("utf-8", "surrogateescape"))
        for place in range(min(len(data), _LONGEST_CORRECTED) * 8):
            data[place // 8] ^= 1 << place % 8
            attempt = [*values[:number], data.decode("utf-8", "surrogateescape"), *values[number + 1 :]]
            if chain.remark_hash(*attempt, seed=seed) == expected:
                return row | dict(zip(names, attempt, strict=True))
            data[place // 8] ^= 1 << place % 8
    return row
