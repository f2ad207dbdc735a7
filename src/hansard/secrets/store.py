"""`secrets.db`: which lines and files of the record hold secrets. Disposable; the secrets themselves are not in it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.index.store import Disposable, telling
from hansard.storage.sqlite import connect_readonly

if TYPE_CHECKING:
    import apsw

    from hansard.record.store import Record

NAME = "secrets.db"
VERSION = 1
SCAN = "hansard secrets scan"
"""The command that makes the findings again."""
LOG, FILE, NAMED, REMARK = "log", "file", "name", "remark"

TABLES = """\
-- One value per name: the record this was made from, with which rules, and how far.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;

-- What could not be searched, and why.
CREATE TABLE quarantine (
    stage   TEXT NOT NULL,            -- log, file
    subject TEXT NOT NULL,            -- the id of a generation or a snapshot
    size    INTEGER NOT NULL,         -- bytes of the record then
    reason  TEXT NOT NULL,
    since   INTEGER NOT NULL,         -- ms
    PRIMARY KEY (stage, subject)
) WITHOUT ROWID;

-- How far each generation of a log was searched.
CREATE TABLE scanned (
    transcript INTEGER PRIMARY KEY,   -- the generation's id in the record
    size       INTEGER NOT NULL,      -- bytes of the record that were read
    offset     INTEGER NOT NULL,      -- where the first line begins that was not there in full
    before     INTEGER NOT NULL       -- where the first line before it begins whose texts a secret may continue
);

