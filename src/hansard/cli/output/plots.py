"""Pictures of usage as PNG and SVG files, for a report or a chat.

Drawn by matplotlib, an extra of the package, through its object interface: no global state but its settings, which are put
back. Names come from transcripts, so no text is read as formulas.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError
from hansard.export.files import NotWritten, write_file
from hansard.render.reports import data_words
from hansard.render.series import (
    DAYS,
    MONTHS,
    WEEKS,
    Amount,
    Bar,
    Measure,
    date_text,
    days_of,
    level,
    levels_of,
    measure_of,
    percent,
    shares_of,
    short,
    span_of,
    streaks,
    timeline,
    year_of,
)
from hansard.render.terminal.charts import KINDS
from hansard.render.text import fit, one_line, width
from hansard.render.words import many

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hansard.model.ledger import UsageReport

ENDINGS = (".png", ".svg")

_WIDE = 8.0  # inches, at 200 dots each
_DOTS = 200
_BARS = 400
_SHARES = 12
_INK, _SOFT, _FAINT, _RULE = "#1f2328", "#59636e", "#818b98", "#e6e8eb"
_PALETTE = ("#4c6ef5", "#f08c4a", "#2ca58d", "#b266d9", "#e0b12e", "#a8b0ba")
_HEAT = ("#ebedf0", "#b7c6fb", "#839cf8", "#4c6ef5", "#2b44b8")
_DOUBT, _PALE = "#c2410c", "#fde8dc"  # what has no price
_NOT_IN_XML = re.compile("[\ufffe\uffff]")
_SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,
    "text.usetex": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "hansard",
    "font.size": 8.5,
    # The first is always there; the others have what it lacks, where they are installed.
    "font.family": [
        "DejaVu Sans",
        "Noto Sans CJK JP",
        "Noto Sans CJK SC",
        "Hiragino Sans",
        "PingFang SC",
        "Microsoft YaHei",
        "Yu Gothic",
        "Malgun Gothic",
    ],
    "axes.edgecolor": _RULE,
    "text.color": _INK,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "figure.facecolor": "white",
}


def save(path: str, kind: str, report: UsageReport, today: date) -> None:
    """Write a picture of a report to a file that ends in .png or .svg; the file is there when it is whole."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise UsageError(f"{one_line(path)}: the file name must end in {' or '.join(ENDINGS)}")
    if kind not in KINDS:
        raise UsageError(f"unknown chart {kind!r}; choose one of {', '.join(KINDS)}")
    if not report.rows:
        raise UsageError("no usage to plot")
    with _matplotlib():
        figure = {"bars": _bars, "calendar": _calendar, "share": _share}[kind](report, today)
        content = _rendered(figure, ending[1:])
    _write(path, content)


@contextlib.contextmanager
def _matplotlib() -> Iterator[None]:
    """Matplotlib as it is without anybody's settings, and silent: on missing glyphs, and on a home it cannot write to."""
    import logging
    import warnings

    logger = logging.getLogger("matplotlib")
    was = logger.level
    with contextlib.ExitStack() as stack:
        stack.callback(logger.setLevel, was)
        logger.setLevel(logging.ERROR)
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        try:
            import matplotlib as mpl
        except ImportError as error:
            raise UsageError(
                "--plot needs matplotlib, which is not installed; add it with: pip install 'hansard[plot]'"
            ) from error
        stack.enter_context(mpl.rc_context())
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def _rendered(figure: Figure, form: str) -> bytes:
    from io import BytesIO

    buffer = BytesIO()
    figure.savefig(buffer, format=form, metadata={"Date": None} if form == "svg" else {"Software": None})
    return buffer.getvalue()


def _write(path: str, content: bytes) -> None:
    try:
        write_file(path, [content])
    except NotWritten as error:
        reason = getattr(error.__cause__, "strerror", None) or error.__cause__
        raise UsageError(f"{one_line(path)} cannot be written: {reason}; choose another file") from error


# -- what all have


