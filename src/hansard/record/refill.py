"""Lost bytes of a salvaged record, taken from the sources where a hash in the record proves them."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hansard.record import chain
from hansard.record.database import Codec, read_name, short_hash
from hansard.record.schema import CHUNK
from hansard.sources.tail import WINDOW, unseen_mark

if TYPE_CHECKING:
    import apsw

    from hansard.sources.roots import Root

_LOG = "SELECT f.root_id, f.path, g.seq, g.size FROM generation g JOIN file f ON f.id = g.file_id WHERE g.id = ?"
_WHOLE = (
    "SELECT c.id, c.hash, f.root_id, f.path FROM content c JOIN snapshot s ON s.content_id = c.id JOIN file f ON f.id = s.file_id"
    " WHERE c.data = x'' ORDER BY s.id DESC"
)


class Refill:
    """Fills the gaps of a record that is being made; nothing under the roots is ever written.

    A chunk whose row survived is proved by its own hash. One whose row was lost is proved by the chain: the entry of the log covers
    the hashes of all its chunks, so the bytes of the source fit only if they are the ones that were kept.
    """

    def __init__(self, target: apsw.Connection, roots: Sequence[Root], good: set[int]) -> None:
        """`good` holds the ids of the chunks whose bytes are there, and is added to."""
        self.bytes = 0
        """Raw bytes that were taken from the sources."""
        self._target = target
        self._run = target.execute
        self._good = good
        self._codec = Codec()
        by_path = {root.path: root for root in roots}
        rows: list[Any] = target.execute("SELECT id, path FROM root").fetchall()
        self._roots = {number: by_path[read_name(path)] for number, path in rows if read_name(path) in by_path}

    def run(self) -> None:
        logs: list[Any] = self._run("SELECT id FROM generation ORDER BY id").fetchall()
        for (generation,) in logs:
            self.log(generation)
        contents: list[Any] = self._run(_WHOLE).fetchall()
        for content, hash_, root_id, path in contents:
            data = self._read(root_id, read_name(path), 0, None)
            if sha256(data).digest() == hash_:
                self._run(
                    "UPDATE content SET data = ?, size = ? WHERE id = ?", (self._codec.pack(data), len(data), content)
                )
                self.bytes += len(data)

    def mark(self, file_id: int) -> None:
        """Let the next sync compare a log in full: what was known of its source is lost."""
        found: Any = self._run(
            "SELECT g.id, g.size FROM file f JOIN generation g ON g.id = f.generation_id WHERE f.id = ?", (file_id,)
        ).fetchone()
        if found is None:
            return
        generation, size = found
        head = self._stored(generation, 0, min(size, WINDOW))
        last = self._stored(generation, max(0, size - WINDOW), size)
        self._run(
            "UPDATE file SET mark_offset = ?, mark_mtime_ns = ?, mark_ctime_ns = ?, mark_inode = ?, mark_head = ?, mark_last = ?,"
            " mark_seen_ns = ?, mark_since_ns = ? WHERE id = ?",
            (*unseen_mark(size, head, last), file_id),
        )

    def _stored(self, generation: int, start: int, end: int) -> bytes:
        """Bytes of a log that is complete, or as many as there are."""
        pieces = []
        rows: list[Any] = self._run(
            "SELECT c.start, c.length, iif(c.source IS NULL, c.data, (SELECT s.data FROM chunk s WHERE s.id = c.source)) FROM chunk c"
            " WHERE c.generation_id = ? AND c.start < ? AND c.start + c.length > ? ORDER BY c.start",
            (generation, end, start),
        ).fetchall()
        for first, length, data in rows:
            if data:
                pieces.append(self._codec.unpack(data, length)[max(0, start - first) : end - first])
        return b"".join(pieces)

    def log(self, generation: int) -> None:
        """Fill the gaps of one log."""
        found_log: Any = self._run(_LOG, (generation,)).fetchone()
        if found_log is None:
            return
        root_id, bound, seq, size = found_log
        path = read_name(bound)
        rows: list[Any] = self._run(
            "SELECT start, length, hash, id FROM chunk WHERE generation_id = ?", (generation,)
        ).fetchall()
        known = {start: (length, hash_, id_) for start, length, hash_, id_ in rows}
        rolling, tail = chain.read_seed(self._target, chain.LOG, generation), b""
        lost: list[tuple[int, int]] = []
        for start in range(0, size, CHUNK):
            length = min(CHUNK, size - start)
            found = known.pop(start, None)
            if found is not None and found[2] in self._good and found[0] == length:
                hash_ = found[1]
            else:
                raw = self._read(root_id, path, start, length)
                hash_ = short_hash(raw) if len(raw) == length else b""
                if found is not None and found[:2] == (length, hash_):
                    self._fill(found[2], raw)
                else:
                    lost.append((start, length))
            rolling, tail = (chain.roll(rolling, hash_), b"") if length == CHUNK else (rolling, hash_)
        entry: Any = self._run(
            "SELECT hash FROM entry WHERE kind = ? AND ref = ? AND size = ? ORDER BY revision_id DESC LIMIT 1",
            (chain.LOG, generation, size),
        ).get
        if entry != chain.log_hash(path, seq, size, rolling, tail):
            return
        self._run("UPDATE generation SET rolling = ? WHERE id = ?", (rolling, generation))
        for start in known:  # rows of a damaged page that are proved wrong
            self._run("DELETE FROM chunk WHERE generation_id = ? AND start = ?", (generation, start))
        for start, length in lost:
            raw = self._read(root_id, path, start, length)
            self._run("DELETE FROM chunk WHERE generation_id = ? AND start = ?", (generation, start))
            self._run(
                "INSERT INTO chunk (generation_id, start, length, hash, data) VALUES (?, ?, ?, ?, x'')",
                (generation, start, length, short_hash(raw)),
            )
            self._fill(int(self._run("SELECT last_insert_rowid()").get), raw)

    def _fill(self, chunk: int, raw: bytes) -> None:
        self._run("UPDATE chunk SET data = ?, source = NULL WHERE id = ?", (self._codec.pack(raw), chunk))
        self._good.add(chunk)
        self.bytes += len(raw)

    def _read(self, root_id: int, path: str, start: int, length: int | None) -> bytes:
        """Bytes of a source file; fewer or none where it does not have them."""
        root = self._roots.get(root_id)
        if root is None:
            return b""
        try:
            with open(root.locate(path), "rb") as file:
                file.seek(start)
                return file.read() if length is None else file.read(length)
        except (OSError, ValueError):
            return b""
