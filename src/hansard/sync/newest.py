"""Which part of a history comes first when there is much to do and nothing to answer from yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

LARGE_BYTES = 64 << 20
"""A first sync of less than this takes no time worth dividing."""

NEWEST_BYTES = 24 << 20
"""So much is kept, indexed and priced in well under a second."""

FILE_BYTES = 1 << 16
"""What the work on a file amounts to at least, however small it is."""

_Item = TypeVar("_Item")


def choose(items: Iterable[_Item], limit: int, size: Callable[[_Item], int]) -> Iterator[_Item]:
    """Of items, newest first, those that take about as long as `limit` bytes; one that is too large alone is passed over."""
    total = 0
    for item in items:
        cost = max(size(item), FILE_BYTES)
        if total + cost <= limit:
            total += cost
            yield item
        elif total > limit // 2:
            return
