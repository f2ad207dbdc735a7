"""What to do about a damaged record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.errors import StoreCorrupt
from hansard.storage.sqlite import store_error

if TYPE_CHECKING:
    import apsw

AFTER_DAMAGE = (
    "Nothing was changed. Run `hansard verify --repair`, which restores what the sources still have and keeps the damaged "
    "file, or restore it from a backup."
)

DAMAGED_TEXT = "[damaged in the record; run `hansard verify --repair`]"
"""Shown in a list in place of a text that the record cannot give back."""


def record_error(error: apsw.Error, path: str) -> Exception:
    """The error of our tree for an error of SQLite on the record at `path`."""

    def damaged(reason: apsw.Error) -> StoreCorrupt:
        return StoreCorrupt(f"{path}: not a readable Hansard record ({reason}). {AFTER_DAMAGE}")

    return store_error(error, path, damaged)
