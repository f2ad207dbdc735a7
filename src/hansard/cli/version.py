"""What `hansard --version` says: version, revision of the source, and whether the native module is used."""

from __future__ import annotations

import os

from hansard import __version__

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REVISION = os.path.join(_PACKAGE, "revision.txt")
"""Written when a wheel or sdist is built; a checkout is asked itself."""


def version_line() -> str:
    """The version, for people and bug reports."""
    from hansard.index.native import load_native

    module = "native module" if load_native() is not None else "no native module"
    return f"hansard {__version__} ({find_revision() or 'unknown revision'}, {module})"


def find_revision() -> str:
    """The abbreviated commit that this was built from or is checked out at; empty if unknown."""
    built = _read(REVISION)
    return built or _read_head(os.path.join(os.path.dirname(os.path.dirname(_PACKAGE)), ".git"))


def _read_head(git: str) -> str:
    """The commit that a checkout is at; starting git would take longer than everything else."""
    if os.path.isfile(git):  # of a worktree
        git = os.path.join(os.path.dirname(git), _read(git).removeprefix("gitdir: "))
    head = _read(os.path.join(git, "HEAD"))
    if head.startswith("ref: "):
        name = head.removeprefix("ref: ")
        common = os.path.join(git, _read(os.path.join(git, "commondir")))
        packed = _read(os.path.join(common, "packed-refs")).splitlines()
        head = _read(os.path.join(common, name)) or next((line for line in packed if line.endswith(f" {name}")), "")
    return head[:12]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""
