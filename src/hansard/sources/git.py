"""What git's own files say of a folder: which repository it is a worktree of, if any. Only `.git` itself is read, and nothing it names."""

from __future__ import annotations

import os
import stat

_LONGEST = 4096  # bytes of a `.git` file, and of a path
_LEVELS = 40
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def find_worktree(folder: str) -> tuple[str, str] | None:
    """The folder whose `.git` a folder belongs to, and the repository it is a worktree of, empty where it is a repository of its own.

    None where there is no `.git`, or nobody can tell.
    """
    # `//host/share` would make Windows log in to whatever host a transcript names.
    if not os.path.isabs(folder) or folder[:2] in ("//", "\\\\") or len(folder) > _LONGEST:
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
    """The repository whose `worktrees` folder a `.git` file leads to; a submodule's leads elsewhere."""
    try:
        descriptor = os.open(marker, _FLAGS)
        try:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            text = os.read(descriptor, _LONGEST).decode() if is_file else ""
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return None
    first = text.partition("\n")[0].rstrip("\r")
    name = first.removeprefix("gitdir:").strip()
    if name == first or not name or "\x00" in name:
        return None
    worktrees, _ = os.path.split(os.path.normpath(os.path.join(folder, name)))
    git_folder, last = os.path.split(worktrees)
    parent, name = os.path.split(git_folder)
    if last != "worktrees" or not name:
        return None
    return parent if name in (".git", ".bare") else git_folder
