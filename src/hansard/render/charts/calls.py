"""Tool calls over time: what worked, and above it what failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from hansard.render.charts.stacked import Column, Part, stacked
from hansard.render.format import many, short
from hansard.render.series import MONTHS

if TYPE_CHECKING:
    from markupsafe import Markup

    from hansard.model.calls import ToolDay

_MOST_DAYS = 100  # columns; beyond them each is a week, then a month
_MOST_WEEKS = 120
_HEIGHT = 120
_WORKED, _FAILED = 0, 4  # colours


def draw_calls(
    days: Sequence[ToolDay], asked: tuple[date, date] | None, address: Callable[[str, str], str]
) -> Markup | None:
    """Calls by day, week or month; None where there are none. `address` leads to the calls from one day to another."""
    if not days:
        return None
    known = {date.fromisoformat(item.day): item for item in days}
    first, last = min(known), max(known)
    if asked is not None:
        first, last = min(first, asked[0]), max(last, min(asked[1], last + timedelta(days=7)))
    columns = []
    for start, end, label in _stretches(first, last):
        some = [known[day] for day in _days(start, end) if day in known]
        calls, errors = sum(item.calls for item in some), sum(item.errors for item in some)
        title = f"{_words(start, end)}\nCalls  {calls:,}\nFailed  {errors:,}"
        parts = (
            Part(_WORKED, Decimal(calls - errors), title),
            Part(_FAILED, Decimal(errors), title),
        )
        href = address(start.isoformat(), end.isoformat()) if calls else None
        columns.append(Column(label, title, href, parts if calls else ()))
    name = f"Calls from {_words(first, last)}: {many(sum(item.calls for item in days), 'call')}"
    return stacked(columns, label=name, number=lambda value: short(int(value)), height=_HEIGHT, whole=True)


def _stretches(first: date, last: date) -> list[tuple[date, date, str]]:
    """From which day to which each column goes, and its name."""
    count = (last - first).days + 1
    found = []
    if count <= _MOST_DAYS:
        return [(day, day, f"{day.day} {MONTHS[day.month - 1]}") for day in _days(first, last)]
    if count <= _MOST_WEEKS * 7:
        start = first - timedelta(days=first.weekday())
        while start <= last:
            found.append((start, start + timedelta(days=6), f"{start.day} {MONTHS[start.month - 1]}"))
            start += timedelta(days=7)
        return found
    start = first.replace(day=1)
    while start <= last:
        after = (start + timedelta(days=31)).replace(day=1)
        found.append((start, after - timedelta(days=1), f"{MONTHS[start.month - 1]} {start.year}"))
        start = after
    return found


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def _words(first: date, last: date) -> str:
    def text(day: date) -> str:
        return f"{day.day} {MONTHS[day.month - 1]} {day.year}"

    return text(first) if first == last else f"{text(first)} to {text(last)}"
