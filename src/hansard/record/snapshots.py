"""Small files that are kept whole, each distinct content once."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import NotFound, StoreCorrupt
from hansard.record.chain import SNAPSHOT
from hansard.record.database import AFTER_DAMAGE, DamagedError, Row, read_name
from hansard.record.files import Files
from hansard.record.schema import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hansard.sources.tail import Mark

COLUMNS = """\
s.id, s.file_id, f.root_id, f.path, f.kind, c.hash, c.size, s.mtime_ns, s.mode, s.seen_at, f.snapshot_id IS s.id, f.state
FROM snapshot s JOIN file f ON f.id = s.file_id JOIN content c ON c.id = s.content_id"""


class Snapshot(Struct, frozen=True):
    """A content that a whole file was seen with."""

    id: int
    file_id: int
    root_id: int
    path: str
    kind: str
    hash: bytes
    size: int
    mtime_ns: int
    mode: int
    seen_at: str
    current: bool
    state: str


class Snapshots(Files):
    """The part of the record that keeps whole files."""

    def snapshot(
        self,
        root_id: int,
        path: str,
        kind: str,
        data: bytes,
        mark: Mark,
        mode: int,
        *,
        proven: bool = True,
        blanks: Sequence[tuple[int, int]] = (),
    ) -> bool:
        """Keep the content of a file; False if the content is unchanged, and only its date and mark are updated.

        In `blanks`, which are starts and lengths, it has markers in place of what the file has. Unless `proven`, the file was being written while it was read, and may never have had this content.
        """
        self._must_write()
        file_id, generation, current = self._enter_file(root_id, path, kind)
        if generation is not None:
            self._end_generation(generation, "kept whole from then on")
        data = self._as_kept(current, data)
        content_id = self._content(data)
        new = self._one_or_none("SELECT 1 FROM snapshot WHERE id = ? AND content_id = ?", (current, content_id)) is None
        if new:
            current = self._insert(
                "INSERT INTO snapshot (file_id, content_id, mtime_ns, mode, seen_at) VALUES (?, ?, ?, ?, ?)",
                (file_id, content_id, mark.mtime_ns, mode, self._moment),
            )
            self._touch_new(SNAPSHOT, current)
            self.note_blanks(SNAPSHOT, current, blanks)
        else:
            self._run("UPDATE snapshot SET mtime_ns = ?, mode = ? WHERE id = ?", (mark.mtime_ns, mode, current))
        self._run(
            "UPDATE file SET kind = ?, generation_id = NULL, snapshot_id = ? WHERE id = ?", (kind, current, file_id)
        )
        self._mark_file(file_id, len(data), mark)
        if current is not None and proven:
            self.vouch(SNAPSHOT, current)
        elif current is not None and new:
            self.doubt(SNAPSHOT, current, 0)
        return new

    def _content(self, data: bytes) -> int:
        """The id of a content, which is kept when new."""
        digest = _content_hash(data)
        known = self._one_or_none("SELECT id FROM content WHERE hash = ?", (digest,))
        if known is not None:
            return int(known[0])
        return self._insert(
            "INSERT INTO content (hash, size, data) VALUES (?, ?, ?)", (digest, len(data), self._codec.pack(data))
        )

    def _as_kept(self, snapshot_id: int | None, data: bytes) -> bytes:
        """A content as it is kept: with a snapshot's markers if it differs from it nowhere else."""
        blanks = [] if snapshot_id is None else self.blanks(SNAPSHOT, snapshot_id)
        if not blanks or snapshot_id is None:
            return data
        kept = self.read_snapshot(snapshot_id)
        if len(kept) != len(data):
            return data
        marked = bytearray(data)
        for start, length in blanks:
            marked[start : start + length] = kept[start : start + length]
        return kept if marked == kept else data

    def has_content(self, snapshot: Snapshot, file: BinaryIO) -> bool:
        """Whether an open file has the content of a snapshot; it may have anything where the record has a marker."""
        from hashlib import sha256

        digest = sha256()
        while piece := file.read(CHUNK):
            digest.update(piece)
        if digest.digest() == snapshot.hash:
            return True
        if not self.blanks(SNAPSHOT, snapshot.id):
            return False
        file.seek(0)
        return _content_hash(self._as_kept(snapshot.id, file.read(snapshot.size + 1))) == snapshot.hash

    def snapshots(self, kinds: Iterable[str] | None = None, after: int = 0) -> Iterator[Snapshot]:
        """Every snapshot with an id over `after`, of the given kinds or of all, oldest first."""
        wanted = None if kinds is None else frozenset(str(kind) for kind in kinds)
        rows = self._paged(f"SELECT {COLUMNS} WHERE s.id > ? ORDER BY s.id LIMIT ?", after=after)
        return (_snapshot(row) for row in rows if wanted is None or row[4] in wanted)

    def snapshots_of(self, file_id: int) -> list[Snapshot]:
        """What a small file was seen with, oldest first."""
        return list(map(_snapshot, self._rows(f"SELECT {COLUMNS} WHERE s.file_id = ? ORDER BY s.id", (file_id,))))

    def snapshot_bytes(self, after: int) -> int:
        """Raw bytes of all snapshots with an id over `after`."""
        sql = "SELECT coalesce(sum(c.size), 0) FROM snapshot s JOIN content c ON c.id = s.content_id WHERE s.id > ?"
        return int(self._one(sql, (after,))[0])

    def read_snapshot(self, snapshot_id: int) -> bytes:
        """The raw bytes of a snapshot, checked against their hash."""
        try:
            row = self._snapshot_content(snapshot_id)
            if row is None:
                raise NotFound(f"the record has no snapshot {snapshot_id}")
            return self._open_content(*row)
        except DamagedError as error:
            path = self._one_or_none(
                "SELECT f.path FROM snapshot s JOIN file f ON f.id = s.file_id WHERE s.id = ?", (snapshot_id,)
            )
            name = read_name(path[0]) if path is not None else "a small file"
            raise StoreCorrupt(
                f"{self.path}: damaged at {name}, snapshot {snapshot_id}: {error}. {AFTER_DAMAGE}"
            ) from None

    def check_snapshot(self, snapshot_id: int) -> str | None:
        try:
            row = self._snapshot_content(snapshot_id)
            if row is None:
                return "its content is missing"
            self._open_content(*row)
        except (DamagedError, StoreCorrupt) as error:
            return str(error)
        return None

    def mend_snapshot(self, snapshot_id: int, data: bytes) -> bool:
        """Write the content of a damaged snapshot anew; False unless it is exactly the one that was kept."""
        self._must_write()
        changes = self._db.total_changes()
        self._run(
            "UPDATE content SET data = ? WHERE hash = ? AND id = (SELECT content_id FROM snapshot WHERE id = ?)",
            (self._codec.pack(data), _content_hash(data), snapshot_id),
        )
        return self._db.total_changes() != changes

    def _snapshot_content(self, snapshot_id: int) -> Row | None:
        return self._content_row(
            "SELECT c.size, c.hash, c.data FROM snapshot s JOIN content c ON c.id = s.content_id WHERE s.id = ?",
            (snapshot_id,),
        )

    def _open_content(self, size: int, digest: bytes, data: bytes) -> bytes:
        raw = self._codec.unpack(data, size)
        if _content_hash(raw) != digest:
            raise DamagedError("its bytes do not match the recorded hash")
        return raw


def _content_hash(data: bytes) -> bytes:
    from hashlib import sha256

    return sha256(data).digest()


def _snapshot(row: Row) -> Snapshot:
    return replace(Snapshot(*row), path=read_name(row[3]), current=bool(row[10]))
