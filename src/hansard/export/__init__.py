"""Files out of sessions: which ones, under which names, in which format, and only where something changed.

Drawings come from `render`; here is what has to do with files and tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from hansard.model.calendar import Zone
    from hansard.model.sessions import Session
    from hansard.render.format import ProjectNames
    from hansard.thread.store import ThreadStore


class ExportedFile(Struct, frozen=True):
    """One file of an export."""

    path: str
    session_id: str | None  # None: an index, a table, or several sessions
    action: str  # written, unchanged, removed
    bytes: int


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


def export(
    store: ThreadStore,
    sessions: Sequence[Session],
    to: str,
    form: str | None,
    *,
    home: str,
    roots: Sequence[str],
    tables: Sequence[str] = (),
    whole: bool = False,
    zone: Zone,
    names: ProjectNames,
    force: bool = False,
    prune: bool = False,
    wait_seconds: float = 10.0,
    progress: Callable[[int, int], None] | None = None,
) -> Exported:
    """Write sessions to a file or a folder; nothing is written into `roots`.

    While another export writes to the same folder this one waits, but no longer than it may.
    """
    from hansard.errors import NotFound, UsageError
    from hansard.export.files import refuse_roots, remove_remains
    from hansard.export.formats import TABULAR, find_format
    from hansard.export.manifest import locked
    from hansard.export.run import Export

    found = find_format(form, to)
    refuse_roots(to, roots)
    if tables and found not in TABULAR:
        raise UsageError(f"tables are exported as {' or '.join(TABULAR)}, not as {found}")
    if prune and found in TABULAR:
        raise UsageError("prune is for folders with a file for each session")
    chosen = list({session.session_id: session for session in sessions}.values())
    if not chosen and not whole:
        raise NotFound("no sessions to export")
    work = Export(store, to, found, home=home, zone=_info(zone), names=names, force=force)

    def run() -> Exported:
        if found in TABULAR:
            from hansard.export.tabular import export_tables

            return export_tables(work, chosen, tables, whole=whole, progress=progress)
        return work.sessions(chosen, prune=prune, progress=progress)

    if work.single:
        return run()
    with locked(work.to, work.manifest.path, wait_seconds):
        work.manifest.reload()
        if work.manifest.is_broken_off:
            remove_remains(work.to, whole=True)
        return run()


def _info(zone: Zone) -> tzinfo:
    """A zone as drawings want it; the system's own by its name, which knows summer and winter."""
    if zone.info is not None:
        return zone.info
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(zone.name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return datetime.now().astimezone().tzinfo or zoneinfo.ZoneInfo("UTC")
