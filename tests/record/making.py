"""Short ways to put things into a record, and to break one."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

import apsw
import zstandard

from hansard.record import chain, schema
from hansard.sources.tail import Mark
from hansard.storage.sqlite import connect

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.record.store import Record

LOG = "projects/-home-u-p/0e6f1a2b-0000-4000-8000-000000000001.jsonl"
NOTE = "projects/-home-u-p/0e6f1a2b-0000-4000-8000-000000000001/tool-results/a.txt"


def mark(offset: int, mtime_ns: int = 1_700_000_000_123_456_789, inode: int = 7) -> Mark:
    seen = mtime_ns + 9_000_000_000
    return Mark(offset, mtime_ns, mtime_ns, inode, b"h" * 16, b"l" * 16, seen, seen)


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
    with closing(connect(str(place))) as db:
        db.execute(sql, values)


def flip(place: Path, table: str, number: int, at: int = -1) -> None:
    """Flip one bit of the stored bytes of a chunk or content."""
    with closing(connect(str(place))) as db:
        data = bytearray(db.execute(f"SELECT data FROM {table} WHERE id = ?", (number,)).get)
        data[at] ^= 1
        db.execute(f"UPDATE {table} SET data = ? WHERE id = ?", (bytes(data), number))


def found(folder: Path, word: bytes) -> list[str]:
    """Where a word is in the files of a folder: in raw bytes, or in any frame of zstd that is in them, or was."""
    hits = []
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        name = str(path.relative_to(folder))
        if word in data:
            hits.append(name)
        start = data.find(zstandard.FRAME_HEADER)
        while start >= 0:
            # Frames lie across pages, so only their beginnings may be readable.
            raw = bytearray()
            with suppress(zstandard.ZstdError), zstandard.ZstdDecompressor().stream_reader(data[start:]) as reader:
                while piece := reader.read(1 << 13):
                    raw += piece
            if word in raw:
                hits.append(f"{name} at {start}")
            start = data.find(zstandard.FRAME_HEADER, start + 1)
    return hits


def chunk_pages(place: Path) -> list[int]:
    """The numbers of all pages that hold chunks, from 0."""
    with closing(connect(str(place), readonly=True)) as db:
        return [row[0] - 1 for row in db.execute("SELECT pageno FROM dbstat WHERE name = 'chunk'")]


def flip_bit(place: Path, bit: int) -> None:
    """Flip one bit of a file; the same call puts it back."""
    with place.open("r+b") as file:
        file.seek(bit // 8)
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1 << bit % 8]))


_SEEDS = 8  # the layout with which entries have seeds in their hashes


def _chain_without_seeds(db: apsw.Connection) -> None:
    db.execute(
        "CREATE TEMP TABLE seed (kind, ref, seed);"
        " CREATE TEMP TRIGGER no_seeds BEFORE INSERT ON seed BEGIN SELECT raise(IGNORE); END;"
        " DELETE FROM entry; DELETE FROM revision; UPDATE store SET revision = revision + 1"
    )
    chain.begin(db, db.execute("SELECT store_id FROM store").get, "2026-01-01T00:00:00.000Z")


def as_older_layout(place: Path, version: int) -> None:
    """Make of a store what a Hansard of an older layout would have written, in a database without page checksums."""
    old = place.with_name("older.db")
    with closing(apsw.Connection(str(old))) as db:
        db.pragma("journal_mode", "wal")
        for step in schema.MIGRATIONS[:version]:
            db.execute(step.sql)
        db.pragma("user_version", version)
        db.pragma("application_id", schema.APPLICATION_ID)
        tables = [str(row[0]) for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()]
        db.execute("ATTACH ? AS new", (str(place),))
        for table in tables:
            if table.startswith("sqlite_"):
                continue
            names = ", ".join(str(row[1]) for row in db.execute(f"PRAGMA main.table_info({table})").fetchall())
            db.execute(f"REPLACE INTO main.{table} ({names}) SELECT {names} FROM new.{table}")
        db.execute(
            "UPDATE chunk SET data = (SELECT s.data FROM new.chunk c JOIN new.chunk s ON s.id = c.source WHERE c.id = chunk.id)"
            " WHERE id IN (SELECT id FROM new.chunk WHERE source IS NOT NULL)"
        )
        if schema.LINEAGE_VERSION <= version < _SEEDS:
            _chain_without_seeds(db)
    for suffix in ("-wal", "-shm"):
        place.with_name(place.name + suffix).unlink(missing_ok=True)
    old.replace(place)
