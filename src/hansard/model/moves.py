"""Projects that were moved: where a path of before is now, also when it comes from another machine."""

from __future__ import annotations

from collections.abc import Mapping


def is_windows(path: str) -> bool:
    """Whether a path is written as Windows does: with a drive, or as a share."""
    return (path[1:2] == ":" and path[0].isalpha()) or path.startswith("\\\\")


def moved_path(path: str, old: str, new: str) -> str | None:
    """Where a path is since `old` has become `new`; None for one that lies elsewhere."""
    here = old.rstrip("/\\") or old
    head, rest = path[: len(here)], path[len(here) :]
    if head != here and not (is_windows(old) and head.casefold() == here.casefold()):
        return None
    if rest and rest[0] not in ("/\\" if is_windows(old) else "/") and not here.endswith("/"):
        return None
    if is_windows(new) != is_windows(old):
        rest = rest.replace("/", "\\") if is_windows(new) else rest.replace("\\", "/")
    return (new.rstrip("/\\") + rest) if rest.strip("/\\") else new


def follow_moves(path: str, moves: Mapping[str, str]) -> str:
    """Where a path is after all moves, the most specific first; a circle ends where it began."""
    seen = {path}
    while moves:
        for old in sorted(moves, key=len, reverse=True):
            found = moved_path(path, old, moves[old])
            if found is not None and found not in seen:
                seen.add(found)
                path = found
                break
        else:
            break
    return path
