"""Short ways to put things into a record, and to break one."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import apsw

from hansard.sources.tail import Mark

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.record.store import Record

LOG = "projects/-home-u-p/0e6f1a2b-0000-4000-8000-000000000001.jsonl"
NOTE = "projects/-home-u-p/0e6f1a2b-0000-4000-8000-000000000001/tool-results/a.txt"


def mark(offset: int, mtime_ns: int = 1_700_000_000_123_456_789, inode: int = 7) -> Mark:
    return Mark(offset, mtime_ns, inode, b"h" * 16, b"l" * 16, mtime_ns + 9_000_000_000)


def keep_log(
    record: Record,
    data: bytes,
    path: str = LOG,
    *,
    root: str = "/src/.claude",
    reason: str = "new",
    piece: int = 1 << 20,
) -> int:
    """Keep a log in one transaction and return its generation."""
    with record.writing():
        root_id = record.root_id(root, root.rsplit("/", 1)[-1])
        generation = record.start_generation(root_id, path, "main", reason)
        for start in range(0, len(data), piece):
            record.append(generation, data[start : start + piece])
        record.settle(generation, mark(len(data)), 0o644)
    return generation


def keep_more(record: Record, generation: int, data: bytes) -> None:
    """Append to a log in one transaction."""
    with record.writing():
        record.append(generation, data)
        record.settle(generation, mark(record.size(generation)), 0o644)


def keep_whole(record: Record, data: bytes, path: str = NOTE, *, root: str = "/src/.claude", mtime_ns: int = 5) -> bool:
    """Keep a whole file in one transaction."""
    with record.writing():
        root_id = record.root_id(root, root.rsplit("/", 1)[-1])
        return record.snapshot(root_id, path, "tool_result", data, mark(len(data), mtime_ns), 0o600)


def whole(record: Record, generation: int) -> bytes:
    return b"".join(record.read(generation))


def break_store(place: Path, sql: str, values: tuple[int | bytes, ...] = ()) -> None:
    """Change a store behind the record's back."""
    with closing(apsw.Connection(str(place))) as db:
        db.execute(sql, values)


def flip(place: Path, table: str, number: int, at: int = -1) -> None:
    """Flip one bit of the stored bytes of a chunk or content."""
    with closing(apsw.Connection(str(place))) as db:
        data = bytearray(db.execute(f"SELECT data FROM {table} WHERE id = ?", (number,)).get)
        data[at] ^= 1
        db.execute(f"UPDATE {table} SET data = ? WHERE id = ?", (bytes(data), number))
