"""What is wrong with something that was typed into a field, told beside it; and the times that fields ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from hansard.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

TIMES = {
    "today": "Today",
    "7d": "Last 7 days",
    "30d": "Last 30 days",
    "90d": "Last 90 days",
    "1y": "Last year",
}
"""What can be chosen as the beginning of a list."""
_AROUND = 40


@dataclass(frozen=True, slots=True)
class FormError:
    """What is wrong, and where: the text before the place, the place itself, and what follows."""

    problem: str
    before: str = ""
    here: str = ""
    after: str = ""
    column: int | None = None  # counted from 1

    @classmethod
    def of(cls, error: UsageError) -> Self:
        """What an error says; that of a query knows its place."""
        from hansard.query.language import QueryError

        if not isinstance(error, QueryError):
            return cls(str(error))
        at = min(max(error.column, 0), len(error.query))
        before, here, after = error.query[:at], error.query[at : at + 1], error.query[at + 1 :]
        return cls(
            error.problem,
            f"…{before[-_AROUND:]}" if len(before) > _AROUND else before,
            here or " ",
            f"{after[:_AROUND]}…" if len(after) > _AROUND else after,
            at + 1,
        )


def times_of(
    since: str | None, until: str | None, now: datetime, zone: tzinfo | None, mistakes: dict[str, FormError]
) -> tuple[datetime | None, datetime | None]:
    """From when to when is asked for; what is no time is added to the mistakes."""
    from hansard.query.language.dates import parse_span

    found: list[datetime | None] = []
    for name, text in (("since", since), ("until", until)):
        try:
            span = None if text is None else parse_span(text, now, zone)
        except UsageError as error:
            mistakes[name] = FormError.of(error)
            span = None
        found.append(None if span is None else span.end if name == "until" else span.start)
    return found[0], found[1]
