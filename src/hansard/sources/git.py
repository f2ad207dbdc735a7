"""What git's own files say about a folder: which repository it is a worktree of, if any.

A `.git` file alone proves nothing: a forged one could claim any repository, and with it that repository's sessions. As in git, the
repository must name the worktree as well, in `worktrees/NAME/gitdir`.
"""

from __future__ import annotations

import os
import stat

from hansard.files import READ_FLAGS

_LONGEST = 4096  # bytes of a `.git` file, and of a path
_LEVELS = 40


def find_worktree(folder: str) -> tuple[str, str] | None:
    """The folder whose `.git` a folder belongs to, and the repository it is a worktree of, empty where it is a repository of its own.

    None if there is no `.git`, or the repository does not confirm the worktree.
    """
    if not _is_local(folder):
        return None
    folder = folder.rstrip("/\\") or folder
    if os.path.normpath(folder) != folder:
        return None
    for _ in range(_LEVELS):
        marker = os.path.join(folder, ".git")
        try:
            found = os.lstat(marker)
        except (FileNotFoundError, NotADirectoryError):
            folder, former = os.path.dirname(folder), folder
            if folder == former:
                return None
            continue
        except (OSError, ValueError):
            return None
        if stat.S_ISDIR(found.st_mode):
            return folder, ""
        repository = _repository(folder, marker) if stat.S_ISREG(found.st_mode) else None
        return (folder, repository) if repository else None
    return None


def _repository(folder: str, marker: str) -> str | None:
    """The repository whose `worktrees` folder a `.git` file names, if that names the file in turn; a submodule's does not."""
    text = _read(marker)
    first = text.partition("\n")[0].rstrip("\r")
    name = first.removeprefix("gitdir:").strip()
    if name == first or not name or "\x00" in name:
        return None
    administrative = os.path.normpath(os.path.join(folder, name))
    worktrees, _ = os.path.split(administrative)
    git_folder, last = os.path.split(worktrees)
    parent, name = os.path.split(git_folder)
    if last != "worktrees" or not name or not _leads_back(administrative, marker):
        return None
    return parent if name in (".git", ".bare") else git_folder


def _leads_back(administrative: str, marker: str) -> bool:
    """Whether a repository's folder for a worktree names this `.git` file, absolutely or relative to itself."""
    if not _is_local(administrative):
        return False
    back = _read(os.path.join(administrative, "gitdir")).rstrip("\r\n")
    if not back or "\x00" in back:
        return False
    back = os.path.normpath(os.path.join(administrative, back))
    try:
        return _is_local(back) and os.path.realpath(back) == os.path.realpath(marker)
    except (OSError, ValueError):
        return False


def _is_local(path: str) -> bool:
    """Whether a path is absolute and not a network share: opening one would make Windows log in to that host."""
    return os.path.isabs(path) and path[:2] not in ("//", "\\\\") and len(path) <= _LONGEST


def _read(path: str) -> str:
    """The beginning of a small regular file; empty if it cannot be read."""
    try:
        descriptor = os.open(path, READ_FLAGS)
        try:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return os.read(descriptor, _LONGEST).decode() if is_file else ""
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return ""
