"""Which local day a quarter of an hour belongs to.

Every time zone is offset from UTC by a multiple of fifteen minutes, and changes only at such times, so a quarter of an hour falls
within one hour, day, week and month in any zone. Only the changes between two times are looked up; the rest is arithmetic in SQL.
"""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from hansard.errors import UsageError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

QUARTERS_PER_DAY = 96
_SECONDS = 900
_STEP = QUARTERS_PER_DAY * 5  # no zone changes twice in five days; some did within a week
_EPOCH = date(1970, 1, 1)
_LAST = 253_402_300_799 // _SECONDS - QUARTERS_PER_DAY  # of the year 9999


class Zone:
    """A time zone: a named one, or the system's own."""

    def __init__(self, info: tzinfo | None = None) -> None:
        self.info = info

    @property
    def name(self) -> str:
        """Its IANA name, if known."""
        return getattr(self.info, "key", None) or (str(self.info) if self.info is not None else _local_name())

    @property
    def asked(self) -> str | None:
        """The name to pass to `find_zone`."""
        return None if self.info is None else self.name

    def local(self, moment: datetime) -> datetime:
        """Convert a time to the zone."""
        return moment.astimezone(self.info)

    def midnight(self, day: date) -> datetime:
        """When a day begins: the start of its first quarter of an hour."""
        guess = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) // _SECONDS
        wanted = (day - _EPOCH).days
        quarter = guess - self.shift(guess)
        while (quarter + self.shift(quarter)) // QUARTERS_PER_DAY >= wanted:
            quarter -= 1
        while (quarter + self.shift(quarter)) // QUARTERS_PER_DAY < wanted:
            quarter += 1
        return datetime.fromtimestamp(quarter * _SECONDS, UTC)

    def shift(self, quarter: int) -> int:
        """How many quarters of an hour local time is ahead of UTC."""
        moment = datetime.fromtimestamp(min(max(quarter, 0), _LAST) * _SECONDS, UTC).astimezone(self.info)
        return int((moment.utcoffset() or timedelta()).total_seconds() // _SECONDS)

    def shifts(self, low: int, high: int) -> list[tuple[int, int]]:
        """UTC offsets between two quarters: each with the first quarter that it applies to, in order."""
        found = [(low, self.shift(low))]
        at = low
        while at < high:
            later = min(at + _STEP, high)
            if self.shift(later) != found[-1][1]:
                first, last = at, later  # the offset changes after `first`, no later than `last`
                while last - first > 1:
                    middle = (first + last) // 2
                    first, last = (middle, last) if self.shift(middle) == found[-1][1] else (first, middle)
                found.append((last, self.shift(last)))
                later = last
            at = later
        return found

    def sql(self, low: int, high: int) -> str:
        """SQL for the local number of the column `quarter`; all quarters must be between the two."""
        shifts = self.shifts(low, high)
        if len(shifts) == 1:
            return f"(quarter + {shifts[0][1]})"
        cases = " ".join(f"WHEN quarter >= {first} THEN {shift}" for first, shift in reversed(shifts[1:]))
        return f"(quarter + CASE {cases} ELSE {shifts[0][1]} END)"


def find_zone(name: str | None) -> Zone:
    """The zone that a user names; None is the system's own."""
    if name is None or name.lower() == "local":
        return Zone()
    if name.upper() in ("UTC", "Z"):
        return Zone(UTC)
    import zoneinfo

    try:
        found: ZoneInfo = zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        from difflib import get_close_matches

        near = get_close_matches(name, zoneinfo.available_timezones(), 1)
        guess = f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(f"unknown time zone {name!r}{guess}; use for example Europe/Berlin, or UTC") from error
    return Zone(found)


def day_of(number: int) -> date:
    """The date that is `number` days after 1970-01-01."""
    return _EPOCH + timedelta(days=number)


def _local_name() -> str:
    named = os.environ.get("TZ", "").lstrip(":")
    if named:
        return named
    place = os.path.realpath("/etc/localtime").replace(os.sep, "/")
    if "/zoneinfo/" in place:
        return place.rpartition("/zoneinfo/")[2]
    return datetime.now(UTC).astimezone().tzname() or "local"
