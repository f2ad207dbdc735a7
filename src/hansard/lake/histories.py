"""Where `hansard lake build` reads raw histories: a folder or an object store with one folder for each machine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import blake2b

from msgspec import Struct

from hansard.clients import likely_clients
from hansard.clients.roots import default_root_paths, open_roots
from hansard.errors import NotFound, SourceUnreadable, UsageError
from hansard.lake.storage import Bucket, open_storage
from hansard.sources.discover import Found, discover
from hansard.sources.roots import Root


class History(Struct, frozen=True):
    """The raw history of a machine, on the disk of the process that reads it."""

    machine: str
    roots: tuple[Root, ...]
    folder: str
    shown: str  # what texts name instead of the folder

    def walk(self) -> tuple[list[tuple[Root, Found]], list[str]]:
        """Its files, and what could not be read."""
        files: list[tuple[Root, Found]] = []
        unreadable = []
        for root in self.roots:
            found, missing, _ = discover(root)
            files += [(root, file) for file in found if root.only is None or file.path in root.only]
            unreadable += [f"{item.path}: {item.reason}" for item in missing]
        return files, unreadable

    def named(self, root: Root) -> str:
        """A root's path in the history: the same wherever it is read."""
        return os.path.relpath(root.path, self.folder).replace(os.sep, "/")


def stamp(files: Iterable[tuple[str, str, int, int]], more: Iterable[object] = ()) -> str:
    """A fingerprint of files, by their roots, paths, sizes and times."""
    digest = blake2b(repr(tuple(more)).encode(), digest_size=16)
    for file in sorted(files):
        digest.update(repr(file).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class Histories:
    """The machines below a place; with `only`, the place itself is the history of the machine of that name."""

    def __init__(self, source: str, only: str | None = None) -> None:
        if not source.strip():
            raise UsageError("a build needs a source: a folder, or the URL of an object store")
        self.only = only
        self._storage = open_storage(source)
        self.shown = self._storage.shown

    @property
    def is_remote(self) -> bool:
        """Whether its files are copied before they are read."""
        return isinstance(self._storage, Bucket)

    def machines(self) -> list[str]:
        """The names of the machines."""
        if self.only is not None:
            return [self.only]
        names = self._storage.folders() if isinstance(self._storage, Bucket) else _folders(self.shown)
        names = sorted(name for name in names if not name.startswith("."))
        if not names:
            raise NotFound(
                f"{self.shown}: no folder of a machine is in it. It needs one for each, such as laptop/.claude; for the history"
                " of one machine give its name with --machine"
            )
        return names

    def survey(self, machine: str) -> tuple[int, int, str]:
        """How many files and bytes a machine has, and their fingerprint; nothing is copied."""
        if isinstance(self._storage, Bucket):
            listed = [
                ("", one.path, one.size, _nanoseconds(one.modified))
                for one in self._storage.files(self._below(machine))
            ]
        else:
            history = self.open(machine, "")
            listed = [(history.named(root), file.path, file.size, file.mtime_ns) for root, file in history.walk()[0]]
        return len(listed), sum(size for _, _, size, _ in listed), stamp(listed)

    def open(self, machine: str, scratch: str) -> History:
        """A machine's history; one of an object store is copied to `scratch`."""
        shown = self.shown if self.only is not None else f"{self.shown}/{machine}"
        folder = shown
        if isinstance(self._storage, Bucket):
            folder = os.path.realpath(self._copy(self._storage, machine, scratch))
        elif not os.path.isdir(folder):
            raise NotFound(f"{folder}: no such folder")
        return History(machine, tuple(open_roots(find_roots(folder))), os.path.realpath(folder), shown)

    def _below(self, machine: str) -> str:
        return "" if self.only is not None else machine

    def _copy(self, storage: Bucket, machine: str, scratch: str) -> str:
        folder = os.path.join(scratch, *filter(None, [self._below(machine)]))
        os.makedirs(folder, exist_ok=True)
        for one in storage.files(self._below(machine)):
            parts = one.path.split("/")
            if any(part in ("", ".", "..") or "\\" in part for part in parts):
                raise SourceUnreadable(f"{storage.shown}/{one.path}: an object of this name cannot be a file")
            place = storage.fetch(one.path, scratch)
            moment = _nanoseconds(one.modified)
            os.utime(place, ns=(moment, moment))
        return folder


def find_roots(folder: str) -> list[str]:
    """The roots in a folder: itself, folders in it, and what a home directory has where clients put it."""
    if _is_root(folder):
        return [folder]
    inner = [path for name in _folders(folder) if _is_root(path := os.path.join(folder, name))]
    found = list(dict.fromkeys([*default_root_paths({}, folder), *inner]))
    if found:
        return found
    try:
        open_roots([folder])
    except UsageError:
        return []
    return [folder]


def _is_root(folder: str) -> bool:
    """Whether a folder looks like a client's own: every client but Claude Code is likely only by its files."""
    return os.path.isdir(os.path.join(folder, "projects")) or len(likely_clients(folder)) > 1


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except FileNotFoundError:
        raise NotFound(f"{folder}: no such folder") from None
    except OSError as error:
        raise SourceUnreadable(f"{folder}: cannot be read ({error.strerror or error})") from error


def _nanoseconds(moment: datetime) -> int:
    return int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000) * 1_000_000