def _figure(report: UsageReport, high: float, title: str, facts: Sequence[str]) -> Figure:
    """A figure with its title, the facts under it, and the small print at the foot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDE, high), dpi=_DOTS)
    FigureCanvasAgg(figure)
    left = 0.35 / _WIDE
    figure.text(left, 1 - 0.36 / high, title, fontsize=14, fontweight="bold", va="center")
    figure.text(left, 1 - 0.64 / high, "   ".join(filter(None, facts)), fontsize=8.5, color=_SOFT, va="center")
    figure.text(left, 0.14 / high, _small_print(report), fontsize=5.5, color=_FAINT, va="bottom", linespacing=1.5)
    if measure_of(report).of(report.totals).partly:
        doubt = "? has usage without a price, which is not in the cost"
        figure.text(1 - left, 1 - 0.36 / high, doubt, color=_DOUBT, fontsize=6.5, ha="right", va="center")
    return figure


def _small_print(report: UsageReport) -> str:
    """By which prices, and what the marks mean."""
    totals, notes = report.totals, report.pricing.notes
    marks = ["+"] * bool(totals.lower_bound_messages) + ["?"] * bool(totals.unpriced_messages)
    lines = [f"Prices: {data_words(report.pricing.data)}"]
    if not measure_of(report).is_money:
        lines[0] = "Nothing here has a price: tokens are shown"
    lines += [
        f"{mark}  {note}" for mark, note in zip(marks, notes, strict=False)
    ]  # the first notes are about the marks
    return "\n".join(fit(_text(line), 150) for line in lines)


def _axes(figure: Figure, *, left: float, right: float, top: float = 0.95, foot: float = 0.75) -> Axes:
    """Axes without a frame, by their distances from the edges in inches."""
    wide, high = figure.get_size_inches()
    axes = figure.add_axes((left / wide, foot / high, 1 - (left + right) / wide, 1 - (top + foot) / high))
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0)
    return axes


def _text(text: str) -> str:
    """Text that an XML file may have."""
    return _NOT_IN_XML.sub("\ufffd", one_line(text))


def _span(report: UsageReport) -> str:
    first, last = span_of(report)
    if first is None or last is None:
        return ""
    return date_text(first) if first == last else f"{date_text(first)} to {date_text(last)}"


def _amount(amount: Amount, measure: Measure) -> str:
    return measure.text(amount) + ("" if measure.is_money else " tokens")


def _cut(figure: Figure, text: str, inches: float, size: float) -> tuple[str, float]:
    """Text cut to so many inches, and how many it takes."""
    text = fit(_text(text), 60)
    artist = figure.text(0, 0, text, fontsize=size)
    taken = artist.get_window_extent().width / _DOTS
    while taken > inches and width(text) > 2:
        text = fit(text, min(width(text) - 1, int(width(text) * inches / taken)))
        artist.set_text(text)
        taken = artist.get_window_extent().width / _DOTS
    artist.remove()
    return text, taken


# -- bars


def _bars(report: UsageReport, today: date) -> Figure:
    found = timeline(report, today, _BARS)
    measure = measure_of(report)
    by = f" by {found.split}" if found.split else ""
    bars = sorted(found.bars, key=lambda bar: (bar.start is None, bar.start))  # from left to right
    figure = _figure(
        report,
        4.5,
        f"{measure.title} per {found.step}{by}",
        [_amount(measure.of(report.totals), measure), _span(report), _text(report.timezone)],
    )
    axes = _axes(figure, left=0.75, right=1.85 if found.series else 0.35, foot=0.95)
    floor = _stack(axes, bars, max(1, len(found.series)))
    top = max(floor) or 1.0
    for place, bar in enumerate(bars):
        if bar.whole.partly:
            axes.text(place, floor[place] + top * 0.012, "?", color=_DOUBT, fontsize=7, ha="center", fontweight="bold")
    axes.set_ylim(0, top * 1.08)
    axes.set_xlim(-0.7, max(len(bars), 8) - 0.3)
    axes.yaxis.set_major_formatter(lambda value, _: _tick(value, top, measure))
    axes.grid(axis="y", color=_RULE, linewidth=0.7)
    axes.set_axisbelow(True)
    marks = _ticks([bar.start for bar in bars], found.step)
    axes.set_xticks(list(marks), list(marks.values()))
    axes.tick_params(axis="x", pad=5)
    if found.series:
        _legend(figure, axes, found.series, bars, measure)
    return figure


def _stack(axes: Axes, bars: Sequence[Bar], count: int) -> list[float]:
    """Draw the series on top of each other; how high the bars are then."""
    floor = [0.0] * len(bars)
    for number in range(count):
        used = {place: float(bar.parts[number].size) for place, bar in enumerate(bars) if number in bar.parts}
        used = {place: height for place, height in used.items() if height}  # each one costs time, even of no height
        if used:
            lows = [floor[place] for place in used]
            wide = 0.8 if len(bars) <= 120 else 1.0
            axes.bar(list(used), list(used.values()), wide, lows, color=_PALETTE[number], linewidth=0)
        for place, height in used.items():
            floor[place] += height
    return floor


def _legend(figure: Figure, axes: Axes, series: Sequence[str], bars: Sequence[Bar], measure: Measure) -> None:
    """The names of the series with their amounts, beside the bars."""
    from matplotlib.patches import Patch

    handles, labels = [], []
    for number, name in enumerate(series):
        amount = sum((bar.parts.get(number, Amount()) for bar in bars), Amount())
        handles.append(Patch(facecolor=_PALE if amount.value is None else _PALETTE[number]))
        labels.append(f"{_cut(figure, name, 1.35, 8)[0]}\n{measure.text(amount)}")
    axes.legend(
        handles,
        [f"\u200b{label}" for label in labels],  # one that begins with an underscore would be left out
        loc="upper left",
        bbox_to_anchor=(1.02, 1.02),
        frameon=False,
        handlelength=0.9,
        handleheight=0.9,
        labelspacing=0.9,
        fontsize=8,
    )


def _tick(value: float, top: float, measure: Measure) -> str:
    if not measure.is_money:
        return short(Decimal(value))
    return f"${short(Decimal(value))}" if value >= 1000 else f"${value:.2f}" if 0.05 <= top < 5 else f"${value:g}"


def _ticks(starts: Sequence[datetime | None], step: str) -> dict[int, str]:
    """A few labels under the bars: of months where there are many days, else of every so many bars."""
    known = [(place, start) for place, start in enumerate(starts) if start is not None]
    if step in ("day", "week") and len(known) > 62:
        first = {place: start for place, start in known if not place or start.month != known[place - 1][1].month}
        chosen = {place: start for place, start in first.items() if place or min(set(first) - {0}, default=99) > 14}
        wanted = [(place, MONTHS[start.month - 1], start.year) for place, start in chosen.items()]
    else:
        every = -(-len(known) // 11) or 1
        wanted = [(place, _tick_name(start, step), start.year) for place, start in known[::every]]
    marks, year = {}, None
    for place, text, of_year in wanted:
        # Labels of as many lines stand at one height.
        marks[place] = f"{text}\n{of_year if step != 'year' and of_year != year else ' '}"
        year = of_year
    if starts and starts[-1] is None:
        marks[len(starts) - 1] = "no\ntime"
    return marks


def _tick_name(start: datetime, step: str) -> str:
    if step == "hour":
        return f"{start.hour:02}:00\n{start.day} {MONTHS[start.month - 1]}"
    if step == "month":
        return MONTHS[start.month - 1]
    return f"{start.day} {MONTHS[start.month - 1]}" if step in ("day", "week") else str(start.year)


# -- calendar


def _calendar(report: UsageReport, today: date) -> Figure:
    days = days_of(report)
    measure = measure_of(report)
    first, last = year_of(report, days, today)
    shown = {day: amount for day, amount in days.items() if first <= day <= last}
    total = _amount(sum(shown.values(), Amount()), measure)
    facts = [total, f"{date_text(first)} to {date_text(last)}", many(len(shown), "active day"), _text(report.timezone)]
    figure = _figure(report, 3.7, f"{measure.title} per day", facts)
    axes = _axes(figure, left=0.7, right=0.35, top=1.2, foot=1.25)
    axes.set_xlim(-0.5, WEEKS - 0.5)
    axes.set_ylim(8.6, -0.5)
    axes.set_aspect("equal", anchor="NW")
    start = first.toordinal() - first.weekday()
    bounds = levels_of(shown.values())
    for number in range(first.toordinal(), last.toordinal() + 1):
        week, weekday = divmod(number - start, 7)
        _square(axes, week, weekday, _shade(shown.get(date.fromordinal(number)), bounds))
        day = date.fromordinal(number)
        if (day.day == 1 and number + 10 <= last.toordinal()) or (number == first.toordinal() and day.day < 15):
            axes.text(week - 0.45, -0.9, MONTHS[day.month - 1], fontsize=7, color=_SOFT, va="bottom")
    axes.set_xticks([])
    axes.set_yticks(range(0, 7, 2), DAYS[::2], fontsize=7)
    _shades(axes, bounds, measure, is_doubted=any(amount.value is None for amount in shown.values()))
    _tiles(figure, _facts(days, measure, today))
    return figure


def _shade(amount: Amount | None, bounds: Sequence[Decimal]) -> str | None:
    """The colour of a day; None where its usage has no price."""
    if amount is None:
        return _HEAT[0]
    return None if amount.value is None else _HEAT[level(amount, bounds)]


def _square(axes: Axes, across: float, down: float, colour: str | None) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.18"
    low = (across - 0.41, down - 0.41)
    fill = colour or _PALE
    axes.add_patch(FancyBboxPatch(low, 0.82, 0.82, boxstyle=style, linewidth=0, facecolor=fill, clip_on=False))
    if colour is None:
        axes.text(across, down, "?", color=_DOUBT, fontsize=6, ha="center", va="center", fontweight="bold")


def _shades(axes: Axes, bounds: Sequence[Decimal], measure: Measure, *, is_doubted: bool) -> None:
    """What the colours mean, under the weeks."""
    colours: list[tuple[str | None, str]] = [(_HEAT[0], "nothing")]
    colours += [
        (_HEAT[len(_HEAT) - len(bounds) + place], f"from {measure.number(bound)}") for place, bound in enumerate(bounds)
    ]
    if is_doubted:
        colours.append((None, "unpriced"))
    across = 0.0
    for colour, text in colours:
        _square(axes, across, 8.1, colour)
        axes.text(across + 0.8, 8.1, text, fontsize=7, color=_SOFT, va="center_baseline")
        across += 2.8 + len(text) * 0.47


def _facts(days: dict[date, Amount], measure: Measure, today: date) -> list[tuple[str, str]]:
    """The last years' totals, the busiest day, the streaks."""
    facts = []
    for year in sorted({day.year for day in days})[-2:]:
        amounts = [amount for day, amount in days.items() if day.year == year]
        facts.append((f"{year}, {many(len(amounts), 'day')}", measure.text(sum(amounts, Amount()))))
    if days:
        busiest = max(days, key=lambda day: days[day].size)
        (longest, ended), current = streaks(days, today)
        facts.append((f"Busiest: {date_text(busiest)}", measure.text(days[busiest])))
        facts.append((f"Longest streak, to {date_text(ended or busiest)}", many(longest, "day")))
        facts.append(("Current streak", many(current, "day") if current else "none"))
    return facts


