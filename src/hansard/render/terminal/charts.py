"""Pictures of usage in the terminal: bars by time, a year's calendar, shares.

Every chart can be read without colours, and without block characters if the terminal's encoding has none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from hansard.errors import UsageError
from hansard.render.format import date_range, date_text, many, short
from hansard.render.reports import report_notes
from hansard.render.series import (
    DAYS,
    MARK,
    MONTHS,
    WEEKS,
    Amount,
    Bar,
    Measure,
    Timeline,
    days_of,
    level,
    levels_of,
    measure_of,
    percent,
    range_words,
    ratio,
    shares_of,
    streaks,
    timeline,
    year_of,
)
from hansard.render.terminal.tables import aligned, note_lines
from hansard.render.text import Paint, fit, pad, width, wrap

if TYPE_CHECKING:
    from hansard.model.ledger import UsageReport
    from hansard.render.format import ProjectNames

KINDS = {
    "bars": "a bar for each hour, day, week or month, stacked by the second dimension",
    "calendar": "a year of days, darker for more usage",
    "share": "shares of the total",
}
"""The pictures, with what they show."""

_WIDEST = 120
_BARS = 62  # two months of days
_SHARES = 12
_YEARS = 5
_NARROW = 60  # from here on down, years are left out
_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "dim")


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters that pictures are made of."""

    eighths: str  # of a cell, the last one full
    fills: str  # of series, without colours
    shades: str  # of a calendar, from nothing on


_BLOCKS = Glyphs("▏▎▍▌▋▊▉█", "█▒░▚▓·", "·░▒▓█")
_ASCII = Glyphs("#", "#=+ox.", ".-+*#")


@dataclass(frozen=True, slots=True)
class ChartStyle:
    """The terminal, and what is measured."""

    columns: int
    paint: Paint
    glyphs: Glyphs
    today: date
    measure: Measure
    projects: ProjectNames


def draw(
    kind: str,
    report: UsageReport,
    projects: ProjectNames,
    columns: int,
    paint: Paint,
    today: date,
    *,
    blocks: bool | None = None,
) -> list[str]:
    """A picture of a report with its legend, prices and doubts; `blocks` only where stdout can have them, unless said."""
    if kind not in KINDS:
        raise UsageError(f"unknown chart {kind!r}; choose one of {', '.join(KINDS)}")
    has_blocks = _has_blocks() if blocks is None else blocks
    glyphs = _BLOCKS if has_blocks else _ASCII
    style = ChartStyle(min(columns, _WIDEST), paint, glyphs, today, measure_of(report), projects)
    make = {"bars": _bars, "calendar": _calendar, "share": _share}[kind]
    lines = [*make(report, style), *_footer(report, style)] if report.rows else ["No usage."]
    return lines if has_blocks else [line.replace("…", "~").replace("·", "-") for line in lines]


def _has_blocks() -> bool:
    try:
        (_BLOCKS.eighths + _BLOCKS.fills + _BLOCKS.shades).encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _header(title: str, facts: Sequence[str], style: ChartStyle) -> Iterator[str]:
    title = fit(title, style.columns)
    rest = fit("  ".join(filter(None, facts)), style.columns)
    beside = width(title) + 2 + width(rest) <= style.columns
    yield style.paint(title, "heading") + (f"  {rest}" if beside else "")
    if not beside:
        yield rest
    yield ""


def _footer(report: UsageReport, style: ChartStyle) -> Iterator[str]:
    """Notes on prices and uncertain amounts."""
    yield ""
    if not style.measure.is_money:
        yield style.paint(fit("No prices are known: showing tokens.", style.columns), "dim")
    yield from note_lines(report_notes(report.pricing, report.totals), style.columns, style.paint)


def _bar(size: Decimal, most: Decimal, room: int, eighths: str) -> tuple[str, str]:
    """A bar's full cells and its last one; any amount above zero is visible."""
    steps = len(eighths)
    count = round(ratio(size, most) * room * steps)
    count = max(count, 1) if size > 0 else 0
    full, rest = divmod(count, steps)
    return eighths[-1] * full, eighths[rest - 1] if rest else ""


def _column(amounts: Sequence[Amount | None], measure: Measure) -> list[str]:
    """Amounts of one width, their marks behind the digits."""
    texts = aligned([measure.text(amount) if amount is not None else "" for amount in amounts])
    wide = max(map(len, texts))
    return [pad(text, wide, right=True) for text in texts]


# -- bars


def _bars(report: UsageReport, style: ChartStyle) -> Iterator[str]:
    found = timeline(report, style.today, _BARS, style.projects)
    paint, measure = style.paint, style.measure
    per = f"{measure.title} per {found.step}" + (f" by {found.split}" if found.split else "")
    yield from _header(per, [measure.text(measure.of(report.totals)), range_words(report)], style)
    labels = [_label(bar.start, found.step, style) for bar in found.bars]
    numbers = _column([bar.whole if bar.parts else None for bar in found.bars], measure)
    wide = max(map(len, labels))
    room = max(1, style.columns - wide - len(numbers[0]) - 4)
    for bar, label, number in zip(found.bars, labels, numbers, strict=True):
        shown = _cells(bar, found, room, style)
        text, taken = shown if bar.whole.value is not None or not bar.parts else (paint(MARK, "yellow"), 1)
        line = f"{_styled(pad(label, wide), bar, found.step, style)}  {text}{' ' * (room - taken)}  {number}"
        yield line.rstrip()
    yield from _legend(found, style)
    for note in _limits(found):
        yield from (paint(piece, "yellow") for piece in wrap(note, style.columns))


