"""Which messages a report counts: the options that the commands of the ledger share, and the time zone they are read in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from hansard.cli.context import now

if TYPE_CHECKING:
    from hansard.config import Settings
    from hansard.ledger.calendar import Zone

_Command = TypeVar("_Command", bound=Callable[..., Any])


class Period(NamedTuple):
    """From when to when, and in which zone days and dates are meant."""

    zone: Zone
    timezone: str | None  # as the engine takes it
    since: datetime | None
    until: datetime | None


def counts(command: _Command) -> _Command:
    """The options that choose messages."""
    for add in (
        click.option("--model", metavar="TEXT", help="Of models whose name contains this."),
        click.option("--project", metavar="TEXT", help="Only in this project: a path or part of one."),
        click.option("--timezone", metavar="ZONE", help="Time zone of days, e.g. Europe/Berlin; your own by default."),
        click.option("--until", metavar="WHEN", help="Before the end of that day, or before that time."),
        click.option("--since", metavar="WHEN", help="At or after: 2026-05-01, 7d, monday, '3 days ago'."),
    ):
        command = add(command)
    return command


def period(settings: Settings, timezone: str | None, since: str | None, until: str | None) -> Period:
    """The time that the user means; dates are read in the named zone, which may stand behind them on the line."""
    from hansard.cli.dates import parse_moment
    from hansard.ledger.calendar import find_zone

    timezone = timezone or settings.timezone
    zone = find_zone(timezone)
    moment = now()
    begin = None if since is None else parse_moment(since, moment, zone=zone.info)
    end = None if until is None else parse_moment(until, moment, end=True, zone=zone.info)
    return Period(zone, timezone, begin, end)


def filter_line(query: tuple[str, ...], **options: str | None) -> list[str]:
    """What a report was narrowed down to, as it was typed; nothing where it counts everything."""
    given = [f"--{name} {value}" for name, value in options.items() if value is not None]
    return [f"Filter: {' '.join([*given, *query])}"] if given or query else []
