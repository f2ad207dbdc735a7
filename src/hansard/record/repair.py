"""Putting damage right where the bytes that belong there still exist: in the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.record.schema import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hansard.record.store import Record
    from hansard.record.verify import Mismatch
    from hansard.sources.claude_code import Root


def repair(record: Record, roots: Sequence[Root], mismatches: Iterable[Mismatch]) -> list[Mismatch]:
    """Mend damaged chunks and snapshots from the source files that still have their bytes; returns what was mended.

    Nothing but the very bytes that were kept is ever written: their hash decides.
    """
    by_path = {root.path: root for root in roots}
    rows = {row.id: by_path[row.path] for row in record.roots() if row.path in by_path}
    mended = []
    for mismatch in mismatches:
        if mismatch.offset is None:
            continue
        root_id = _root_of(record, mismatch)
        if root_id not in rows:
            continue
        place = rows[root_id].locate(mismatch.path)
        with record.writing():
            if mismatch.snapshot is not None:
                done = record.mend_snapshot(mismatch.snapshot, _read(place, 0, None))
            elif mismatch.generation is not None:
                done = record.mend_chunk(
                    mismatch.generation,
                    mismatch.offset,
                    _read(place, mismatch.offset, record.size(mismatch.generation)),
                )
            else:
                done = False
        if done:
            mended.append(mismatch)
    return mended


def _root_of(record: Record, mismatch: Mismatch) -> int:
    if mismatch.generation is not None:
        return record.generation(mismatch.generation).root_id
    return next((item.root_id for item in record.snapshots() if item.id == mismatch.snapshot), 0)


def _read(place: str, start: int, end: int | None) -> bytes:
    """A chunk of a source file, or all of it; empty when it cannot be read."""
    try:
        with open(place, "rb") as file:
            file.seek(start)
            return file.read() if end is None else file.read(min(CHUNK, end - start))
    except OSError:
        return b""
