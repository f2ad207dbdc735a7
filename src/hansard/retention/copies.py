"""Copies of sessions outside of the record that Hansard made or knows of: exports, backups of the store, journals, imports."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator
from typing import NamedTuple

from hansard.changes.journal import FOLDER
from hansard.export.known import exports_of, mentions
from hansard.model.erasing import LEAVE, REMOVE, ForgetItem
from hansard.sync.erasing import EXPORT_STEP, FILE_STEP, FOLDER_STEP

_TYPED = ("sql-history", "tui.json")
"""Files with what the user typed into Hansard; removed as a whole if they contain what is erased."""
_BACKUPS = ("record.db.layout-*.backup*", "record.db.damaged-*", "record.db.repaired*", "record.db-*.copy*")
Copy = tuple[ForgetItem, tuple[str, str] | None]
"""Its kind, and the step that removes it; None for one that is left."""


class Wanted(NamedTuple):
    """Everything of which no copy may be left."""

    sessions: Collection[str]
    names: Collection[bytes]
    """Ids by which a journal shows that it has something of them."""
    texts: Collection[bytes] = ()
    """Secrets; copies in which they are redacted may stay."""
    typed: Collection[bytes] = ()
    """Words by which it was looked for."""
    touched: Collection[str] = ()
    """The sessions that have these, for copies that cannot be searched."""


def find_copies(home: str, wanted: Wanted) -> Iterator[Copy]:
    """Copies that are to go: exports, journals, and backups of the whole store."""
    for export in exports_of(home, wanted.sessions, wanted.texts, wanted.touched):
        is_left = not export.is_ours
        item = ForgetItem(
            kind="export",
            action=LEAVE if is_left else REMOVE,
            place=export.place,
            session_id=export.session_id,
            bytes=export.size,
            reason="changed since it was exported" if is_left else "",
        )
        yield item, None if is_left else (EXPORT_STEP, export.place)
    for pattern in _BACKUPS:
        for path in sorted(glob.glob(os.path.join(glob.escape(home), pattern))):
            yield ForgetItem(kind="backup", action=REMOVE, place=path, bytes=os.path.getsize(path)), (FILE_STEP, path)
    for name in _TYPED:
        path = os.path.join(home, name)
        if mentions(path, {*wanted.names, *wanted.texts, *wanted.typed}):
            yield ForgetItem(kind="typed", action=REMOVE, place=path, bytes=os.path.getsize(path)), (FILE_STEP, path)
    yield from _journals(os.path.join(home, FOLDER), {*wanted.names, *wanted.texts})


def _journals(folder: str, names: Collection[bytes]) -> Iterator[Copy]:
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        place = os.path.join(folder, name)
        if not os.path.isdir(place):
            continue
        files = [os.path.join(place, file) for file in os.listdir(place)]
        if any(mentions(file, names) for file in files):
            size = sum(map(os.path.getsize, files))
            yield ForgetItem(kind="journal", action=REMOVE, place=place, bytes=size), (FOLDER_STEP, place)
