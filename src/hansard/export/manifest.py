"""What former exports wrote into a folder: the name of each session, and each file with what it was made from.

It is in the folder itself (`.hansard-export.json`), or, for single files, in Hansard's own home. Before files are written it
says which ones will be, so that after a crash the next export knows them as its own. Who writes into a folder holds its lock;
the list of single files is shared, and each export changes only what it knows better.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import apsw

from hansard.errors import StoreBusy, UsageError
from hansard.export.files import digest_of, make_folder, write_file
from hansard.export.names import is_name
from hansard.files import FileLock
from hansard.sources.names import printable

NAME = ".hansard-export.json"
SINGLE = "exports.json"
_VERSION = 1
_LARGEST = 1 << 28
LOCK = ".hansard-export.lock"
_LOCK_SECONDS = 10.0  # seconds that the list of single files may be held by others


@dataclass(frozen=True, slots=True)
class Written:
    """A file as an export left it."""

    session_id: str
    format: str
    fingerprint: str  # what it was made from; empty while it is being written
    size: int
    mtime_ns: int
    sha256: str
    redacted: int = 0  # secrets that were replaced in it


class Manifest:
    """The files that exports wrote to one place."""

    def __init__(self, path: str, *, single: bool = False) -> None:
        self.path = path
        self.base = "" if single else os.path.dirname(path)
        self.names: dict[str, str] = {}
        self.files: dict[str, Written] = {}  # by path: in the folder with /, for single files absolute
        self.reload()

    def reload(self) -> None:
        """Read it again, as another export may have left it."""
        self.names, self.files, self._saved = self._read()
        self._known = dict(self.files)

    def where(self, path: str) -> str:
        return os.path.join(self.base, *path.split("/")) if self.base else path

    def is_ours(self, path: str) -> bool:
        """Whether a file there, if any, is as an export wrote it."""
        place = self.where(path)
        if not os.path.lexists(place):
            return True
        known = self.files.get(path)
        if known is None or os.path.islink(place) or not os.path.isfile(place):
            return False
        return not known.fingerprint or self._as_written(path, known)

    def is_current(self, path: str, fingerprint: str) -> bool:
        """Whether a file exists and has this fingerprint."""
        known = self.files.get(path)
        return known is not None and known.fingerprint == fingerprint and os.path.isfile(self.where(path))

    def begin(self, path: str, session_id: str, form: str) -> None:
        """Note that a file is about to be written."""
        known = self.files.get(path)
        nothing = Written(session_id, form, "", 0, 0, "")
        self.files[path] = replace(known, fingerprint="") if known is not None else nothing

    @property
    def is_incomplete(self) -> bool:
        """Whether an export was killed while writing."""
        return any(not written.fingerprint for written in self.files.values())

    def save(self) -> bool:
        if self.base:
            return self._write()
        if self.files == self._known:
            return False
        with held(self.path + ".lock", self.path):
            return self.save_held()

    def save_held(self) -> bool:
        """Write the list of single files, whose lock the caller holds."""
        self._merge()
        return self._write()

    def _merge(self) -> None:
        """Merge what other exports of single files wrote meanwhile."""
        _, others, self._saved = self._read()
        for path in self.files.keys() | self._known.keys():
            mine, theirs = self.files.get(path), others.get(path)
            if mine == self._known.get(path):
                continue
            if mine is None:
                others.pop(path, None)
            elif theirs is None or self._as_written(path, mine) or not self._as_written(path, theirs):
                others[path] = mine
        self.files = others
        self._known = dict(others)

    def _write(self) -> bool:
        names = {session_id: self.names[session_id] for session_id in sorted(self.names)}
        files = {path: asdict(self.files[path]) for path in sorted(self.files)}
        value = {"made_by": "hansard", "version": _VERSION, "names": names, "files": files}
        text = json.dumps(value, indent=0, separators=(",", ":")).encode() + b"\n"
        if text == self._saved:
            return False
        write_file(self.path, [text])
        self._saved = text
        return True

    def _as_written(self, path: str, known: Written) -> bool:
        place = self.where(path)
        try:
            status = os.stat(place)
            if status.st_size != known.size:
                return False
            # A copy of the folder has other times and the same files.
            return status.st_mtime_ns == known.mtime_ns or digest_of(place) == known.sha256
        except OSError:
            return False

    def _read(self) -> tuple[dict[str, str], dict[str, Written], bytes]:
        """Names, files, and the text they were read from."""
        files: dict[str, Written] = {}
        nothing: tuple[dict[str, str], dict[str, Written], bytes] = {}, files, b""
        try:
            if os.path.getsize(self.path) > _LARGEST:
                return nothing
            with open(self.path, "rb") as file:
                text = file.read()
            value = json.loads(text)
        except (OSError, ValueError, RecursionError):
            return nothing  # unreadable: then nothing here is known as ours, and nothing is overwritten
        version = value.get("version") if isinstance(value, dict) else None
        if isinstance(version, int) and version > _VERSION:
            raise UsageError(f"{printable(self.path)} was written by a newer Hansard. Export to another place")
        if version != _VERSION:
            return nothing
        names = {
            session_id: name
            for session_id, name in _pairs(value.get("names"))
            if isinstance(name, str) and is_name(name)
        }
        for path, facts in _pairs(value.get("files")):
            if isinstance(facts, dict) and (not self.base or _is_inside(path)):
                kinds = (str, str, str, int, int, str, int)
                # Older versions did not count what they redacted.
                values: Any = [facts.get(name, 0 if name == "redacted" else None) for name in Written.__slots__]
                if all(isinstance(item, kind) for item, kind in zip(values, kinds, strict=True)):
                    files[path] = Written(*values)
        return names, files, text


def _pairs(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _is_inside(path: str) -> bool:
    """Whether a path of a manifest stays in its folder: a file there, or in a folder of assets."""
    parts = path.split("/")
    plain = all(part and not part.startswith(".") and not set(part) & set('\\:\0<>|?*"') for part in parts)
    return plain and (len(parts) == 1 or (len(parts) == 2 and parts[0].endswith(".assets")))


# -- one export to a folder at a time: two would each write a manifest without the other's files


@contextlib.contextmanager
def locked(folder: str, manifest: str, wait_seconds: float) -> Iterator[None]:
    """Hold a folder, which is made if it has to be; where no manifest came into it, it is left as it was found."""
    made = _missing(folder)
    make_folder(folder)
    path = os.path.join(folder, LOCK)
    try:
        with held(path, folder, wait_seconds):
            try:
                yield
            finally:
                if not os.path.lexists(manifest):
                    _remove(path)
    finally:
        with contextlib.suppress(OSError):
            for place in made:
                os.rmdir(place)


@contextlib.contextmanager
def held(path: str, what: str, wait_seconds: float = _LOCK_SECONDS) -> Iterator[None]:
    """Hold a lock; raises StoreBusy when another process holds it and does not let go in time."""
    with contextlib.ExitStack() as stack:
        try:
            is_held = stack.enter_context(FileLock(path, wait_seconds))
        except apsw.Error:
            is_held = True  # no lock is possible here; if writing fails too, that is reported then
        if not is_held:
            raise StoreBusy(
                f"another export is writing to {printable(what)} and did not finish within {wait_seconds:g} s."
                " Wait for it to end, then run this again"
            )
        yield


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        if os.path.isfile(path) and not os.path.islink(path) and not os.path.getsize(path):
            os.unlink(path)


def _missing(folder: str) -> list[str]:
    """The folders that have to be made, the innermost first."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing
