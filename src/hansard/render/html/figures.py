"""Times and tokens as a page shows them."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from hansard.render.words import many

if TYPE_CHECKING:
    from hansard.model.ledger import Tokens

_MONTHS = "January February March April May June July August September October November December".split()


def lasting(time: timedelta) -> str:
    """A stretch of time in its two largest units."""
    seconds = max(0.0, time.total_seconds())
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, name, lower, lower_name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= unit:
            rest = whole % unit // lower
            return f"{whole // unit} {name}" + (f" {rest} {lower_name}" if rest else "")
    return f"{whole} s"


def local(moment: datetime, zone: tzinfo) -> datetime:
    """A time in a zone; at the ends of the calendar, where no zone fits, as it is."""
    try:
        return moment.astimezone(zone)
    except (OverflowError, ValueError):
        return moment


def day(moment: datetime) -> str:
    """A day in full."""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def month(moment: datetime) -> str:
    """A month in full."""
    return f"{_MONTHS[moment.month - 1]} {moment.year}"


def span(started: datetime, ended: datetime) -> str:
    """From when to when, naming the day once where it is one."""
    first = f"{day(started)}, {started:%H:%M}"
    if started.date() == ended.date():
        return first if f"{started:%H:%M}" == f"{ended:%H:%M}" else f"{first} to {ended:%H:%M}"
    return f"{first} to {day(ended)}, {ended:%H:%M}"


def machine(moment: datetime) -> str:
    """A time for programs."""
    return moment.isoformat().replace("+00:00", "Z")


def told(tokens: Tokens) -> str:
    """Every class of tokens that was used, in words."""
    written = tokens.cache_write_5m + tokens.cache_write_1h
    named = (
        (tokens.input, "input"),
        (tokens.output, "output"),
        (tokens.cache_read, "cache read"),
        (written, "cache write"),
    )
    words = [f"{count:,} {name}" for count, name in named if count]
    if tokens.web_searches:
        words.append(many(tokens.web_searches, "web search", "web searches"))
    return ", ".join(words)


def total(tokens: Tokens) -> int:
    """All tokens together."""
    return tokens.input + tokens.output + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h
