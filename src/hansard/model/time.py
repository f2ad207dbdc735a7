"""Times as stored in the indexes, and names and spans shared by several packages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

BLOCK = timedelta(hours=5)
"""How long a block of the plan limits lasts, and how long a pause ends one."""

MONTHS = tuple("January February March April May June July August September October November December".split())
DAYS = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def to_milliseconds(moment: datetime) -> int:
    """Milliseconds since 1970; a naive time is in the system's time zone."""
    return ((moment if moment.tzinfo is not None else moment.astimezone(UTC)) - _EPOCH) // _MILLISECOND


def from_milliseconds(milliseconds: int | None) -> datetime | None:
    """An aware time; None for None, or if it is out of range."""
    try:
        return None if milliseconds is None else moment_at(milliseconds)
    except (ValueError, OverflowError, OSError):
        return None


def moment_at(milliseconds: int) -> datetime:
    """An aware time; the value must be in range."""
    return datetime.fromtimestamp(milliseconds // 1000, UTC).replace(microsecond=milliseconds % 1000 * 1000)
