"""What an export did."""

from __future__ import annotations

from msgspec import Struct


class ExportedFile(Struct, frozen=True):
    """One file of an export."""

    path: str
    session_id: str | None  # None: an index, a table, or several sessions
    action: str  # written, unchanged, removed
    bytes: int


class NotExported(Struct, frozen=True):
    """A session that could not be drawn, or whose file somebody has changed; the others were exported."""

    session_id: str
    reason: str


class Exported(Struct, frozen=True):
    """What an export wrote and what it left as it was."""

    to: str
    format: str
    written: int  # files
    unchanged: int
    skipped: int  # sessions that are in `failed`
    removed: int
    bytes: int  # written
    files: tuple[ExportedFile, ...]
    failed: tuple[NotExported, ...]
