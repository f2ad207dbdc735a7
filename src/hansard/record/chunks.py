"""Chunks: the compressed pieces that a log is stored as, and reading bytes out of them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hansard.errors import StoreCorrupt
from hansard.record.database import AFTER_DAMAGE, DamagedError, Raw, Row, read_name, short_hash
from hansard.record.files import Files
from hansard.record.schema import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST_CHUNK = 16 << 20
"""No chunk of any layout is larger: a length beyond it is damage, not a reason to spend memory."""

_GLIMPSED = 32  # chunks that are kept decompressed for `glimpse`


class Chunks(Files):
    """The part of the record that keeps the chunks of logs; those that are written, without what a transaction still holds in memory."""

    _glimpsed: dict[tuple[int, int], bytes]

    def _pieces(
        self, generation: int, position: int, stop: int, *, mend: bool = False, check: bool = True
    ) -> Iterator[bytes]:
        # One short query per chunk: no statement stays open while the caller works, so no checkpoint waits for it.
        # Only a last chunk ever changes, by growing; cut at `stop`, the answer is that of the moment of the call.
        while position < stop:
            row = None
            try:
                row = self._chunk_at(generation, position)
                first, raw = self._open_chunk(row, position, check=check)
            except DamagedError as error:
                if mend:
                    lost = min(CHUNK - position % CHUNK, stop - position)
                    position += lost
                    yield bytes(lost)
                    continue
                where = row[0] if row is not None and position < row[0] + row[1] else position
                raise StoreCorrupt(self._damage(generation, where, str(error))) from None
            piece = raw[position - first : stop - first]
            position += len(piece)
            yield piece

    def _glimpse_chunk(self, generation: int, position: int, end: int) -> tuple[int, bytes]:
        """Where the chunk around a position starts, and its raw bytes up to `end`; none where it cannot give them.

        The last ones are cached: the beginning of a chunk never changes, and hits are often close together.
        """
        first = position - position % CHUNK
        raw = self._glimpsed.pop((generation, first), b"")
        if len(raw) < min(end - first, CHUNK):
            first, raw = self._start_of_chunk(generation, position, end)
        if 0 < len(raw) <= CHUNK:
            self._glimpsed[generation, first] = raw
            if len(self._glimpsed) > _GLIMPSED:
                del self._glimpsed[next(iter(self._glimpsed))]
        return first, raw[: end - first]

    def _start_of_chunk(self, generation: int, position: int, end: int) -> tuple[int, bytes]:
        try:
            row = self._content_row(
                "SELECT start, length, coalesce(source, id) FROM chunk"
                " WHERE generation_id = ? AND start <= ? ORDER BY start DESC LIMIT 1",
                (generation, position),
            )
            if row is None or row[0] + row[1] <= position or row[1] > LARGEST_CHUNK:
                return position, b""
            first, length, id_ = row
            raw = self._frame_start(id_, min(end - first, length))
            return (first, raw) if raw is not None else self._open_chunk(self._chunk_at(generation, position), position)
        except DamagedError:
            return position, b""

    def _write_chunk(self, generation: int, start: int, raw: Raw, hash_: bytes, source: int | None = None) -> None:
        self._run(
            "INSERT INTO chunk (generation_id, start, length, hash, data, source) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (generation_id, start) DO UPDATE"
            " SET length = excluded.length, hash = excluded.hash, data = excluded.data, source = excluded.source",
            (generation, start, len(raw), hash_, self._codec.pack(raw) if source is None else b"", source),
        )

    def _same_chunk(self, raw: Raw, hash_: bytes) -> int | None:
        """A full chunk that holds exactly these bytes already."""
        try:
            row = self._content_row(
                f"SELECT id, data FROM chunk WHERE hash = ? AND source IS NULL AND length = {CHUNK}", (hash_,)
            )
            return row[0] if row is not None and self._codec.unpack(row[1], CHUNK) == raw else None
        except DamagedError:
            return None

    def _chunk_at(self, generation: int, position: int) -> Row | None:
        """Where a chunk starts, its length, its hash and its frame, None for a frame that is missing."""
        return self._content_row(
            "SELECT start, length, hash, iif(source IS NULL, data, (SELECT s.data FROM chunk s WHERE s.id = c.source))"
            " FROM chunk c WHERE generation_id = ? AND start <= ? ORDER BY start DESC LIMIT 1",
            (generation, position),
        )

    def _open_chunk(self, row: Row | None, position: int, *, check: bool = True) -> tuple[int, bytes]:
        """Where a chunk starts and its raw bytes, checked against its hash; it must hold the byte at `position`."""
        if row is None or row[0] + row[1] <= position:
            raise DamagedError("the chunk is missing")
        start, length, expected, data = row
        if data is None:
            raise DamagedError("the chunk that it shares its bytes with is missing")
        if length > LARGEST_CHUNK:
            raise DamagedError(f"it claims an impossible length of {length} bytes")
        raw = self._codec.unpack(data, length)
        if check and short_hash(raw) != expected:
            raise DamagedError("its bytes do not match the recorded hash")
        return start, raw

    def _check_chunk(self, generation: int, position: int, size: int) -> bytes:
        """The raw bytes of the chunk at `position`, which must be whole and in step with its neighbours."""
        start, raw = self._open_chunk(self._chunk_at(generation, position), position)
        if start != position or (len(raw) != CHUNK and start + len(raw) != size):
            raise DamagedError(f"it covers {start} to {start + len(raw)}, out of step with its neighbours")
        return raw

    def _damage(self, generation: int, start: int, reason: str) -> str:
        path = "a transcript"
        with suppress(StoreCorrupt):
            row = self._one_or_none(
                "SELECT path FROM file JOIN generation g ON file.id = file_id WHERE g.id = ?", (generation,)
            )
            path = read_name(row[0]) if row is not None else path
        return (
            f"{self.path}: damaged at {path}, generation {generation}, chunk at byte {start}: {reason}. {AFTER_DAMAGE}"
        )

    def _forget(self) -> None:
        super()._forget()
        self._glimpsed = {}

    def _undo_step(self, noted: int) -> None:
        super()._undo_step(noted)
        self._glimpsed = {}
