"""What the user said about sessions: pins, tags, titles, notes. Nothing else has them, so they are kept with the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hansard.record.chain import REMARK, REMOVED
from hansard.record.lineage import Lineage

if TYPE_CHECKING:
    from collections.abc import Iterable

PIN, TAG, TITLE, NOTE = "pin", "tag", "title", "note"
_VALID = "SELECT id, session_id, kind, value, set_at FROM remark WHERE removed_at IS NULL"


class Remark(NamedTuple):
    """One thing that the user said about a session and did not take back."""

    id: int
    session_id: str
    kind: str
    value: str
    set_at: str


class Remarks(Lineage):
    """The part of the record that keeps what the user said."""

    def remarks(self, session_id: str | None = None) -> list[Remark]:
        """What is valid, of one session or of all, the oldest first."""
        if session_id is None:
            return [Remark._make(row) for row in self._rows(f"{_VALID} ORDER BY id")]
        return [Remark._make(row) for row in self._rows(f"{_VALID} AND session_id = ? ORDER BY id", (session_id,))]

    def add_remark(self, session_id: str, kind: str, value: str) -> int:
        """Keep a remark; returns its id."""
        self._must_write()
        remark = self._insert(
            "INSERT INTO remark (session_id, kind, value, set_at) VALUES (?, ?, ?, ?)",
            (session_id, kind, value, self._moment),
        )
        self._touch(REMARK, remark)
        return remark

    def remove_remarks(self, ids: Iterable[int]) -> None:
        """Mark remarks as taken back; what was taken back before stays as it is."""
        self._must_write()
        for id_ in ids:
            before = self._db.total_changes()
            self._run("UPDATE remark SET removed_at = ? WHERE id = ? AND removed_at IS NULL", (self._moment, id_))
            if self._db.total_changes() != before:
                self._touch(REMOVED, id_)
