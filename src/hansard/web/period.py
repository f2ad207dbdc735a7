"""Which stretch of time a report is asked for: a range that ends today, or from one time to another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from hansard.query.language.dates import parse_span
from hansard.render.series import date_text

if TYPE_CHECKING:
    from hansard.model.calendar import Zone
    from hansard.web.params import Params

RANGES = {
    "7d": "7 days",
    "30d": "30 days",
    "90d": "90 days",
    "month": "this month",
    "year": "this year",
    "all": "all time",
}
"""Ranges that end today, with what they are called; days are whole ones."""


@dataclass(frozen=True, slots=True)
class Period:
    """From when to when, and how a link or a command says it."""

    name: str | None  # of a range; None: as `since` and `until` say
    since: datetime | None
    until: datetime | None
    since_text: str | None
    until_text: str | None
    today: date
    zone: Zone

    @property
    def days(self) -> tuple[date, date] | None:
        """The first and the last day; None where the time has no beginning."""
        if self.since is None:
            return None
        first = self.zone.local(self.since).date()
        last = self.today
        if self.until is not None:
            last = self.zone.local(self.until - timedelta(microseconds=1)).date()
        return (first, max(first, last))

    @property
    def words(self) -> str:
        """For people."""
        if self.since is None and self.until is None:
            return "all time"
        if self.since is None or self.days is None:
            return f"until {self.until_text}"
        first, last = self.days
        return date_text(first) if first == last else f"{_beginning(first, last)} to {date_text(last)}"


def parse_period(asked: Params, zone: Zone, now: datetime, *, default: str = "30d") -> Period:
    """The time that is asked for; `since` and `until` go before `range`."""
    name = asked.choice("range", RANGES, default)
    since, until = asked.text("since"), asked.text("until")
    today = zone.local(now).date()
    if since is None and until is None:
        first = _first(name, today)
        if first is None:
            return Period(name, None, None, None, None, today, zone)
        return Period(name, zone.midnight(first), None, first.isoformat(), None, today, zone)
    begin = None if since is None else parse_span(since, now, zone.info).start
    end = None if until is None else parse_span(until, now, zone.info).end
    return Period(None, begin, end, since, until, today, zone)


def _first(name: str, today: date) -> date | None:
    match name:
        case "month":
            return today.replace(day=1)
        case "year":
            return today.replace(month=1, day=1)
        case "all":
            return None
        case _:
            return today - timedelta(days=int(name.removesuffix("d")) - 1)


def _beginning(first: date, last: date) -> str:
    """The first of two days, the year said once."""
    return date_text(first) if first.year != last.year else date_text(first).rpartition(" ")[0]
