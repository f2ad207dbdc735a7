"""The record as a chain of revisions: what each write added, and the hash that proves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from hansard.record.chain import Entry, Revision, current_entries, current_entry, next_hash
from hansard.record.database import Database
from hansard.record.failures import record_error

if TYPE_CHECKING:
    from collections.abc import Iterator


class Lineage(Database):
    """The part of the record that chains its writes."""

    _touched: list[tuple[str, int]]

    def head(self) -> Revision:
        """The last committed revision."""
        return Revision(*self._one("SELECT id, hash FROM revision ORDER BY id DESC LIMIT 1"))

    def has_revision(self, number: object, hash_: object) -> bool:
        """Whether this record once was in exactly this state: whatever was made from it then still fits."""
        return self._one_or_none("SELECT 1 FROM revision WHERE id = ? AND hash = ?", (number, hash_)) is not None

    def find_revision(self, noted: str) -> Revision | None:
        """The revision that somebody noted, as `number:hash` or as the beginning of a hash."""
        number, colon, digits = noted.rpartition(":")
        try:
            wanted = bytes.fromhex(digits) if len(digits) % 2 == 0 else bytes.fromhex(digits[:-1])
        except ValueError:
            return None
        if not wanted:
            return None
        rows = self._rows(
            "SELECT id, hash FROM revision WHERE substr(hash, 1, ?) = ? AND (? = '' OR id = ?) LIMIT 2",
            (len(wanted), wanted, colon, int(number) if number.isdecimal() else -1),
        )
        found = [Revision(*row) for row in rows if row[1].hex().startswith(digits.lower())]
        return found[0] if len(found) == 1 else None

    def revisions(self) -> Iterator[tuple[int, bytes]]:
        """Every revision's number and hash, the oldest first."""
        yield from self._rows("SELECT id, hash FROM revision ORDER BY id")

    def entries(self, kind: str | None = None, ref: int | None = None) -> list[Entry]:
        """What writes added, the oldest first: of one thing, or of all."""
        where, values = ("WHERE kind = ? AND ref = ?", (kind, ref)) if kind is not None else ("", ())
        return [
            Entry._make(row)
            for row in self._rows(
                f"SELECT revision_id, kind, ref, size, hash FROM entry {where} ORDER BY revision_id, kind, ref", values
            )
        ]

    def current_hash(self, kind: str, ref: int) -> bytes:
        """The hash that an entry for this snapshot or remark would have now."""
        try:
            return current_entry(self._db, kind, ref)[1]
        except apsw.Error as error:
            raise record_error(error, self.path) from error

    def _touch(self, kind: str, ref: int) -> None:
        """Remember that this write gives a log, a snapshot or a remark another content."""
        self._touched.append((kind, ref))

    def _seal(self) -> None:
        former, hash_ = self.head()
        revision = former + 1
        touched = sorted(set(self._touched))
        entries = [
            Entry(revision, kind, ref, *content)
            for (kind, ref), content in zip(touched, current_entries(self._db, touched), strict=True)
        ]
        self._run("UPDATE store SET revision = ?", (revision,))
        self._run(
            "INSERT INTO revision (id, at, hash) VALUES (?, ?, ?)",
            (revision, self._moment, next_hash(hash_, entries)),
        )
        self._run_many("INSERT INTO entry (revision_id, kind, ref, size, hash) VALUES (?, ?, ?, ?, ?)", entries)

    def _step(self) -> int:
        return len(self._touched)

    def _undo_step(self, noted: int) -> None:
        super()._undo_step(noted)
        del self._touched[noted:]

    def _forget(self) -> None:
        super()._forget()
        self._touched = []
