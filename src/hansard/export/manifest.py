"""What former exports wrote into a folder: the name of each session, and each file with what it was made from.

It stands in the folder itself (`.hansard-export.json`), or, for single files, in Hansard's own home. Before files are written it
says which ones will be, so that after a crash the next export knows them as its own.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from typing import Any

from hansard.errors import UsageError
from hansard.export.files import digest_of, write_file
from hansard.export.names import is_name
from hansard.sources.names import printable

NAME = ".hansard-export.json"
SINGLE = "exports.json"
_VERSION = 1
_LARGEST = 1 << 28


@dataclass(frozen=True, slots=True)
class Written:
    """A file as an export left it."""

    session_id: str
    format: str
    fingerprint: str  # what it was made from; empty while it is being written
    size: int
    mtime_ns: int
    sha256: str


class Manifest:
    """The files that exports wrote to one place."""

    def __init__(self, path: str, *, single: bool = False) -> None:
        self.path = path
        self.base = "" if single else os.path.dirname(path)
        self.names: dict[str, str] = {}
        self.files: dict[str, Written] = {}  # by path: in the folder with /, for single files absolute
        self._saved = b""
        self._load()

    def where(self, path: str) -> str:
        """Where a file of the manifest stands."""
        return os.path.join(self.base, *path.split("/")) if self.base else path

    def is_ours(self, path: str) -> bool:
        """Whether what stands there, if anything, is what an export wrote."""
        place = self.where(path)
        if not os.path.lexists(place):
            return True
        known = self.files.get(path)
        if known is None or os.path.islink(place) or not os.path.isfile(place):
            return False
        return not known.fingerprint or self._as_written(place, known)

    def is_current(self, path: str, fingerprint: str) -> bool:
        """Whether a file is there and was made from just that."""
        known = self.files.get(path)
        return known is not None and known.fingerprint == fingerprint and os.path.isfile(self.where(path))

    def begin(self, path: str, session_id: str, form: str) -> None:
        """Note that a file is about to be written."""
        known = self.files.get(path)
        nothing = Written(session_id, form, "", 0, 0, "")
        self.files[path] = replace(known, fingerprint="") if known is not None else nothing

    def save(self) -> bool:
        """Write it, if it says anything new."""
        names = {session_id: self.names[session_id] for session_id in sorted(self.names)}
        files = {path: asdict(self.files[path]) for path in sorted(self.files)}
        value = {"made_by": "hansard", "version": _VERSION, "names": names, "files": files}
        text = json.dumps(value, indent=0, separators=(",", ":")).encode() + b"\n"
        if text == self._saved:
            return False
        write_file(self.path, [text])
        self._saved = text
        return True

    def _as_written(self, place: str, known: Written) -> bool:
        try:
            status = os.stat(place)
            if status.st_size != known.size:
                return False
            # A copy of the folder has other times and the same files.
            return status.st_mtime_ns == known.mtime_ns or digest_of(place) == known.sha256
        except OSError:
            return False

    def _load(self) -> None:
        try:
            if os.path.getsize(self.path) > _LARGEST:
                return
            with open(self.path, "rb") as file:
                self._saved = file.read()
            value = json.loads(self._saved)
        except (OSError, ValueError, RecursionError):
            return  # unreadable: then nothing here is known as ours, and nothing is overwritten
        version = value.get("version") if isinstance(value, dict) else None
        if isinstance(version, int) and version > _VERSION:
            raise UsageError(f"{printable(self.path)} was written by a newer Hansard. Export to another place")
        if version != _VERSION:
            return
        for session_id, name in _pairs(value.get("names")):
            if isinstance(name, str) and is_name(name):
                self.names[session_id] = name
        for path, facts in _pairs(value.get("files")):
            if isinstance(facts, dict) and (not self.base or _is_inside(path)):
                kinds = (str, str, str, int, int, str)
                values: Any = [facts.get(name) for name in Written.__slots__]
                if all(isinstance(item, kind) for item, kind in zip(values, kinds, strict=True)):
                    self.files[path] = Written(*values)


def _pairs(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _is_inside(path: str) -> bool:
    """Whether a path of a manifest stays in its folder: a file there, or in a folder of assets."""
    parts = path.split("/")
    plain = all(part and not part.startswith(".") and not set(part) & set('\\:\0<>|?*"') for part in parts)
    return plain and (len(parts) == 1 or (len(parts) == 2 and parts[0].endswith(".assets")))
