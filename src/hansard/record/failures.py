"""What to do about a damaged record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.errors import StoreCorrupt
from hansard.storage.failures import store_error

if TYPE_CHECKING:
    import apsw

AFTER_DAMAGE = (
    "Nothing was changed. Copy the file before anything else; `hansard verify` lists what is damaged, and `hansard verify --salvage DIR` saves the rest. "
    "Restore it from a backup, or move it away: the next sync then records again everything the source still has."
)

AFTER_LOSS = (
    "Nothing was changed. Copy the file before anything else, then restore it from a backup; or move the whole data "
    "directory away: the next sync then records again everything the source still has."
)


def record_error(error: apsw.Error, path: str) -> Exception:
    """The error of our tree for an error of SQLite on the record at `path`."""

    def damaged(reason: apsw.Error) -> StoreCorrupt:
        return StoreCorrupt(f"{path}: not a readable Hansard record ({reason}). {AFTER_LOSS}")

    return store_error(error, path, damaged)
