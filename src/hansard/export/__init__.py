"""Files out of sessions: which ones, under which names, in which format, and only where something changed.

Drawings come from `render`; here is what has to do with files and tables.
"""

from __future__ import annotations

from msgspec import Struct


class ExportedFile(Struct, frozen=True):
    """One file of an export."""

    path: str
    session_id: str | None  # None: an index, a table, or several sessions
    action: str  # written, unchanged, removed
    bytes: int
    redacted: int = 0  # secrets that were replaced in what it was made from


class NotExported(Struct, frozen=True):
    """A session that could not be drawn, or whose file was changed since; the others were exported."""

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
    not_included: tuple[str, ...] = ()  # what sessions have and files of this format do not
    redaction: str = "off"  # on, strict
    redacted: int = 0  # secrets that were replaced in the written files
    unscanned_bytes: int | None = None  # of the store, not searched for secrets yet; null without redaction
