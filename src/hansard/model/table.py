"""Answers with rows: columns of a kind, and rows of plain values that stay typed until an output draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple


class Kind(StrEnum):
    """What a column contains: decides how its values are written, and on which side they are aligned."""

    TEXT = "text"
    LABEL = "label"  # text that is shown as it is, blanks included
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
    """An amount of money, and how certain it is."""

    amount: Decimal | None  # None: nothing in it has a price
    is_lower_bound: bool = False
    is_partial: bool = False  # something in it has no price


class Column(NamedTuple):
    """One column, and what to do with it in a narrow terminal."""

    title: str
    kind: Kind = Kind.TEXT
    least: int | None = None  # may be cut down to this width; None: never cut
    rank: int = 0  # above 0: may be left out, the highest first
    style: str | None = None
    right: bool = False  # text that is aligned like a number
    mark: Callable[[str], str] | None = None  # paints parts of a cell that already has its final width
    about: str = ""  # what the figures are, in a sentence
    sort: str | None = None  # the name of the order by it
    css: str = ""  # the class of its cells in HTML

    @property
    def is_right(self) -> bool:
        """Whether cells are aligned on the right."""
        return self.right or self.kind not in _TEXTS


class Link(NamedTuple):
    """A cell with a link, a longer text to show on demand, and a small addition beside it."""

    value: Any
    href: str | None = None
    title: str = ""
    more: str = ""


class Table(NamedTuple):
    """An answer with rows, which every output draws in its own way."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    totals: Sequence[Any] | None = None
    notes: Sequence[tuple[str, str]] = ()  # what to know about the figures, each with its mark
    styles: Mapping[int, str] = MappingProxyType({})  # of rows that are painted as a whole
