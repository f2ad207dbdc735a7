"""Answers with rows: typed columns, and rows of plain values that stay typed until an output renders them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from msgspec import Struct


class Kind(StrEnum):
    """What a column contains: determines how its values are formatted and aligned."""

    TEXT = "text"
    LABEL = "label"  # text shown as it is, spaces included
    TITLE = "title"  # of a session
    ID = "id"  # of a session
    PROJECT = "project"  # its path
    PATH = "path"  # of a file or folder; cut at its beginning
    MODEL = "model"
    TOOL = "tool"
    COUNT = "count"
    BYTES = "bytes"
    ROUNDED = "rounded"  # a count abbreviated to its first digits
    PERCENT = "percent"
    SHARE = "share"  # a part of the whole, from 0 to 1
    MONEY = "money"
    COST = "cost"  # a `Cost`
    TIME = "time"
    DURATION = "duration"  # milliseconds
    LINES = "lines"  # a pair: added and removed
    ROUNDED_LINES = "rounded lines"


_TEXTS = frozenset(
    {Kind.TEXT, Kind.LABEL, Kind.TITLE, Kind.ID, Kind.PROJECT, Kind.PATH, Kind.MODEL, Kind.TOOL, Kind.SHARE, Kind.TIME}
)


class Cost(Struct, frozen=True):
    """An amount of money, and how certain it is."""

    amount: Decimal | None  # None: nothing has a price
    is_lower_bound: bool = False
    is_partial: bool = False  # part of it has no price


class Column(Struct, frozen=True):
    """One column, and how it adapts to a narrow terminal."""

    title: str
    kind: Kind = Kind.TEXT
    least: int | None = None  # may be cut down to this width; None: never cut
    rank: int = 0  # above 0: may be omitted, highest first
    width: int | None = None  # in lists that are drawn row by row; None: what the other columns leave
    style: str | None = None
    right: bool = False  # text aligned like a number
    mark: Callable[[str], str] | None = None  # highlights parts of a cell that already has its final width
    about: str = ""  # what the figures are, in a sentence
    sort: str | None = None  # the name of its sort order
    css: str = ""  # the CSS class of its cells in HTML

    @property
    def is_right(self) -> bool:
        return self.right or self.kind not in _TEXTS


class Link(Struct, frozen=True):
    """A cell with a link, a longer text to show on demand, a small addition beside it, and the name of an icon before it."""

    value: Any
    href: str | None = None
    title: str = ""
    more: str = ""
    css: str = ""  # the CSS class of this cell in HTML
    icon: str = ""


class Table(Struct, frozen=True):
    """An answer with rows, which every output renders in its own way."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    totals: Sequence[Any] | None = None
    notes: Sequence[tuple[str, str]] = ()  # notes about the figures, each with its mark
    styles: Mapping[int, str] = MappingProxyType({})  # of rows with a style of their own
    headings: Mapping[int, Any] = MappingProxyType({})  # of groups, by the number of their first row
