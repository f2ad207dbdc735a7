"""What an export did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """One file of an export."""

    path: str
    session_id: str | None  # None: an index, a table, or several sessions
    action: str  # written, unchanged, removed
    bytes: int


@dataclass(frozen=True, slots=True)
class NotExported:
    """A session that could not be drawn, or whose file somebody has changed; the others were exported."""

    session_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Exported:
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