def _cells(bar: Bar, found: Timeline, room: int, style: ChartStyle) -> tuple[str, int]:
    """A stacked bar and its width; all series but the last end on whole cells."""
    paint, glyphs = style.paint, style.glyphs
    stacked = len(found.series) > 1
    whole = bar.whole.size
    eighths = glyphs.eighths[-1] if stacked and not paint.enabled else glyphs.eighths
    full, rest = _bar(whole, found.most, room, eighths)
    if not stacked:
        return paint(full + rest, _COLOURS[0]), len(full + rest)
    drawn, done, sum_ = [], 0, Decimal(0)
    parts = [(place, part.size) for place, part in sorted(bar.parts.items()) if part.size > 0]
    for number, (place, size) in enumerate(parts):
        sum_ += size
        is_last = number == len(parts) - 1
        end = len(full) if is_last else min(len(full), round(ratio(sum_, whole) * len(full + rest)))
        fill = full[:1] if paint.enabled else glyphs.fills[place]
        text = fill * (end - done) + (rest if is_last else "")
        drawn.append(paint(text, _COLOURS[place]))
        done = end
    return "".join(drawn), len(full + rest)


def _label(start: datetime | None, step: str, style: ChartStyle) -> str:
    if start is None:
        return "no time"
    day = f"{start.month:02}-{start.day:02}"
    weekday = DAYS[start.weekday()]
    if step in ("hour", "day"):
        label = f"{day} {weekday[:2]}" if style.columns <= _NARROW else f"{start.year:04}-{day} {weekday}"
        return f"{label} {start.hour:02}:00" if step == "hour" else label
    if step == "week":
        year, week, _ = start.isocalendar()
        return f"W{week:02} {day}" if style.columns <= _NARROW else f"{year:04}-W{week:02} {day}"
    return f"{start.year:04}-{start.month:02} {MONTHS[start.month - 1]}" if step == "month" else f"{start.year:04}"


def _styled(label: str, bar: Bar, step: str, style: ChartStyle) -> str:
    """Today is bold; weekends, and times without usage, are dim."""
    if bar.start is not None and step == "day" and bar.start.date() == style.today:
        return style.paint(label, "bold")
    is_weekend = bar.start is not None and step in ("hour", "day") and bar.start.weekday() > 4
    return style.paint(label, "dim") if is_weekend or not bar.parts else label


def _legend(found: Timeline, style: ChartStyle) -> Iterator[str]:
    """The legend of the series, with their amounts."""
    if not found.series:
        return
    paint = style.paint
    entries = []
    for place, name in enumerate(found.series):
        amount = sum((bar.parts.get(place, Amount()) for bar in found.bars), Amount())
        is_plain = not paint.enabled and len(found.series) > 1
        fill = style.glyphs.fills[place] if is_plain else style.glyphs.eighths[-1]
        mark = paint(MARK, "yellow") if amount.value is None else paint(fill, _COLOURS[place])
        number = style.measure.text(amount)
        shown = fit(name, style.columns - len(number) - 4)
        entries.append((f"{mark} {shown} {paint(number, 'dim')}", width(shown) + len(number) + 3))
    yield ""
    yield from _packed(entries, style.columns)


def _limits(found: Timeline) -> Iterator[str]:
    if found.step != found.asked:
        yield ""
        yield f"Shown by {found.step}: {found.length:,} {found.asked}s do not fit. Choose a shorter period with --since and --until."
    if found.earlier:
        yield f"{many(found.earlier, f'earlier {found.step}')} with usage left out."


# -- calendar


def _calendar(report: UsageReport, style: ChartStyle) -> Iterator[str]:
    days = days_of(report)
    measure, paint = style.measure, style.paint
    first, last = year_of(report, days, style.today)
    if style.columns >= 4 + 2 * WEEKS:
        cell = 2
    else:
        cell = 1
        first = max(first, _monday(last) - timedelta(weeks=style.columns - 5))
    shown = {day: amount for day, amount in days.items() if first <= day <= last}
    total = sum(shown.values(), Amount())
    yield from _header(f"{measure.title} per day", [measure.text(total), date_range(first, last)], style)
    start = _monday(first)
    weeks = (_monday(last) - start).days // 7 + 1
    yield " " * 4 + _months(start, weeks, cell)
    bounds = levels_of(shown.values())
    for weekday in range(7):
        cells = []
        for week in range(weeks):
            day = start + timedelta(days=week * 7 + weekday)
            cells.append(_cell(day, shown, bounds, cell, style) if first <= day <= last else " " * cell)
        yield (paint(DAYS[weekday], "dim") + " " + "".join(cells)).rstrip()
    yield ""
    yield from _shades(bounds, style, any(amount.value is None for amount in shown.values()))
    yield ""
    yield from _facts(days, shown, style)


