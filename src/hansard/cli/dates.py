"""Dates as people type them, in their own time zone."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone
from typing import TYPE_CHECKING

import click

from hansard.errors import UsageError

if TYPE_CHECKING:
    from typing import Any

EXAMPLES = "2026-05-01, 2026-05-01T14:30, 7d, 24h, 2w, today or yesterday"
_BACK = re.compile(r"(\d{1,6})\s*([hdw])", re.IGNORECASE | re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def parse_moment(text: str, now: datetime, *, end: bool = False) -> datetime:
    """The time that is meant; a day means its beginning, or with `end` the moment after it."""
    wanted = text.strip()
    days = timedelta(days=1 if end else 0)
    try:
        if back := _BACK.fullmatch(wanted):
            return now - int(back[1]) * _UNITS[back[2].lower()]
        if wanted.lower() in ("today", "yesterday"):
            day = now.astimezone().date() - timedelta(days=wanted.lower() == "yesterday")
            return _midnight(day + days)
        if wanted.lower() == "now":
            return now
        if _DAY.fullmatch(wanted):
            return _midnight(date.fromisoformat(wanted) + days)
        if len(wanted) < len("2026-05-01"):
            raise ValueError
        return datetime.fromisoformat(wanted).astimezone(timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{text!r} is no date; write for example {EXAMPLES}") from None


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time()).astimezone(timezone.utc)


class Moment(click.ParamType):
    """A date or a distance back from now."""

    name = "when"

    def __init__(self, *, end: bool = False) -> None:
        self.end = end

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The time, or a usage error with examples."""
        if isinstance(value, datetime):
            return value
        try:
            return parse_moment(str(value), datetime.now(timezone.utc), end=self.end)
        except UsageError as error:
            self.fail(str(error), param, ctx)