def _tiles(figure: Figure, facts: Sequence[tuple[str, str]]) -> None:
    """Facts side by side: the figure, and under it what it is."""
    wide, high = figure.get_size_inches()
    across = 0.35
    for name, value in facts:
        figure.text(across / wide, 0.98 / high, value, fontsize=11, fontweight="bold", va="center")
        figure.text(across / wide, 0.78 / high, name, fontsize=6.5, color=_SOFT, va="center")
        across += 0.4 + max(_cut(figure, name, _WIDE, 6.5)[1], _cut(figure, value, _WIDE, 12)[1])


# -- shares


def _share(report: UsageReport, _today: date) -> Figure:
    from matplotlib.transforms import blended_transform_factory

    found = shares_of(report, _SHARES)
    measure = measure_of(report)
    high = 1.75 + 0.27 * max(3, len(found))
    facts = [_amount(measure.of(report.totals), measure), _span(report), _text(report.timezone)]
    figure = _figure(report, high, f"{measure.title} by {', '.join(report.by)}", facts)
    names = [_cut(figure, share.name, 2.2, 8.5) for share in found]
    axes = _axes(figure, left=0.5 + max(taken for _, taken in names), right=1.6, top=0.9, foot=0.7)
    colours = [_PALETTE[-1] if share.is_rest else _PALETTE[0] for share in found]
    axes.barh(range(len(found)), [share.part or 0 for share in found], 0.66, color=colours, linewidth=0)
    most = max((share.part or 0 for share in found), default=0) or 1
    for place, share in enumerate(found):
        if share.part is None:
            text, colour = f"?  unpriced, {short(Decimal(share.tokens))} tokens", _DOUBT
        else:
            text, colour = f"{percent(share.part)}   {measure.text(share.amount)}", _INK
        axes.text((share.part or 0) + most * 0.015, place, text, va="center", fontsize=8, color=colour)
    axes.set_xlim(0, most)
    beside = blended_transform_factory(figure.transFigure, axes.transData)
    axes.set_ylim(max(3, len(found)) - 0.5, -0.5)
    axes.set_xticks([])
    axes.set_yticks([])
    for place, (name, _) in enumerate(names):
        axes.text(0.35 / _WIDE, place, name, fontsize=8.5, va="center", transform=beside)
    return figure
