"""What a list is narrowed to, and the links that narrow or order it otherwise: each keeps what the others chose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hansard.web.period import RANGES, Period
from hansard.web.urls import Params, place


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several things to choose."""

    name: str
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class ListFilters:
    """The page, and all that was asked of it; what is chosen by default is None."""

    path: str
    span: Period
    asked: Mapping[str, Params] = field(default_factory=dict)

    def address(self, **changed: Params) -> str:
        """The same page with some of it asked otherwise; it begins again at the first row."""
        times: dict[str, Params] = {"range": None if self.span.name in (None, "all") else self.span.name}
        if self.span.name is None:
            times.update(since=self.span.since_text, until=self.span.until_text)
        return place(self.path, **{**self.asked, **times, "cursor": None, **changed})

    @property
    def hidden(self) -> Iterator[tuple[str, str]]:
        """What a form must carry on beside its own fields."""
        times = {"range": self.span.name if self.span.name != "all" else None}
        if self.span.name is None:
            times.update(since=self.span.since_text, until=self.span.until_text)
        for name, value in {**self.asked, **times}.items():
            if name not in ("q", "project", "cursor") and value:
                yield name, str(value)

    @property
    def ranges(self) -> list[Choice]:
        """The stretches of time that can be chosen."""
        return [
            Choice(
                words,
                self.address(range=None if name == "all" else name, since=None, until=None),
                name == self.span.name,
            )
            for name, words in RANGES.items()
            if name != "month"
        ]

    @property
    def is_narrow(self) -> bool:
        """Whether something was left out on purpose."""
        return bool(self.asked.get("q") or self.asked.get("project") or self.span.name != "all")


@dataclass(frozen=True, slots=True)
class Heading:
    """The head of a column, which orders by it; a second time the other way round."""

    name: str
    href: str
    order: str  # ascending, descending; empty: the rows are in another order
    kind: str  # number, text


def headings(
    narrowed: ListFilters, columns: Mapping[str, tuple[str, str]], sort: str, *, ascending: bool, default: str
) -> dict[str, Heading]:
    """The heads of columns, each by the word that orders by it, with its name and kind; texts begin with A, numbers with the most."""
    found = {}
    for key, (name, kind) in columns.items():
        up = not ascending if key == sort else kind == "text"
        usual = kind == "text"
        href = narrowed.address(
            sort=None if key == default and up == usual else key, order=None if up == usual else "asc" if up else "desc"
        )
        order = ("ascending" if ascending else "descending") if key == sort else ""
        found[key] = Heading(name, href, order, kind)
    return found
