"""Times as the indexes have them, and the names and spans that several rooms use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

BLOCK = timedelta(hours=5)
"""How long a block of the plans' limits lasts, and the silence that ends one."""

MONTHS = tuple("January February March April May June July August September October November December".split())
DAYS = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def to_milliseconds(moment: datetime) -> int:
    """Milliseconds since 1970; a time without a zone is one of the system's own."""
    return ((moment if moment.tzinfo is not None else moment.astimezone(UTC)) - _EPOCH) // _MILLISECOND


def from_milliseconds(milliseconds: int | None) -> datetime | None:
    """An aware time; None where there is none or no calendar has it."""
    try:
        return None if milliseconds is None else moment_at(milliseconds)
    except (ValueError, OverflowError, OSError):
        return None


def moment_at(milliseconds: int) -> datetime:
    """An aware time that some calendar has."""
    return datetime.fromtimestamp(milliseconds // 1000, UTC).replace(microsecond=milliseconds % 1000 * 1000)
