"""The only parser for dates as people type them: days, weeks, months, years, times, weekdays, and offsets back from now."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from msgspec import Struct

from hansard.errors import UsageError

EXAMPLES = (
    "2026-05-01, 20260501, 2026-W18, 2026-05, 2026, 2026-05-01T14:30, 24h, 7d, 2w, 3m (months), 1y, 3 days ago, today, yesterday,"
    " monday, last monday, this week, last month"
)
_EDGE_YEARS = ("0000", "0001", "9999")  # representable in some time zones only
# Patterns are compiled on first use: every command pays for start-up.
_BACK = r"-?(\d{1,6})[ -]?(h|d|w|m|y|hours?|days?|weeks?|months?|years?)(?:[ -]ago)?"
_SPAN = r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?"
_WEEK = r"(\d{4})-w(\d{2})"
_COMPACT = r"(\d{4})(\d{2})(\d{2})"
_NAMED = r"(?:(this|last)[ -])?(week|month|year|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(day)?"
_TIME = r"\d{4}-\d{2}-\d{2}[t ]\d{2}(?::?\d{2}){0,2}(?:\.\d{1,6})?(?:z|[+-]\d{2}:?\d{2})?"
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = timedelta(days=1)


class Span(Struct, frozen=True):
    """A half-open interval [start, end); both are the same for a moment."""

    start: datetime
    end: datetime


def parse_span(text: str, now: datetime, zone: tzinfo | None = None, *, whole: bool = False) -> Span:
    """Parse a time into UTC; with `whole`, an offset of days or more means the whole day that far back.

    Days, weeks (from Monday), months and years are in `zone`; None is the system's own. A weekday is the latest one up
    to today, or with `last` the latest before today.
    """
    wanted = " ".join(text.lower().split())
    try:
        now = now.astimezone(UTC)
        if wanted in ("today", "yesterday"):
            return _days(now.astimezone(zone).date() - _DAY * (wanted == "yesterday"), zone)
        if wanted == "now":
            return Span(now, now)
        if back := re.fullmatch(_BACK, wanted, re.ASCII):
            moment = _back(now, int(back[1]), back[2][0], zone)
            return _days(moment.astimezone(zone).date(), zone) if whole and back[2][0] != "h" else Span(moment, moment)
        named = re.fullmatch(_NAMED, wanted, re.ASCII)
        if named and (found := _named(now.astimezone(zone).date(), named[1], named[2], named[3], zone)):
            return found
        if week := re.fullmatch(_WEEK, wanted, re.ASCII):
            monday = date.fromisocalendar(int(week[1]), int(week[2]), 1)
            return _days(monday, zone, monday + 7 * _DAY)
        if span := re.fullmatch(_SPAN, wanted, re.ASCII) or re.fullmatch(_COMPACT, wanted, re.ASCII):
            return _calendar(int(span[1]), int(span[2] or 0), int(span[3] or 0), zone)
        if re.fullmatch(_TIME, wanted, re.ASCII):
            moment = _in_zone(datetime.fromisoformat(wanted.upper()), zone)
            return Span(moment, moment)
    except (ValueError, OverflowError, OSError) as error:
        if isinstance(error, OverflowError) or wanted[:4] in _EDGE_YEARS:
            raise UsageError(f"date {text!r} is out of range: use one of the years 2 to 9998") from None
    raise UsageError(f"invalid date {text!r}; use for example {EXAMPLES}")


def _named(today: date, which: str | None, name: str, day: str | None, zone: tzinfo | None) -> Span | None:
    """A weekday, or this or the last week, month or year; None if the words are not a date, as in `week` alone."""
    if name[:3] in _WEEKDAYS and which != "this" and (day or name in (*_WEEKDAYS, "tues", "thurs")):
        back = (today.weekday() - _WEEKDAYS.index(name[:3])) % 7
        return _days(today - _DAY * (back or 7 * (which == "last")), zone)
    if which is None or day or name not in ("week", "month", "year"):
        return None
    last = which == "last"
    if name == "week":
        monday = today - _DAY * (today.weekday() + 7 * last)
        return _days(monday, zone, monday + 7 * _DAY)
    if name == "year":
        return _calendar(today.year - last, 0, 0, zone)
    year, month = divmod(today.year * 12 + today.month - 1 - last, 12)
    return _calendar(year, month + 1, 0, zone)


def _back(now: datetime, count: int, unit: str, zone: tzinfo | None) -> datetime:
    if unit in _UNITS:
        return now - count * _UNITS[unit]
    from calendar import monthrange

    local = now.astimezone(zone)
    year, month = divmod(local.year * 12 + local.month - 1 - count * (12 if unit == "y" else 1), 12)
    day = min(local.day, monthrange(year, month + 1)[1])  # a month back from the 31st may be shorter
    return _in_zone(local.replace(year=year, month=month + 1, day=day, tzinfo=None), zone)


def _calendar(year: int, month: int, day: int, zone: tzinfo | None) -> Span:
    if day:
        return _days(date(year, month, day), zone)
    if month:
        return _days(date(year, month, 1), zone, date(year + month // 12, month % 12 + 1, 1))
    return _days(date(year, 1, 1), zone, date(year + 1, 1, 1))


def _days(first: date, zone: tzinfo | None, after: date | None = None) -> Span:
    return Span(_midnight(first, zone), _midnight(after or first + _DAY, zone))


def _midnight(day: date, zone: tzinfo | None) -> datetime:
    """The first moment of a day; if the clock jumps over midnight, the moment of the jump."""
    return _in_zone(datetime.combine(day, time()), zone)


def _in_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    if moment.tzinfo is None and zone is not None:
        moment = moment.replace(tzinfo=zone)
    return moment.astimezone(UTC)