-- Where secrets are: a line of a log, a file, a name, or a remark of the user.
CREATE TABLE findings (
    id          INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL,        -- keyed hash of the secret
    rule        TEXT NOT NULL,        -- the most specific one that found it here
    confidence  TEXT NOT NULL,        -- high, medium
    source      TEXT NOT NULL,        -- log, file, name, remark
    ref         INTEGER NOT NULL,     -- id of the generation, the snapshot, the file or the remark
    offset      INTEGER NOT NULL,     -- of the line in its log; 0 in others
    start       INTEGER NOT NULL,     -- of the secret as it is written: bytes after `offset`
    length      INTEGER NOT NULL,     -- in bytes; 0: it is split over texts, the first of them in this line
    is_encoded  INTEGER NOT NULL,     -- 1: those bytes are not the secret itself, but an encoding or a part of it
    is_bare     INTEGER NOT NULL,     -- 1: only what is around it reveals it, so it is searched for by itself, too
    times       INTEGER NOT NULL      -- how many times it is there; in a line that stands for others, also in those
);
CREATE INDEX findings_by_place ON findings (source, ref, offset);
CREATE INDEX findings_by_secret ON findings (fingerprint);
"""


class Found(NamedTuple):
    """A secret in a line, a file, a name or a remark."""

    fingerprint: str
    rule: str
    confidence: str
    start: int
    length: int
    is_encoded: bool
    is_bare: bool
    times: int


class Scanned(NamedTuple):
    """The searched part of a log."""

    size: int
    offset: int
    before: int


MOST_PER_LOG = 1_000
"""Rows of one secret in one generation of a log; further places are counted in the last row."""


class FindingStore(Disposable):
    """The findings, for the one process that scans."""

    def __init__(self, home: str, record: Record, rules: str) -> None:
        path = os.path.join(home, NAME)
        super().__init__(path, lambda: TABLES, VERSION, record)
        if self.meta("rules") != rules:
            with self.transaction():
                if not self.fresh:
                    for table in ("scanned", "findings", "quarantine"):
                        self.db.execute(f"DELETE FROM {table}")
                    for name in ("snapshot", NAMED, REMARK):
                        self.set_meta(name, 0)
                self.set_meta("rules", rules)

    def scanned_sizes(self) -> dict[int, int]:
        """The searched bytes of each log, by the id of its generation."""
        rows: list[Any] = self.db.execute("SELECT transcript, size FROM scanned").fetchall()
        return dict(rows)

    def scanned(self, transcript: int) -> Scanned:
        """The searched part of a log."""
        sql = "SELECT size, offset, before FROM scanned WHERE transcript = ?"
        row: Any = self.db.execute(sql, (transcript,)).fetchone()
        return Scanned(0, 0, 0) if row is None else Scanned(*row)

    def scanned_bytes(self) -> int:
        """The searched bytes of all logs."""
        return int(self.db.execute("SELECT coalesce(sum(size), 0) FROM scanned").get)

    def snapshot(self) -> int:
        """The last snapshot that was searched."""
        return self.last("snapshot")

    def last(self, source: str) -> int:
        """The last file name or remark that was searched."""
        known = self.meta(source)
        return known if isinstance(known, int) else 0

    def put(self, source: str, ref: int, offset: int, found: Iterable[Found], *, is_whole: bool = True) -> None:
        """Add what one line or file holds; a line that is not whole is searched again."""
        for one in found:
            if source == LOG and self._count(one.fingerprint, ref) >= MOST_PER_LOG:
                if is_whole:
                    self.db.execute(
                        "UPDATE findings SET times = times + ? WHERE id = "
                        "(SELECT max(id) FROM findings WHERE fingerprint = ? AND source = ? AND ref = ?)",
                        (one.times, one.fingerprint, source, ref),
                    )
                continue
            self.db.execute(
                "INSERT INTO findings (fingerprint, rule, confidence, source, ref, offset, start, length, is_encoded, is_bare, times)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*one[:3], source, ref, offset, *one[3:]),
            )

    def _count(self, fingerprint: str, ref: int) -> int:
        return int(
            self.db.execute(
                "SELECT count(*) FROM findings WHERE fingerprint = ? AND source = ? AND ref = ?",
                (fingerprint, LOG, ref),
            ).get
        )

    def drop(self, source: str, ref: int, offset: int = 0) -> None:
        """Remove what was found from an offset on."""
        self.db.execute("DELETE FROM findings WHERE source = ? AND ref = ? AND offset >= ?", (source, ref, offset))

    def drop_split(self, transcript: int, offset: int) -> None:
        """Remove what was found split over texts of a log from an offset on: further texts may belong to it."""
        sql = "DELETE FROM findings WHERE source = ? AND ref = ? AND offset >= ? AND length = 0"
        self.db.execute(sql, (LOG, transcript, offset))

    def drop_one(self, fingerprint: str, transcript: int, offset: int) -> None:
        """Remove a secret that was found in a line."""
        sql = "DELETE FROM findings WHERE fingerprint = ? AND source = ? AND ref = ? AND offset = ?"
        self.db.execute(sql, (fingerprint, LOG, transcript, offset))

    def has(self, fingerprint: str, transcript: int, offset: int) -> bool:
        """Whether a secret was found in a line."""
        sql = "SELECT 1 FROM findings WHERE fingerprint = ? AND source = ? AND ref = ? AND offset = ?"
        return self.db.execute(sql, (fingerprint, LOG, transcript, offset)).fetchone() is not None

    def set_scanned(self, transcript: int, scanned: Scanned) -> None:
        self.db.execute("INSERT OR REPLACE INTO scanned VALUES (?, ?, ?, ?)", (transcript, *scanned))

    def forget(self, source: str, refs: Iterable[int]) -> None:
        """Remove what is no longer in the record."""
        for ref in refs:
            self.drop(source, ref)
            if source == LOG:
                self.db.execute("DELETE FROM scanned WHERE transcript = ?", (ref,))

    def refs(self, source: str) -> set[int]:
        """The logs, files, names or remarks that hold secrets."""
        return {row[0] for row in self.db.execute("SELECT DISTINCT ref FROM findings WHERE source = ?", (source,))}


def open_findings(home: str) -> apsw.Connection | None:
    """The findings for reading; None before the first scan."""
    path = os.path.join(home, NAME)
    if not os.path.exists(path):
        return None
    with telling(path, SCAN):
        db = connect_readonly(path, lambda db: db.set_busy_timeout(2000))
        if db.pragma("user_version") != VERSION:
            db.close()
            return None
        return db