def _monday(day: date) -> date:
    return date.fromordinal(day.toordinal() - day.weekday())


def _months(start: date, weeks: int, cell: int) -> str:
    """The names of months over the weeks in which they begin; the first only if it fits."""
    begins = {0: start}
    for week in range(1, weeks):
        sunday = date.fromordinal(start.toordinal() + week * 7 + 6)
        if sunday.day <= 7:
            begins[week] = sunday
    line = ""
    for week, day in begins.items():
        room = min((later for later in begins if later > week), default=weeks) - week
        if room * cell > 3 or (week and room * cell == 3):
            line = line.ljust(week * cell) + MONTHS[day.month - 1]
    return line


def _cell(day: date, shown: dict[date, Amount], bounds: Sequence[Decimal], wide: int, style: ChartStyle) -> str:
    amount = shown.get(day)
    if amount is None:
        return style.paint(pad(style.glyphs.shades[0], wide), "dim")
    if amount.value is None:
        return style.paint(pad(MARK, wide), "yellow")
    return style.paint(style.glyphs.shades[level(amount, bounds)] * wide, "green")


def _shades(bounds: Sequence[Decimal], style: ChartStyle, has_unpriced: bool) -> Iterator[str]:
    """The legend of the shades."""
    paint, shades = style.paint, style.glyphs.shades
    entries = [(paint(shades[0], "dim"), "nothing")]
    entries += [
        (paint(shades[len(shades) - len(bounds) + place], "green"), f"from {style.measure.number(bound)}")
        for place, bound in enumerate(bounds)
    ]
    if has_unpriced:
        entries.append((paint(MARK, "yellow"), "unpriced"))
    yield from _packed([(f"{sign} {text}", len(text) + 2) for sign, text in entries], style.columns)


def _packed(entries: Sequence[tuple[str, int]], columns: int) -> Iterator[str]:
    """Wrap entries, each given with its width, into lines."""
    line, taken = "", 0
    for text, wide in entries:
        if taken and taken + 3 + wide > columns:
            yield line
            line, taken = "", 0
        line, taken = (f"{line}   {text}", taken + 3 + wide) if taken else (text, wide)
    yield line


def _facts(days: dict[date, Amount], shown: dict[date, Amount], style: ChartStyle) -> Iterator[str]:
    """Each year's total, the busiest day, streaks, and days outside the calendar."""
    measure = style.measure
    years: dict[int, list[Amount]] = {}
    for day, amount in days.items():
        years.setdefault(day.year, []).append(amount)
    facts = [
        (f"{year:04}", f"{measure.text(sum(amounts, Amount()))} on {many(len(amounts), 'day')}")
        for year, amounts in sorted(years.items())[-_YEARS:]
    ]
    busiest = max(days, key=lambda day: days[day].size, default=None)
    if busiest is not None and days[busiest].value is not None:
        text = f"{DAYS[busiest.weekday()]} {date_text(busiest)}, {measure.text(days[busiest])}"
        facts.append(("Busiest day", text))
    (longest, ended), current = streaks(days, style.today)
    if ended is not None:
        facts.append(("Longest streak", f"{many(longest, 'day')}, to {date_text(ended)}"))
        facts.append(("Current streak", many(current, "day") if current else "none"))
    for name, text in facts:
        yield style.paint(f"{name:<14}", "dim") + "  " + fit(text, style.columns - 16)
    hidden = len(days) - len(shown)
    if hidden:
        text = f"{many(hidden, 'more day')} with usage {'is' if hidden == 1 else 'are'} outside these weeks; --until shows an earlier year."
        yield from (style.paint(piece, "dim") for piece in wrap(text, style.columns))


# -- shares


def _share(report: UsageReport, style: ChartStyle) -> Iterator[str]:
    found = shares_of(report, _SHARES, style.projects)
    measure = style.measure
    facts = [measure.text(measure.of(report.totals)), range_words(report)]
    yield from _header(f"{measure.title} by {', '.join(report.by)}", facts, style)
    numbers = _column([share.amount for share in found], measure)
    parts = ["-" if share.part is None else percent(share.part) for share in found]
    number_wide, part_wide = len(numbers[0]), max(map(len, parts))
    names_wide = min(
        max(width(share.name) for share in found), max(8, (style.columns - number_wide - part_wide) * 2 // 5)
    )
    room = max(1, style.columns - names_wide - number_wide - part_wide - 6)
    most = max(share.amount.size for share in found)
    for share, number, part in zip(found, numbers, parts, strict=True):
        if share.amount.value is None:
            text = fit(f"{MARK} {short(Decimal(share.tokens))} tokens", room)
            bar = style.paint(text, "yellow")
        else:
            text = "".join(_bar(share.amount.size, most, room, style.glyphs.eighths))
            bar = style.paint(text, "dim" if share.is_rest else "cyan")
        name = pad(fit(share.name, names_wide), names_wide)
        yield f"{name}  {bar}{' ' * (room - width(text))}  {number}  {part:>{part_wide}}"
