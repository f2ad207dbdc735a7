"""Erasing what was kept, on the user's order: stretches of a file, whole files, remarks.

Nothing that was erased is found in the tables afterwards, nor a hash that would confirm a guess of it. A log or a small file of which
a stretch was erased goes on under a new id, with a marker of the same length, so that all else keeps its offset: an index drops what
it knows by the former id and reads it anew. `Record.erase` calls are parts of a write transaction; the bytes leave the disk
when the holder of the sync lock calls `compact`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import apsw
from msgspec import Struct

from hansard.errors import StoreCorrupt, UsageError
from hansard.record.chain import BLANKS, LOG, RECEIPT, REMARK, SNAPSHOT, log_hash
from hansard.record.database import AFTER_DAMAGE, bind_name, read_name, record_error, short_hash
from hansard.record.layout import now
from hansard.record.logs import Logs
from hansard.record.schema import CHUNK
from hansard.record.snapshots import Snapshots
from hansard.record.tombstones import ALLOWED, IN_TABLE, SESSION, Tombstones
from hansard.sources.tail import WINDOW, unseen_mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Patch(Struct, frozen=True):
    """Bytes that replace as many at an offset."""

    start: int
    data: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.data)


class Erasing(Logs, Snapshots):
    """The part of the record that erases."""

    def erase_in_log(self, generation: int, patches: Sequence[Patch]) -> int:
        """Replace stretches of a log; returns the id that it goes on under. A damaged log is left as it is, with an error."""
        self._must_write()
        patches = _in_order(patches)
        self._begin_erasing()
        known = self._generation(generation)
        if patches[-1].end > known.size:
            raise UsageError(f"{known.path}: has {known.size} bytes, so nothing can be replaced at {patches[-1].start}")
        self._must_be_intact(generation)
        for start in sorted(
            {at for patch in patches for at in range(patch.start - patch.start % CHUNK, patch.end, CHUNK)}
        ):
            self._patch_chunk(generation, start, patches)
        # The number within the file is unique, so the former row gives it up first.
        self._run("UPDATE generation SET seq = -seq WHERE id = ?", (generation,))
        new = self._insert(
            "INSERT INTO generation (file_id, seq, size, mtime_ns, mode, started_at, ended_at, ended_reason)"
            " SELECT file_id, -seq, size, mtime_ns, mode, started_at, ended_at, ended_reason FROM generation WHERE id = ?",
            (generation,),
        )
        self._run("UPDATE chunk SET generation_id = ? WHERE generation_id = ?", (new, generation))
        self._run("UPDATE file SET generation_id = ? WHERE generation_id = ?", (new, generation))
        self._replace_ref(LOG, generation, new, patches)
        self._run("DELETE FROM generation WHERE id = ?", (generation,))
        rolling = self._plant(new)
        self._run("UPDATE generation SET rolling = ? WHERE id = ?", (self._roll_on(new, rolling)[0], new))
        self._touch(LOG, new)
        return new

    def erase_in_snapshot(self, snapshot: int, patches: Sequence[Patch]) -> int:
        """Replace stretches of a small file as it was once seen; returns the id that this goes on under.

        Later snapshots of the file get new ids too, in the same order, because ids grow with time.
        """
        self._must_write()
        patches = _in_order(patches)
        data = bytearray(self.read_snapshot(snapshot))
        if patches[-1].end > len(data):
            raise UsageError(
                f"snapshot {snapshot} has {len(data)} bytes, so nothing can be replaced at {patches[-1].start}"
            )
        for patch in patches:
            data[patch.start : patch.end] = patch.data
        former = self._one("SELECT content_id FROM snapshot WHERE id = ?", (snapshot,))[0]
        content = self._content(bytes(data))
        later = self._rows(
            "SELECT id FROM snapshot WHERE file_id = (SELECT file_id FROM snapshot WHERE id = ?1) AND id > ?1 ORDER BY id",
            (snapshot,),
        )
        new = self._renew_snapshot(snapshot, content, patches)
        for (other,) in later:
            self._renew_snapshot(other, None, ())
        self._drop_content(former)
        return new

    def erase_file(self, file_id: int) -> int:
        """Erase a file with all its generations and snapshots, and every trace that it was seen.

        Returns the number of bytes.
        """
        self._must_write()
        self._begin_erasing()
        generations = self._rows("SELECT id, size FROM generation WHERE file_id = ?", (file_id,))
        snapshots = self._rows(
            "SELECT s.id, c.size, c.id FROM snapshot s JOIN content c ON c.id = s.content_id WHERE s.file_id = ?",
            (file_id,),
        )
        place = self._one_or_none("SELECT root_id, path FROM file WHERE id = ?", (file_id,))
        if place is None:
            return 0
        self._run("UPDATE file SET generation_id = NULL, snapshot_id = NULL WHERE id = ?", (file_id,))
        for generation, size in generations:
            for (chunk,) in self._rows(
                "SELECT id FROM chunk WHERE generation_id = ? AND source IS NULL", (generation,)
            ):
                self._hand_over(chunk, generation)
            self._run("DELETE FROM chunk WHERE generation_id = ?", (generation,))
            self._drop_ref(LOG, generation)
            self._run("DELETE FROM generation WHERE id = ?", (generation,))
            self._touch_erased(LOG, generation, size)
        for snapshot, size, content in snapshots:
            self._drop_ref(SNAPSHOT, snapshot)
            self._run("DELETE FROM snapshot WHERE id = ?", (snapshot,))
            self._drop_content(content)
            self._touch_erased(SNAPSHOT, snapshot, size)
        self._run("DELETE FROM freed WHERE file_id = ?", (file_id,))
        self._run("DELETE FROM file WHERE id = ?", (file_id,))
        for table in ("left_out", "quarantine"):
            self._run(f"DELETE FROM {table} WHERE root_id = ? AND path = ?", place)
        return int(sum(size for _, size in generations) + sum(size for _, size, _ in snapshots))

    def erase_remark(self, remark: int) -> None:
        """Erase a remark."""
        self._must_write()
        size = self._one("SELECT length(CAST(value AS BLOB)) FROM remark WHERE id = ?", (remark,))[0]
        self._drop_ref(REMARK, remark)
        self._run("DELETE FROM remark WHERE id = ?", (remark,))
        self._touch_erased(REMARK, remark, size)

    def generation_ids(self) -> set[int]:
        """What an index may have of logs."""
        return {row[0] for row in self._rows("SELECT id FROM generation")}

    def snapshot_ids(self) -> set[int]:
        """What an index may have of small files."""
        return {row[0] for row in self._rows("SELECT id FROM snapshot")}

    def expect_source(self, generation: int) -> None:
        """Let the next sync compare a log with its source in full, after the record's markers were put into it."""
        known = self._generation(generation)
        head = b"".join(self._pieces(generation, 0, min(known.size, WINDOW)))
        last = b"".join(self._pieces(generation, max(0, known.size - WINDOW), known.size))
        self._run(
            "UPDATE file SET mark_offset = ?, mark_mtime_ns = ?, mark_ctime_ns = ?, mark_inode = ?, mark_head = ?, mark_last = ?,"
            " mark_seen_ns = ?, mark_since_ns = ? WHERE id = ?",
            (*unseen_mark(known.size, head, last), known.file_id),
        )

    def expect_change(self, file_id: int) -> None:
        """Let the next sync look at a file whatever its status says, and compare a log in full."""
        self._must_write()
        self._run(
            "UPDATE file SET mark_mtime_ns = 0, mark_ctime_ns = 0, mark_inode = 0, mark_seen_ns = 0, mark_since_ns = 0"
            " WHERE id = ?",
            (file_id,),
        )

    def expect_rewrite(self, file_id: int) -> None:
        """Let the next sync store a log anew, as if it had been rewritten: what has markers now may be stored again."""
        self.expect_change(file_id)
        self._run("UPDATE file SET mark_head = x'' WHERE id = ?", (file_id,))

    # -- tombstones

    def bury(self, kind: str, names: Iterable[Sequence[str]]) -> None:
        """Add tombstones: nothing of these names is stored again."""
        self._must_write()
        names = list(names)
        self._run("UPDATE store SET tombstone_key = randomblob(32) WHERE tombstone_key IS NULL")
        tombstones = Tombstones(self._one("SELECT tombstone_key FROM store")[0], self._is_buried)
        self._run_many(
            "INSERT OR IGNORE INTO tombstone (digest, kind, at) VALUES (?, ?, ?)",
            ((tombstones.digest(kind, *each), IN_TABLE.get(kind, kind), self._moment) for each in names),
        )
        if kind == SESSION:
            self._run_many(
                "DELETE FROM tombstone WHERE digest = ?", ((tombstones.digest(ALLOWED, *each),) for each in names)
            )

    def exhume(self, kind: str, *names: str) -> bool:
        """Remove a tombstone; False if there was none."""
        self._must_write()
        tombstones = self.tombstones()
        if not tombstones.has(kind, *names):
            return False
        self._run("DELETE FROM tombstone WHERE digest = ?", (tombstones.digest(kind, *names),))
        if kind == SESSION:
            self.bury(ALLOWED, [names])
        return True

    # -- receipts

    def note_erasure(self, receipt: str, steps: Iterable[tuple[str, str]]) -> int:
        """Note what this write erases, and which copies elsewhere are to be removed: a kind and a path each; returns its number."""
        self._must_write()
        number = self._insert(
            "INSERT INTO erasure (revision_id, at, receipt) VALUES ((SELECT revision + 1 FROM store), ?, ?)",
            (self._moment, receipt),
        )
        self._run_many(
            "INSERT OR IGNORE INTO erasure_step (erasure_id, kind, target) VALUES (?, ?, ?)",
            ((number, kind, bind_name(target)) for kind, target in steps),
        )
        self._touch(RECEIPT, number)
        return number

    def erasure_steps(self) -> list[tuple[int, str, str]]:
        """The copies that are still to be removed: erasure, kind and path."""
        rows = self._rows("SELECT erasure_id, kind, target FROM erasure_step ORDER BY erasure_id, kind, target")
        return [(number, kind, read_name(target)) for number, kind, target in rows]

    def end_erasure_step(self, number: int, kind: str, target: str) -> None:
        """Note that a copy was removed. This makes no revision, like the end of an erasure: the content of the record is the same."""
        self._run(
            "DELETE FROM erasure_step WHERE erasure_id = ? AND kind = ? AND target = ?",
            (number, kind, bind_name(target)),
        )

    def end_erasures(self) -> None:
        """Note that nothing is left of what was erased."""
        self._run("UPDATE erasure SET finished_at = ? WHERE finished_at IS NULL", (now(),))

    # -- the disk

    def compact(self) -> None:
        """Write the database anew without what was erased, and empty its log; no transaction may be open."""
        if self._writing:
            raise RuntimeError("a write transaction is open")
        try:
            self._db.execute("VACUUM")
            busy, _, _ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        except apsw.Error as error:
            raise record_error(error, self.path) from error
        if busy:
            raise record_error(apsw.BusyError("another connection reads its log"), self.path)

    # -- parts

    def _begin_erasing(self) -> None:
        self._release_tails()
        # If there is no space to rewrite the database, the old content is at least overwritten with zeros.
        self._run("PRAGMA secure_delete = on")

    def _must_be_intact(self, generation: int) -> None:
        """Refuse to change a log that is not what the chain says: its damage would get a hash of its own."""
        known = self._generation(generation)
        rolling, tail = self._roll_on(generation, self.seed(LOG, generation))
        entry = self._one_or_none(
            "SELECT hash FROM entry WHERE kind = ? AND ref = ? AND size = ? ORDER BY revision_id DESC LIMIT 1",
            (LOG, generation, known.size),
        )
        # What this very transaction appended has no entry yet.
        is_new = (LOG, generation) in self._touched
        if not is_new and (entry is None or entry[0] != log_hash(known.path, known.seq, known.size, rolling, tail)):
            raise StoreCorrupt(
                f"{self.path}: {known.path} is not as the chain of revisions says, so nothing of it was erased. {AFTER_DAMAGE}"
            )

    def _roll_on(self, generation: int, rolling: bytes) -> tuple[bytes, bytes]:
        """The rolling hash of a log from its seed on, by the hashes of its chunks, and the hash of a last one that is not full."""
        from hansard.record.chain import roll

        tail = b""
        for length, hash_ in self._rows(
            "SELECT length, hash FROM chunk WHERE generation_id = ? ORDER BY start", (generation,)
        ):
            rolling, tail = (roll(rolling, hash_), b"") if length == CHUNK else (rolling, hash_)
        return rolling, tail

    def _patch_chunk(self, generation: int, start: int, patches: Sequence[Patch]) -> None:
        chunk, length = self._one(
            "SELECT id, length FROM chunk WHERE generation_id = ? AND start = ?", (generation, start)
        )
        raw = bytearray(b"".join(self._pieces(generation, start, start + length)))
        end = start + len(raw)
        for patch in patches:
            first, last = max(patch.start, start), min(patch.end, end)
            if first < last:
                raw[first - start : last - start] = patch.data[first - patch.start : last - patch.start]
        self._hand_over(chunk, None)
        self._write_chunk(generation, start, raw, short_hash(raw))

    def _hand_over(self, chunk: int, but: int | None) -> None:
        """Give the bytes of a chunk to another one that shares them, of a generation other than `but`."""
        heirs = self._rows("SELECT id FROM chunk WHERE source = ? AND generation_id IS NOT ? ORDER BY id", (chunk, but))
        if not heirs:
            return
        heir = heirs[0][0]
        self._run(
            "UPDATE chunk SET source = NULL, data = (SELECT data FROM chunk WHERE id = ?) WHERE id = ?", (chunk, heir)
        )
        self._run("UPDATE chunk SET source = ? WHERE source = ? AND id <> ?", (heir, chunk, chunk))

    def _renew_snapshot(self, snapshot: int, content: int | None, patches: Sequence[Patch]) -> int:
        """Give a snapshot a new id, and another content if one is named."""
        former = self._one("SELECT content_id FROM snapshot WHERE id = ?", (snapshot,))[0]
        new = self._insert(
            "INSERT INTO snapshot (file_id, content_id, mtime_ns, mode, seen_at) SELECT file_id, ?, mtime_ns, mode, seen_at"
            " FROM snapshot WHERE id = ?",
            (former if content is None else content, snapshot),
        )
        self._run("UPDATE file SET snapshot_id = ? WHERE snapshot_id = ?", (new, snapshot))
        self._replace_ref(SNAPSHOT, snapshot, new, patches)
        self._run("DELETE FROM snapshot WHERE id = ?", (snapshot,))
        self._touch_new(SNAPSHOT, new)
        return new

    def _replace_ref(self, kind: str, former: int, new: int, patches: Sequence[Patch]) -> None:
        """Let a log or a snapshot go on under another id: what is noted of it follows, but for its seed."""
        self._run("UPDATE unproven SET ref = ? WHERE kind = ? AND ref = ?", (new, kind, former))
        if self.blanks(kind, former):
            self._run("UPDATE blank SET ref = ? WHERE kind = ? AND ref = ?", (new, kind, former))
            self._touch(BLANKS[kind], new)
        self.note_blanks(kind, new, ((patch.start, len(patch.data)) for patch in patches))
        self._drop_ref(kind, former)
        self._touch_erased(kind, former, sum(len(patch.data) for patch in patches))

    def _drop_ref(self, kind: str, ref: int) -> None:
        for table in ("seed", "blank", "unproven"):
            self._run(f"DELETE FROM {table} WHERE kind = ? AND ref = ?", (kind, ref))

    def _drop_content(self, content: int) -> None:
        self._run(
            "DELETE FROM content WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM snapshot WHERE content_id = ?1)",
            (content,),
        )


def _in_order(patches: Sequence[Patch]) -> list[Patch]:
    """Patches by their places, each of at least one byte, none over another."""
    ordered = sorted(patches, key=lambda patch: (patch.start, patch.data))
    if not ordered or any(not patch.data or patch.start < 0 for patch in ordered):
        raise UsageError("nothing to erase: each stretch needs a place and at least one byte")
    if any(patch.end > following.start for patch, following in pairwise(ordered)):
        raise UsageError("stretches to erase overlap")
    return ordered
