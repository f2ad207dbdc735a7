"""The store that commands of retention work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hansard.model.retention import Retention
from hansard.query.reader import Reader

if TYPE_CHECKING:
    from hansard.pricing.settle import Prices
    from hansard.sources.roots import Root


class StoreLocation(NamedTuple):
    """A store that planning and erasing open for themselves."""

    home: str
    roots: tuple[Root, ...]
    prices: Prices
    rules: Retention
    """Holds, and how long things are kept."""

    def open_index(self) -> Reader:
        """The index, opened anew."""
        return Reader(self.home)
