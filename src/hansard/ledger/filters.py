"""Which messages are wanted: the conditions of a report as SQL over `spending` or `charges`."""

from __future__ import annotations

import json
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from hansard.query.language.options import make_query

if TYPE_CHECKING:
    from hansard.model.requests import Conditions
    from hansard.query.compile import Target
    from hansard.query.language import Node
    from hansard.query.reader import Reader


class UsageFilter(NamedTuple):
    """What a report is to count; everything given must hold."""

    query: Node | None = None
    since: datetime | None = None  # what the query says about time, for those who read the report
    until: datetime | None = None
    sessions: tuple[str, ...] | None = None  # these ids only


def usage_filter(text: str | None, conditions: Conditions, *, now: datetime, zone: tzinfo | None = None) -> UsageFilter:
    """What a query's text and the conditions beside it ask of the ledger."""
    return UsageFilter(make_query(text, conditions, now=now, zone=zone), conditions.since, conditions.until)


class Selection:
    """A condition over the columns that `spending` and `charges` share, and which of the two it needs."""

    def __init__(self, reader: Reader, wanted: UsageFilter, target: Target | None = None) -> None:
        self.is_fine = False  # whether sums per quarter of an hour are too coarse
        self.where = "1"
        self.values: tuple[object, ...] = ()
        if wanted.query is not None:
            from hansard.query.compile import USAGE, Compiler

            compiler = Compiler(reader, target or USAGE)
            asked = compiler.condition(wanted.query)
            if asked is not None:
                self.where, self.values, self.is_fine = asked.sql, asked.values, compiler.is_fine
        if wanted.sessions is not None:
            self.where += " AND session_id IN (SELECT value FROM json_each(?))"
            self.values += (json.dumps(wanted.sessions),)

    @property
    def source(self) -> str:
        """The table or view to read."""
        return "charges" if self.is_fine else "spending"
