"""Every export that Hansard knows of: the files it wrote, wherever they are, and removing some of them.

`exports.json` in the data directory lists single files, `export-folders.json` the folders; each folder has its own manifest.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from hansard.export.files import write_file
from hansard.export.manifest import NAME, SINGLE, Manifest, held, locked
from hansard.files import overwrite_and_remove

if TYPE_CHECKING:
    from hansard.export.manifest import Written

FOLDERS = "export-folders.json"
_WAIT = 10.0
_LARGEST = 1 << 20
_PIECE = 1 << 20
_SHORT = 8  # of an id in names of files


class KnownExport(NamedTuple):
    """A file that an export wrote."""

    place: str
    """Absolute."""
    session_id: str
    """Empty for files of several sessions: lists and tables."""
    size: int
    is_ours: bool
    """False if it was changed since: then it is left alone."""


def note_folder(home: str, folder: str) -> None:
    """Record that a folder contains an export."""
    folders = known_folders(home)
    if folder not in folders:
        write_file(os.path.join(home, FOLDERS), [json.dumps([*folders, folder]).encode()])


def known_folders(home: str) -> list[str]:
    """The folders with exports that still exist."""
    try:
        path = os.path.join(home, FOLDERS)
        with open(path, "rb") as file:
            found = json.loads(file.read(_LARGEST))
    except (OSError, ValueError):
        return []
    folders = [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
    return [folder for folder in folders if os.path.exists(os.path.join(folder, NAME))]


def every_export(home: str) -> list[str]:
    """Every file that an export wrote and that is still there."""
    places = {manifest.where(path) for manifest in _manifests(home) for path in manifest.files}
    return sorted(place for place in places if os.path.isfile(place))


def exports_of(
    home: str, sessions: Collection[str], texts: Collection[bytes] = (), touched: Collection[str] = ()
) -> list[KnownExport]:
    """The files with any of these sessions, their own and lists and tables, and those with one of some texts.

    A file that cannot be searched counts if it is of a session that was `touched`, and nothing was redacted in it.
    """
    found = []
    for manifest in _manifests(home):
        for path, written in manifest.files.items():
            if _has_session(manifest, path, written, sessions) or _has_text(manifest, path, written, texts, touched):
                place = manifest.where(path)
                size = os.path.getsize(place) if os.path.isfile(place) else 0
                found.append(KnownExport(place, written.session_id, size, manifest.is_ours(path)))
    return found


def remove_export(home: str, place: str) -> None:
    """Remove an exported file, and what its manifest says of it and of its session."""
    folder, name = os.path.split(place)
    if folder.endswith(".assets"):
        folder, name = os.path.dirname(folder), f"{os.path.basename(folder)}/{name}"
    in_folder = os.path.join(folder, NAME)
    if os.path.exists(in_folder):
        with locked(folder, in_folder, _WAIT):
            _remove(Manifest(in_folder), name)
        return
    single = os.path.join(home, SINGLE)
    with held(f"{single}.lock", single):
        _remove(Manifest(single, single=True), place, is_locked=True)


def _remove(manifest: Manifest, path: str, *, is_locked: bool = False) -> None:
    written = manifest.files.get(path)
    if written is None:
        return
    if manifest.is_ours(path):
        overwrite_and_remove(manifest.where(path))
        with contextlib.suppress(OSError):  # a folder of pictures that is empty then
            if "/" in path:
                os.rmdir(os.path.dirname(manifest.where(path)))
    del manifest.files[path]
    # Names of files are made from titles.
    if not any(other.session_id == written.session_id for other in manifest.files.values()):
        manifest.names.pop(written.session_id, None)
    manifest.save_held() if is_locked else manifest.save()


def _manifests(home: str) -> Iterator[Manifest]:
    yield Manifest(os.path.join(home, SINGLE), single=True)
    for folder in known_folders(home):
        yield Manifest(os.path.join(folder, NAME))


def _has_session(manifest: Manifest, path: str, written: Written, sessions: Collection[str]) -> bool:
    """Whether a file may have one of these; texts of several sessions name them, at least by the beginnings of their ids."""
    if written.session_id or not sessions:
        return written.session_id in sessions
    if written.format == "parquet":
        return True
    return mentions(manifest.where(path), {session_id[:_SHORT].encode() for session_id in sessions if session_id})


def _has_text(
    manifest: Manifest, path: str, written: Written, texts: Collection[bytes], touched: Collection[str]
) -> bool:
    if written.format == "parquet" and texts:
        return not written.redacted and (not written.session_id or written.session_id in touched)
    return mentions(manifest.where(path), texts)


def mentions(path: str, texts: Collection[bytes]) -> bool:
    """Whether a file has one of some texts; one that cannot be read has none."""
    longest = max(map(len, texts), default=0)
    if not longest:
        return False
    rest = b""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        while piece := file.read(_PIECE):
            data = rest + piece
            if any(text in data for text in texts):
                return True
            rest = data[-longest:]
    return False
