"""Naming: short names of projects, handles for malformed ids, paths of moved projects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from hansard.lazy_regex import lazy_compile


def shortest_names(paths: Iterable[str]) -> dict[str, str]:
    """Each path's shortest suffix of whole parts that no other path ends in, otherwise the path itself."""
    distinct = dict.fromkeys(paths)
    counts = Counter(suffix for path in distinct for suffix in _suffixes(path))
    return {path: next((name for name in _suffixes(path) if counts[name] == 1), path) for path in distinct}


def _suffixes(path: str) -> Iterator[str]:
    parts = path.replace("\\", "/").rstrip("/").split("/")
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[-count:])


# UUIDs, and the ids that clients give to subagents: 3f2a91c0, a1b2c3d4e5f60718, acompact-9f31c2, aprompt_suggestion-77ab01,
# areview-tests-0123456789abcdef. The index names threads inside main files sidechain-3f2a91c0.
_ID = lazy_compile(
    r"(?:[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|[0-9a-f]{6,17}|sidechain-[0-9a-f]{1,16}|a(?=[a-z_-]{1,32}-[0-9a-f]+\Z)[a-z]+(?:[_-][a-z]+){0,3}-[0-9a-f]{6,16})\Z"
)
_HANDLE = lazy_compile(r"id-[0-9a-f]{16}\Z")


def shown_id(id_: str) -> str:
    """The id itself if it looks like an id or a handle, otherwise a handle: a short hash that is accepted in place of the id."""
    if not id_ or _ID.match(id_) or _HANDLE.match(id_):
        return id_
    from hashlib import sha256

    return f"id-{sha256(id_.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def is_handle(name: str) -> bool:
    """Whether a name looks like a handle. An id can look like one too; the name then refers to the id with that hash, if any."""
    return _HANDLE.match(name) is not None


def is_windows(path: str) -> bool:
    """Whether a path is a Windows path: with a drive, or a share."""
    return (path[1:2] == ":" and path[0].isalpha()) or path.startswith("\\\\")


def moved_path(path: str, old: str, new: str) -> str | None:
    """Map a path under `old` to `new`; None if it is elsewhere."""
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
    """Apply all moves to a path, the most specific first; a cycle ends where it began."""
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
