"""Dates as people type them, in their own time zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

import click

from hansard.errors import UsageError

if TYPE_CHECKING:
    from typing import Any

    _ParamType = click.ParamType[datetime]  # generic for the type checker only: older clicks do not know it
else:
    _ParamType = click.ParamType

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
        if len(wanted) > len("2026-05-01"):  # shorter ones are weeks and other forms that nobody means
            return datetime.fromisoformat(wanted).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise UsageError(f"{text!r} is no date; write for example {EXAMPLES}")


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time()).astimezone(UTC)


class Moment(_ParamType):
    """A date or a distance back from now."""

    name = "when"

    def __init__(self, *, end: bool = False) -> None:
        self.end = end

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The time, or a usage error with examples."""
        if isinstance(value, datetime):
            return value
        try:
            return parse_moment(str(value), datetime.now(UTC), end=self.end)
        except UsageError as error:
            self.fail(str(error), param, ctx)
