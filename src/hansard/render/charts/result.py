"""The answer to a SQL query as a chart in a file or a page: bars over time, or bars by name.

The first column names the bars and the last one with numbers gives their length. A text column between the two splits bars over time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from hansard.errors import UsageError
from hansard.lazy_regex import lazy_compile
from hansard.render.charts.document import NamedBar, bars_by_name, bars_over_time, document
from hansard.render.charts.svg import Column, Part, per_cent, stacked
from hansard.render.charts.usage import LegendEntry, legend
from hansard.render.format import many, short
from hansard.render.html.escaping import escaped
from hansard.render.text import fit, fit_path, one_line

if TYPE_CHECKING:
    from hansard.model.sql import Row, SqlColumn

_NUMBERS = frozenset({"integer", "real", "decimal"})
_SERIES = 8  # with colours of their own
_NAMES = 40  # bars by name
_FIGURES = 6  # columns of an answer that is worth a chart beside its table
_BARS = 400  # bars over time
_TIME = lazy_compile(r"\d{4}-(\d\d|W\d\d)(-\d\d)?([T ][\d:.]+Z?)?|\d\d")
OTHERS = "others"


@dataclass(frozen=True)
class _Chart:
    """Amounts by label and series, in the order of the rows."""

    measure: str
    by: str
    split: str
    amounts: dict[str, dict[str, Decimal]]
    series: list[str]
    is_over_time: bool

    @property
    def title(self) -> str:
        return " by ".join(filter(None, (self.measure, self.by)))

    def columns(self) -> list[Column]:
        """The bars over time."""
        return [_column(label, self.amounts[label], self.series) for label in sorted(self.amounts)[-_BARS:]]

    def bars(self) -> list[tuple[str, Decimal, float]]:
        """The bars by name with their amounts and their parts of the longest; the smallest are one if there are too many."""
        bars = [(label, sum(parts.values(), Decimal(0))) for label, parts in self.amounts.items()]
        if len(bars) > _NAMES:
            bars.sort(key=lambda bar: -bar[1])
            rest = sum((amount for _, amount in bars[_NAMES - 1 :]), Decimal(0))
            bars = [*bars[: _NAMES - 1], (OTHERS, rest)]
        most = max((amount for _, amount in bars), default=Decimal(0)) or Decimal(1)
        return [(label, amount, float(amount / most)) for label, amount in bars]


@dataclass(frozen=True)
class PageChart:
    """A chart for a page: its title, and its bars with their legend."""

    title: str
    chart: Markup


def draw_in_page(columns: Sequence[SqlColumn], rows: Sequence[Row]) -> PageChart | None:
    """The chart of an answer; None if there is nothing to compare, or the rows are things and not figures."""
    if len(columns) > _FIGURES:
        return None
    try:
        chart = _chart(columns, rows)
    except UsageError:
        return None
    if len(chart.amounts) < 2 or not any(amount for parts in chart.amounts.values() for amount in parts.values()):
        return None
    if not chart.is_over_time:
        return PageChart(chart.title, _page_bars(chart))
    entries = [
        LegendEntry(name, _number(sum((parts.get(name, Decimal(0)) for parts in chart.amounts.values()), Decimal(0))))
        for name in (chart.series if chart.split else ())
    ]
    return PageChart(chart.title, stacked(chart.columns(), label=chart.title, number=_number) + legend(entries))


def _page_bars(chart: _Chart) -> Markup:
    items = "".join(
        f'<li><span title="{escaped(label)}">{escaped(label)}</span><svg class="chart" width="100%" aria-hidden="true">'
        f'<rect class="s{_colour(label) + 1}" width="{per_cent(share)}" height="12" rx="2"/></svg>'
        f"<b>{escaped(_number(amount))}</b></li>"
        for label, amount, share in chart.bars()
    )
    return Markup(f'<ol class="group-bars">{items}</ol>')  # noqa: S704 - every text in it went through escaped()


def _colour(label: str) -> int:
    return 7 if label == OTHERS else 0


def draw_result(columns: Sequence[SqlColumn], rows: Sequence[Row]) -> str:
    """An SVG document with a chart of an answer."""
    chart = _chart(columns, rows)
    if chart.is_over_time:
        entries = [(place, name, "") for place, name in enumerate(chart.series if chart.split else ())]
        body, bottom = bars_over_time(chart.columns(), _number, entries)
    else:
        body, bottom = bars_by_name(
            [
                NamedBar((fit_path if "/" in label else fit)(label, 40), share, _number(amount), _colour(label))
                for label, amount, share in chart.bars()
            ]
        )
    total = sum((amount for parts in chart.amounts.values() for amount in parts.values()), Decimal(0))
    return document(chart.title, [f"{chart.measure}: {_number(total)} in all", many(len(rows), "row")], bottom, body)


def _chart(columns: Sequence[SqlColumn], rows: Sequence[Row]) -> _Chart:
    numbers = [place for place, column in enumerate(columns) if column.type in _NUMBERS and place]
    if not numbers or not rows:
        raise UsageError("nothing to plot: the first column names the bars, and the last one with numbers is drawn")
    value = numbers[-1]
    texts = [place for place in range(1, value) if columns[place].type == "text"]
    labels = [_label(row[0]) for row in rows]
    is_over_time = all(map(_TIME.fullmatch, labels))
    split = texts[0] if texts and is_over_time and len(set(labels)) < len(labels) else None
    amounts: dict[str, dict[str, Decimal]] = {}
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for label, row in zip(labels, rows, strict=True):
        name = "" if split is None else _label(row[split])
        amount = _amount(row[value])
        parts = amounts.setdefault(label, {})
        parts[name] = parts.get(name, Decimal(0)) + amount
        sums[name] += amount
    series = sorted(sums, key=lambda one: -sums[one])
    if len(series) > _SERIES:
        kept = set(series[: _SERIES - 1])
        amounts = {label: _joined(parts, kept) for label, parts in amounts.items()}
        series = [*series[: _SERIES - 1], OTHERS]
    split_by = "" if split is None else columns[split].name
    return _Chart(columns[value].name, columns[0].name, split_by, amounts, series, is_over_time)


def _joined(parts: dict[str, Decimal], kept: set[str]) -> dict[str, Decimal]:
    joined = {name: amount for name, amount in parts.items() if name in kept}
    joined[OTHERS] = sum((amount for name, amount in parts.items() if name not in kept), Decimal(0))
    return joined


def _label(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}".removesuffix(" 00:00")
    return "none" if value is None else one_line(str(value))


def _amount(value: Any) -> Decimal:
    amount = Decimal(str(value)) if value is not None else Decimal(0)
    return max(amount, Decimal(0)) if amount.is_finite() else Decimal(0)


def _number(amount: Decimal) -> str:
    if amount >= 1000:
        return short(amount)
    if amount == amount.to_integral() or not amount:
        return f"{amount.normalize():f}"
    return f"{amount:.2f}" if amount >= Decimal("0.1") else f"{amount:.2g}"


def _column(label: str, amounts: Mapping[str, Decimal], series: Sequence[str]) -> Column:
    title = ", ".join([label, *(f"{name} {_number(amount)}".strip() for name, amount in amounts.items())])
    parts = (Part(place, amounts[name], name) for place, name in enumerate(series) if name in amounts)
    return Column(label, title, parts=tuple(parts))
