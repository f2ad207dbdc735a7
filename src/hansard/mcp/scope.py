"""Which sessions may be shown: those of the client's repository, or all of them on request."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from hansard.sources.git import find_worktree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def repository_of(folder: str) -> str:
    """The repository that a folder belongs to, of a worktree the one that it was made from; the folder itself where there is none."""
    folder = os.path.realpath(folder)
    found = find_worktree(folder)
    return (found[1] or found[0]) if found is not None else folder


def start_folder(environ: Mapping[str, str]) -> str:
    """Where the client works: what it says, or where it started this process."""
    return environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()


def folder_of_uri(uri: str) -> str | None:
    """The folder that a root of the client names; None unless it is a file URI of this machine."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # malformed brackets in the host
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    if os.name == "nt":
        path = path.removeprefix("/")
    try:
        return path if os.path.isabs(path) and os.path.realpath(path) else None
    except (OSError, ValueError):  # a NUL character, half a surrogate pair
        return None


class Repository:
    """The folders of the client's repository: that of the roots it names, or else of where it works."""

    def __init__(self, folder: str) -> None:
        self._start = folder
        self._roots: tuple[str, ...] = ()

    def use_roots(self, uris: Iterable[str]) -> None:
        """Take the client's word for where it works."""
        self._roots = tuple(folder for uri in uris if (folder := folder_of_uri(uri)))

    @property
    def working_folder(self) -> str:
        """Where the client works, which may be a worktree or a folder of its repository."""
        return os.path.realpath(self._roots[0] if self._roots else self._start)

    @property
    def folder(self) -> str:
        """The repository."""
        return repository_of(self.working_folder)

    @property
    def folders(self) -> tuple[str, ...]:
        """The repository, and the worktree of it that the client works in."""
        found = find_worktree(self.working_folder)
        return (self.folder, found[0]) if found is not None else (self.folder, self.working_folder)


def is_inside(project: str, folder: str) -> bool:
    """Whether a project is a folder or lies below it."""
    folder = folder.rstrip("/\\") or folder
    return project == folder or project.startswith((folder + "/", folder + "\\"))
