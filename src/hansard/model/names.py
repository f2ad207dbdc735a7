"""Short names that tell paths apart."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def shortest_names(paths: Iterable[str]) -> dict[str, str]:
    """Each path's shortest unique suffix: as many of its last parts as no other path ends in, else the path itself."""
    distinct = dict.fromkeys(paths)
    counts = Counter(suffix for path in distinct for suffix in _suffixes(path))
    return {path: next((name for name in _suffixes(path) if counts[name] == 1), path) for path in distinct}


def _suffixes(path: str) -> Iterator[str]:
    parts = path.replace("\\", "/").rstrip("/").split("/")
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[-count:])
