"""Append-only logs, kept as generations of compressed chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import apsw
from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import NotFound, StoreCorrupt
from hansard.record.chain import LOG, plant, roll
from hansard.record.chunks import Chunks
from hansard.record.database import DamagedError, Raw, Row, bind_name, read_name, record_error, short_hash
from hansard.record.schema import CHUNK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hansard.record.chain import LogProof
    from hansard.sources.tail import Mark

OPEN_TAILS = 4
"""How many unfilled chunks are held in memory at once, however many logs one transaction appends to."""

COLUMNS = """\
g.id, g.file_id, f.root_id, f.path, f.kind, g.seq, g.size, g.mtime_ns, g.mode, g.started_at, g.ended_reason,
f.generation_id IS g.id, iif(f.state = 'gone' AND EXISTS (SELECT 1 FROM freed w WHERE w.file_id = f.id), 'freed', f.state)
FROM generation g JOIN file f ON f.id = g.file_id"""


class Generation(Struct, frozen=True):
    """One life of a log, from its first byte to a rewrite of the source."""

    id: int
    file_id: int
    root_id: int
    path: str
    kind: str
    seq: int
    size: int
    mtime_ns: int
    mode: int
    started_at: str
    ended_reason: str | None
    current: bool
    state: str


class Checked(Struct, frozen=True):
    """One chunk that was checked: where it starts, and what is wrong with it, if anything."""

    start: int
    length: int
    damage: str | None


class _Tail:
    """The raw bytes of a generation's last chunk while it is being filled, and the rolling hash of the chunks before it."""

    __slots__ = ("dirty", "file_id", "raw", "rolling", "start")

    def __init__(self, file_id: int, start: int, raw: bytearray, rolling: bytes) -> None:
        self.file_id = file_id
        self.start = start
        self.raw = raw
        self.rolling = rolling
        self.dirty = False


