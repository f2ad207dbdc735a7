"""Answers with rows: columns of a kind, and rows of plain values that stay typed until an output draws them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a column holds: an output decides by it how values are written, and on which side they are set."""

    TEXT = "text"
    LABEL = "label"  # text that is ready to be shown, its blanks included
    TITLE = "title"  # of a session
    ID = "id"  # of a session
    PROJECT = "project"  # its path
    MODEL = "model"
    TOOL = "tool"
    COUNT = "count"
    ROUNDED = "rounded"  # a count whose first digits are enough
    PERCENT = "percent"
    MONEY = "money"
    COST = "cost"  # a `Cost`
    TIME = "time"
    DURATION = "duration"  # milliseconds
    LINES = "lines"  # a pair: added and removed
    ROUNDED_LINES = "rounded lines"


_TEXTS = frozenset({Kind.TEXT, Kind.LABEL, Kind.TITLE, Kind.ID, Kind.PROJECT, Kind.MODEL, Kind.TOOL, Kind.TIME})


class Cost(NamedTuple):
    """An amount of money, and what is not certain about it."""

    amount: Decimal | None  # None: nothing in it has a price
    is_lower_bound: bool = False
    is_partial: bool = False  # something in it has no price


class Column(NamedTuple):
    """One column, and what becomes of it where there is no room."""

    title: str
    kind: Kind = Kind.TEXT
    least: int | None = None  # may be cut down to this; None: never cut
    rank: int = 0  # above 0: left out where there is no room, the highest first
    style: str | None = None
    right: bool = False  # text that is set like a number
    mark: Callable[[str], str] | None = None  # paints parts of a cell that is as wide as it will be
    about: str = ""  # what the figures are, in a sentence
    sort: str | None = None  # the name of the order by it

    @property
    def is_right(self) -> bool:
        """Whether cells are set on the right."""
        return self.right or self.kind not in _TEXTS
