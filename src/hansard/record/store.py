"""The record: the only module of this package that most callers need."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import starmap
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.errors import StoreCorrupt
from hansard.record.chain import REMARK, REMOVED, Revision
from hansard.record.database import DamagedError, short_hash
from hansard.record.erase import Erasing
from hansard.record.files import FREED, GONE, LIVE, Known, LeftOutRow, Quarantined, RootRow
from hansard.record.logs import Checked, Generation
from hansard.record.snapshots import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hansard.sources.roots import Root

__all__ = [
    "FREED",
    "GONE",
    "LIVE",
    "Checked",
    "Generation",
    "Known",
    "LeftOutRow",
    "Quarantined",
    "Record",
    "Remark",
    "Revision",
    "RootRow",
    "Snapshot",
]


PIN, TAG, TITLE, NOTE = "pin", "tag", "title", "note"
_VALID = "SELECT id, session_id, kind, value, set_at FROM remark WHERE removed_at IS NULL"


class Remark(Struct, frozen=True):
    """A pin, tag, title or note of a session that the user has not removed."""

    id: int
    session_id: str
    kind: str
    value: str
    set_at: str


class Record(Erasing):
    """Every byte that was seen, and what the user said about it, in one database.

    Roots and files are in `files`, logs in `logs`, whole files in `snapshots`, erasing in `erase`.

    Open it with `Record.open`, one per thread; change it only inside `writing()`; read it at any time, also while
    another process writes.
    """

    def kept_bytes(self) -> int:
        """Raw bytes of all generations and snapshots."""
        return int(
            self._one(
                "SELECT (SELECT coalesce(sum(size), 0) FROM generation) + (SELECT coalesce(sum(c.size), 0) "
                "FROM snapshot s JOIN content c ON c.id = s.content_id)"
            )[0]
        )

    def log_totals(self) -> tuple[int, int]:
        """How many generations there are of all logs, and their raw bytes."""
        count, size = self._one("SELECT count(*), coalesce(sum(size), 0) FROM generation")
        return int(count), int(size)

    def refill(self, generation: int, roots: Sequence[Root]) -> bool:
        """Take the lost chunks of a log from its source, where the chain of revisions proves them; whether all are there then."""
        from hansard.record.refill import Refill

        self._must_write()
        good = set()
        for id_, start in self._rows("SELECT id, start FROM chunk WHERE generation_id = ?", (generation,)):
            with suppress(DamagedError):
                self._open_chunk(self._chunk_at(generation, start), start)
                good.add(id_)
        Refill(self._db, roots, good).log(generation)
        return not any(chunk.damage for chunk in self.check(generation))

    def sample(self, most: int) -> tuple[list[str], int, int]:
        """Check chunks against their hashes, a random choice if there are more than `most`: damage in words, how many, of how many."""
        from random import Random

        self._write_back()
        chunks = self._rows("SELECT generation_id, start FROM chunk ORDER BY generation_id, start")
        chosen = chunks if len(chunks) <= most else sorted(Random(os.urandom(8)).sample(chunks, most))  # noqa: S311 - no secret
        damage: list[str] = []
        for generation, start in chosen:
            try:
                self._open_chunk(self._chunk_at(generation, start), start)
            except DamagedError as error:
                damage.append(f"{self._generation(generation).path} at byte {start:,}: {error}")
        return damage, len(chosen), len(chunks)

    def mend_chunk(self, generation: int, start: int, raw: bytes) -> bool:
        """Write the bytes of a damaged chunk anew; False unless they are exactly those that it was made from."""
        self._must_write()
        row = self._one_or_none(
            "SELECT coalesce(source, id), length, hash FROM chunk WHERE generation_id = ? AND start = ?",
            (generation, start),
        )
        if row is None or (len(raw), short_hash(raw)) != row[1:]:
            return False
        self._run("UPDATE chunk SET data = ? WHERE id = ?", (self._codec.pack(raw), row[0]))
        return True

    def page_damage(self) -> list[str]:
        """Where the database file is damaged, apart from the bytes it keeps."""
        try:
            return [str(row[0]) for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"]
        except StoreCorrupt as error:
            return [f"a page of the database is damaged ({error.__cause__})"]

    def database_damage(self) -> list[str]:
        """What SQLite's own checks find wrong with the database, apart from the bytes it keeps."""
        found = self.page_damage()
        try:
            rows = self._rows("PRAGMA foreign_key_check")
        except StoreCorrupt:
            return found
        return found + [f"row {row[1]} of table {row[0]} refers to a row of {row[2]} that is missing" for row in rows]

    def remarks(self, session_id: str | None = None) -> list[Remark]:
        """The remarks on one session or on all, the oldest first."""
        if session_id is None:
            return list(starmap(Remark, self._rows(f"{_VALID} ORDER BY id")))
        return list(starmap(Remark, self._rows(f"{_VALID} AND session_id = ? ORDER BY id", (session_id,))))

    def all_remarks(self) -> list[Remark]:
        """Every remark, removed ones too, the oldest first."""
        rows = self._rows("SELECT id, session_id, kind, value, set_at FROM remark ORDER BY id")
        return list(starmap(Remark, rows))

    def add_remark(self, session_id: str, kind: str, value: str) -> int:
        self._must_write()
        remark = self._insert(
            "INSERT INTO remark (session_id, kind, value, set_at) VALUES (?, ?, ?, ?)",
            (session_id, kind, value, self._moment),
        )
        self._touch_new(REMARK, remark)
        return remark

    def remove_remarks(self, ids: Iterable[int]) -> None:
        """Mark remarks as removed; those already removed stay as they are."""
        self._must_write()
        for id_ in ids:
            before = self._db.total_changes()
            self._run("UPDATE remark SET removed_at = ? WHERE id = ? AND removed_at IS NULL", (self._moment, id_))
            if self._db.total_changes() != before:
                self._touch(REMOVED, id_)