class Logs(Chunks):
    """The part of the record that keeps append-only logs.

    Appending cuts the stream at multiples of CHUNK. Full chunks are written at once and never touched again; one that holds the
    same bytes as another, as in the generations of a rewritten file, refers to that one. The rest
    stays in memory as the generation's tail and is written when the log is settled, when someone reads it, when other
    logs need the space or when the transaction commits; the next append in a later transaction reads it back first. So
    a byte is compressed once per transaction that adds to its chunk, regardless of the sizes of the pieces.
    """

    _tails: dict[int, _Tail]

    def start_generation(self, root_id: int, path: str, kind: str, reason: str) -> int:
        """Begin a log, or its next generation; `reason` is kept as why the former one ended."""
        self._must_write()
        file_id, former, snapshot = self._enter_file(root_id, path, kind)
        if former is not None:
            self._end_generation(former, reason)
        seq = 1
        if former is not None or snapshot is not None:
            seq += self._one("SELECT coalesce(max(seq), 0) FROM generation WHERE file_id = ?", (file_id,))[0]
        generation = self._insert(
            "INSERT INTO generation (file_id, seq, size, mtime_ns, mode, started_at) VALUES (?, ?, 0, 0, 0, ?)",
            (file_id, seq, self._moment),
        )
        seed = self._plant(generation)
        self._run(
            "UPDATE file SET kind = ?, generation_id = ?, snapshot_id = NULL, size = 0, mark_offset = NULL, mark_mtime_ns = NULL, "
            "mark_ctime_ns = NULL, mark_since_ns = NULL, mark_inode = NULL, mark_head = NULL, mark_last = NULL, mark_seen_ns = NULL WHERE id = ?",
            (kind, generation, file_id),
        )
        self._hold(generation, _Tail(file_id, 0, bytearray(), seed))
        self._touch(LOG, generation)
        return generation

    def _plant(self, first: int) -> bytes:
        """Give logs their seeds, from an id on; returns that of the first one."""
        try:
            plant(self._db, LOG, "generation", first)
        except apsw.Error as error:
            self._failed = True
            raise record_error(error, self.path) from error
        self._run(
            "UPDATE generation SET rolling = (SELECT seed FROM seed WHERE kind = 'log' AND ref = id) WHERE id >= ?",
            (first,),
        )
        return self.seed(LOG, first)

    def start_logs(self, root_id: int, files: Sequence[tuple[str, str]]) -> None:
        """Begin the logs of files, given as path and kind, that were never seen: `start_generation` of each, in this order."""
        self._must_write()
        if not files:
            return
        self._run_many(
            "INSERT INTO file (root_id, path, kind, state, state_at, size) VALUES (?, ?, ?, 'live', ?, 0)",
            ((root_id, bind_name(path), kind, self._moment) for path, kind in files),
        )
        last_file = self._db.last_insert_rowid()
        first_file = last_file - len(files) + 1
        last = self._insert(
            "INSERT INTO generation (file_id, seq, size, mtime_ns, mode, started_at)"
            " SELECT id, 1, 0, 0, 0, ? FROM file WHERE id >= ? ORDER BY id",
            (self._moment, first_file),
        )
        self._run("UPDATE file SET generation_id = id + ? WHERE id >= ?", (last - last_file, first_file))
        self._plant(last - len(files) + 1)
        for generation in range(last - len(files) + 1, last + 1):
            self._touch(LOG, generation)

    def append(self, generation: int, data: bytes) -> None:
        self._must_write()
        tail = self._tail(generation)
        if not data:
            return
        view = memoryview(data)
        taken = 0
        if tail.raw:
            taken = min(CHUNK - len(tail.raw), len(view))
            tail.raw += view[:taken]
            if len(tail.raw) == CHUNK:
                self._write_full_chunk(generation, tail, tail.raw)
                tail.raw = bytearray()
        while len(view) - taken >= CHUNK:
            self._write_full_chunk(generation, tail, view[taken : taken + CHUNK])
            taken += CHUNK
        tail.raw += view[taken:]
        tail.dirty = True
        self._touch(LOG, generation)

    def can_append(self, generation: int) -> bool:
        """Whether the last chunk, which an append rewrites, is intact."""
        self._must_write()
        try:
            self._tail(generation)
        except StoreCorrupt:
            return False
        return True

    def settle(self, generation: int, mark: Mark, mode: int) -> None:
        """Note up to where the source was read; the mark must be at the end of what was appended."""
        self._must_write()
        self._flush(generation)
        tail = self._tails.pop(generation, None)
        file_id, size = (tail.file_id, tail.start + len(tail.raw)) if tail is not None else self._current(generation)
        if mark.offset != size:
            raise ValueError(f"generation {generation} holds {size} bytes, the mark says {mark.offset}")
        self._run("UPDATE generation SET mtime_ns = ?, mode = ? WHERE id = ?", (mark.mtime_ns, mode, generation))
        self._mark_file(file_id, size, mark)

    def size(self, generation: int) -> int:
        tail = self._tails.get(generation)
        if tail is not None:
            return tail.start + len(tail.raw)
        return self._size(generation)

    def same_prefix(self, generation: int) -> Callable[[BinaryIO], bool]:
        """A test whether an open file begins with all the bytes of a generation, by the hashes of its chunks."""
        return lambda file: self.first_difference(generation, file) is None

    def first_difference(self, generation: int, file: BinaryIO, start: int = 0, end: int | None = None) -> int | None:
        """Where the first chunk between two offsets starts that an open file does not have at its place, None when it has them all.

        A file may have anything where the record has a marker.
        """
        self._write_back()
        blanks = self.blanks(LOG, generation)
        file.seek(start)
        for first, length, expected in self._rows(
            "SELECT start, length, hash FROM chunk WHERE generation_id = ? AND start >= ? AND start < ? ORDER BY start",
            (generation, start, 1 << 62 if end is None else end),
        ):
            piece = file.read(length)
            if blanks and len(piece) == length:
                piece = self._with_markers(generation, int(first), piece, blanks)
            if len(piece) != length or short_hash(piece) != expected:
                return int(first)
        return None

    def _with_markers(self, generation: int, start: int, piece: bytes, blanks: Sequence[tuple[int, int]]) -> bytes:
        """A piece of a file with the record's markers where the record has some."""
        marked = bytearray(piece)
        for blank, length in blanks:
            first, end = max(blank, start), min(blank + length, start + len(piece))
            if first < end:
                marked[first - start : end - start] = b"".join(self._pieces(generation, first, end))
        return bytes(marked)

    def prove_next(self, generation: int, file: BinaryIO, most: int) -> bool:
        """Compare the next `most` bytes of an unproven log with its file, in whole chunks; False if they differ.

        Comparing a large log may take many syncs. The comparison counts for the size that the log had when it began: each chunk was
        found again after that moment, so the file held all of them then.
        """
        self._must_write()
        row = self._one_or_none("SELECT target, compared FROM unproven WHERE kind = ? AND ref = ?", (LOG, generation))
        if row is None:
            return True
        size = self.size(generation)
        target, start = row[0] or size, row[1]
        end = min(start + max(most - most % CHUNK, CHUNK), target)
        if self.first_difference(generation, file, start, end) is not None:
            return False
        if end < target:
            self._run(
                "UPDATE unproven SET target = ?, compared = ? WHERE kind = ? AND ref = ?",
                (target, end, LOG, generation),
            )
        elif target < size:
            self._run(
                "UPDATE unproven SET proven = ?, target = 0, compared = 0 WHERE kind = ? AND ref = ?",
                (target, LOG, generation),
            )
        else:
            self.vouch(LOG, generation)
        return True

    def read(
        self, generation: int, start: int = 0, end: int | None = None, *, mend: bool = False, check: bool = True
    ) -> Iterator[bytes]:
        """The raw bytes from `start` to `end` (or as far as there are any now) in pieces of one chunk at most.

        A damaged chunk is an error; with `mend` it is as many NULs, so that all around it stays at its place. Without `check` the bytes
        are not hashed, for a caller that has just written them.
        """
        self._write_back()
        size = self._size(generation)
        return self._pieces(generation, max(start, 0), size if end is None else min(end, size), mend=mend, check=check)

    def glimpse(self, generation: int, start: int, end: int) -> bytes:
        """The raw bytes from `start` to `end` for showing: chunks are decompressed only as far as needed.

        Page checksums prove the bytes; where there are none, the hash of the whole chunk does. What a damaged chunk cannot give
        is missing: `glimpse_line` raises instead.
        """
        self._write_back()
        pieces: list[bytes] = []
        while start < end:
            first, raw = self._glimpse_chunk(generation, start, end)
            piece = raw[start - first :]
            if not piece:
                break
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    def glimpse_line(self, generation: int, start: int, length: int) -> bytes:
        """The raw bytes of a line, read like `glimpse`; raises if the record cannot return all of them."""
        line = self.glimpse(generation, start, start + length)
        if len(line) < length:
            position = start + len(line)
            try:
                self._open_chunk(self._chunk_at(generation, position), position)
                reason = "it cannot be read"
            except DamagedError as error:
                reason = str(error)
            raise StoreCorrupt(self._damage(generation, position, reason))
        return line

    def check(self, generation: int, proof: LogProof | None = None) -> Iterator[Checked]:
        """Check every chunk of a generation up to its recorded size, past damage; `proof` gets the bytes."""
        self._write_back()
        size = self._size(generation)
        position = 0
        while position < size:
            damage = None
            try:
                raw = self._check_chunk(generation, position, size)
            except (DamagedError, StoreCorrupt) as error:
                raw = bytes(min(CHUNK - position % CHUNK, size - position))
                damage = str(error)
            if proof is not None:
                proof.chunk(raw)
            yield Checked(position, len(raw), damage)
            position += len(raw)
        if proof is not None:
            proof.end()
        beyond = self._one_or_none(
            "SELECT min(start) FROM chunk WHERE generation_id = ? AND start >= ?", (generation, size)
        )
        if beyond is not None and beyond[0] is not None:
            yield Checked(beyond[0], 0, f"it lies beyond the recorded size of {size} bytes")

    def generation(self, generation: int) -> Generation:
        self._write_back()
        return self._generation(generation)

    def _generation(self, generation: int) -> Generation:
        row = self._one_or_none(f"SELECT {COLUMNS} WHERE g.id = ?", (generation,))
        if row is None:
            raise NotFound(f"the record has no generation {generation}")
        return _generation(row)

    def generations(self) -> Iterator[Generation]:
        """Every generation of every log, oldest first."""
        self._write_back()
        return map(_generation, self._paged(f"SELECT {COLUMNS} WHERE g.id > ? ORDER BY g.id LIMIT ?"))

    def generations_of(self, file_id: int) -> list[Generation]:
        """The generations of a log, oldest first."""
        return list(map(_generation, self._rows(f"SELECT {COLUMNS} WHERE g.file_id = ? ORDER BY g.seq", (file_id,))))

    def sizes(self) -> dict[int, int]:
        """The size of every generation, by its id."""
        self._write_back()
        return dict(self._rows("SELECT id, size FROM generation"))

    def newest_generations(self) -> Iterator[Generation]:
        """Generations that are not empty, newest first."""
        self._write_back()
        after = 1 << 62
        sql = f"SELECT {COLUMNS} WHERE g.id < ? AND g.size > 0 ORDER BY g.id DESC LIMIT 100"
        while rows := self._rows(sql, (after,)):
            yield from map(_generation, rows)
            after = rows[-1][0]

    def _size(self, generation: int) -> int:
        row = self._one_or_none("SELECT size FROM generation WHERE id = ?", (generation,))
        if row is None:
            raise NotFound(f"the record has no generation {generation}")
        return int(row[0])

    def _tail(self, generation: int) -> _Tail:
        """The open tail of a current generation, read back when it is not in memory."""
        tail = self._tails.pop(generation, None)
        if tail is None:
            tail = self._load_tail(generation)
        # Inserted again: the order of the dictionary is the order of use (LRU).
        self._hold(generation, tail)
        return tail

    def _hold(self, generation: int, tail: _Tail) -> None:
        if len(self._tails) >= OPEN_TAILS:
            oldest = next(iter(self._tails))
            self._flush(oldest)
            del self._tails[oldest]
        self._tails[generation] = tail

    def _load_tail(self, generation: int) -> _Tail:
        file_id, size = self._current(generation)
        start = size - size % CHUNK
        rolling = self._one("SELECT rolling FROM generation WHERE id = ?", (generation,))[0]
        return _Tail(file_id, start, bytearray().join(self._pieces(generation, start, size)), rolling)

    def _current(self, generation: int) -> tuple[int, int]:
        """The file and the written size of a generation that is not closed."""
        known = self._generation(generation)
        if not known.current:
            raise ValueError(f"generation {generation} is closed")
        return known.file_id, known.size

    def _flush(self, generation: int) -> None:
        tail = self._tails.get(generation)
        if tail is not None and tail.dirty:
            if tail.raw:
                self._write_chunk(generation, tail.start, tail.raw, short_hash(tail.raw))
            self._run(
                "UPDATE generation SET size = ?, rolling = ? WHERE id = ?",
                (tail.start + len(tail.raw), tail.rolling, generation),
            )
            tail.dirty = False

    def _release_tails(self) -> None:
        """Write the tails that are held in memory, and drop them."""
        self._write_back()
        self._tails = {}
        self._glimpsed = {}

    def _write_back(self) -> None:
        for generation in self._tails:
            self._flush(generation)

    def _forget(self) -> None:
        super()._forget()
        self._tails = {}

    def _undo_step(self, noted: int) -> None:
        super()._undo_step(noted)
        self._tails = {}

    def _write_full_chunk(self, generation: int, tail: _Tail, raw: Raw) -> None:
        hash_ = short_hash(raw)
        self._write_chunk(generation, tail.start, raw, hash_, self._same_chunk(raw, hash_))
        tail.start += CHUNK
        tail.rolling = roll(tail.rolling, hash_)


def _generation(row: Row) -> Generation:
    return replace(Generation(*row), path=read_name(row[3]), current=bool(row[11]))
