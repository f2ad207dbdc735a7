"""The parameters that several endpoints share."""

from __future__ import annotations

from hansard.web.api.parameters import Choice, Moment, Text, Timezone

SESSION = Text("session", "The beginning of an id, words of a title, @last, or @2 for the one before it.")
QUERY = Text("q", "Words and fields in the language of `hansard search`.")
PROJECT = Text("project", "Of this project: a path or a part of one.")
MODEL = Text("model", "Of models whose name contains this.")
SINCE = Moment("since", "At or after: a date, a time, 7d, 24h, 2w, today, yesterday.")
UNTIL = Moment("until", "Before the end of that day, or before that time.", is_end=True)
TIMEZONE = Timezone("timezone", "Whose days are meant, e.g. Europe/Berlin; else that of the settings.")
CURSOR = Text("cursor", "Where a page ended: `next_cursor` of the answer before.")


def sort_order(sorts: tuple[str, ...], default: str | None) -> tuple[Choice, Choice]:
    """What a list is ordered by, and which way round."""
    return (
        Choice(
            "sort",
            "What to order by." if default else "What to order by; else times in order, the rest by cost.",
            sorts,
            default,
        ),
        Choice("order", "The smallest or the largest first; unless told what suits `sort`.", ("asc", "desc")),
    )
