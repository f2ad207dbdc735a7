"""What was measured, beside its budget, as one table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_HEADINGS = ("what", "figure", "budget", "", "")
_DIGITS = {"s": 2, "ms": 1, "x": 2, "%": 1, "MB": 0, "MB/s": 0, "% of a core": 3, "blocks": 0, "rows": 0}


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement of a data set: the median of what the runs gave."""

    what: str
    values: tuple[float, ...]
    unit: str  # s, ms, x, %, MB (of 10^6 bytes), MB/s, % of a core, blocks, rows
    limit: float | None = None
    at_least: bool = False  # the limit is a floor and not a ceiling
    beside: tuple[tuple[str, float], ...] = ()  # further values of the same unit, told without a budget: p95, max

    @property
    def value(self) -> float:
        return statistics.median(self.values)

    @property
    def ok(self) -> bool | None:
        if self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def mark(self) -> str:
        return {None: "", True: "ok", False: "UNDER" if self.at_least else "OVER"}[self.ok]

    @property
    def shown(self) -> str:
        return _shown(self.value, self.unit)

    @property
    def told_beside(self) -> str:
        return ", ".join(f"{name} {_shown(value, self.unit)}" for name, value in self.beside)

    @property
    def budget(self) -> str:
        if self.limit is None:
            return ""
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}{'' if self.unit in 'x%' else ' '}{self.unit}"

    def as_json(self) -> dict[str, object]:
        return {
            "what": self.what,
            "value": self.value,
            "values": list(self.values),
            "unit": self.unit,
            "budget": self.budget or None,
            "ok": self.ok,
            "beside": dict(self.beside),
        }


@dataclass(frozen=True, slots=True)
class Section:
    """The figures of one data set, and words on what could not be measured."""

    title: str
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        return {
            "title": self.title,
            "figures": [figure.as_json() for figure in self.figures],
            "notes": list(self.notes),
        }


def _shown(value: float, unit: str) -> str:
    return f"{value:,.{_DIGITS[unit]}f}{'' if unit in 'x%' else ' '}{unit}"


def format_table(sections: Sequence[Section]) -> str:
    """Lay the figures of all data sets out under one heading."""
    body = [[(f.what, f.shown, f.budget, f.mark, f.told_beside) for f in section.figures] for section in sections]
    rows = [_HEADINGS, *(row for group in body for row in group)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]

    def line(row: Sequence[str]) -> str:
        what, figure, budget, mark, beside = (
            text.rjust(width) if column == 1 else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return f"  {what}  {figure}  {budget}  {mark}  {beside}".rstrip()

    rule = "─" * (sum(widths) + 10)
    lines = [line(_HEADINGS)]
    for section, group in zip(sections, body, strict=True):
        lines += [rule, section.title, *map(line, group), *(f"  ({note})" for note in section.notes)]
    return "\n".join([*lines, rule])
