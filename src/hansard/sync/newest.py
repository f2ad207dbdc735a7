"""The part of a large history that a first sync indexes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

LARGE_BYTES = 64 << 20
"""A first sync of less than this is done in one go."""

NEWEST_BYTES = 24 << 20
"""This much is stored, indexed and priced in well under a second."""

FILE_BYTES = 1 << 16
"""The least that a file counts, however small it is."""

_Item = TypeVar("_Item")


def choose(items: Iterable[_Item], limit: int, size: Callable[[_Item], int]) -> Iterator[_Item]:
    """Choose items, given newest first, up to about `limit` bytes of work; one that is too large alone is skipped."""
    total = 0
    for item in items:
        cost = max(size(item), FILE_BYTES)
        if total + cost <= limit:
            total += cost
            yield item
        elif total > limit // 2:
            return
