"""The record: the way in for everything above this room."""

from __future__ import annotations

from hansard.errors import StoreCorrupt
from hansard.record.chain import Revision
from hansard.record.files import GONE, LIVE, Known, LeftOutRow, Quarantined, RootRow
from hansard.record.logs import Checked, Generation, Logs
from hansard.record.remarks import Remark, Remarks
from hansard.record.snapshots import Snapshot, Snapshots

__all__ = [
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


class Record(Logs, Snapshots, Remarks):
    """Every byte that was seen, and what the user said about it, in one database.

    Roots and files are in `files`, logs in `logs`, whole files in `snapshots`, the user's words in `remarks`.

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

    def database_damage(self) -> list[str]:
        """What SQLite's own checks find wrong with the database, apart from the bytes it keeps."""
        try:
            found = [str(row[0]) for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"]
            rows = self._rows("PRAGMA foreign_key_check")
        except StoreCorrupt as error:
            return [str(error)]
        return found + [f"row {row[1]} of table {row[0]} refers to a row of {row[2]} that is missing" for row in rows]
