"""Dates as people type them, as values of options."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

import click

from hansard.errors import UsageError
from hansard.query.language.dates import parse_span

if TYPE_CHECKING:
    from typing import Any

    _ParamType = click.ParamType[datetime]  # generic for the type checker only: older clicks do not know it
else:
    _ParamType = click.ParamType


def parse_moment(text: str, now: datetime, *, end: bool = False, zone: tzinfo | None = None) -> datetime:
    """The time that is meant; a day, a month or a year means its beginning, or with `end` the moment after it."""
    span = parse_span(text, now, zone)
    return span.end if end else span.start


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
