"""The relations that machines push: which public views, and how each is keyed and split."""

from __future__ import annotations

from typing import NamedTuple

from hansard.sql.merging import RATES, USAGE_LINES
from hansard.sql.view import View
from hansard.sql.views import VIEWS

_LINE = ("machine", "transcript", "byte_offset")


class Pushed(NamedTuple):
    """A table of rows that machines push."""

    view: View
    key: tuple[str, ...] = ()
    by_place: bool = False
    """Whether its rows lie at places of transcripts, so that a page of a transcript is replaced at a time."""
    indexes: tuple[str, ...] = ()
    always: frozenset[str] = frozenset()
    """Content that is pushed of every project: merging orders machines by it."""

    @property
    def name(self) -> str:
        return f"pushed_{self.view.name}"

    @property
    def owner(self) -> str:
        """The column that names the session of a row."""
        return "source" if self.view.name == "links" else "session_id"

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.view.columns)


OF_SESSIONS = (
    Pushed(
        VIEWS["sessions"],
        ("machine", "session_id"),
        indexes=("session_id", "ended_at"),
        always=frozenset({"root"}),
    ),
    Pushed(VIEWS["transcripts"], ("machine", "transcript"), indexes=("machine, session_id",)),
    Pushed(VIEWS["agents"], ("machine", "session_id", "agent_id")),
    Pushed(VIEWS["links"], ("machine", "source", "relation", "target")),
    Pushed(VIEWS["remarks"], indexes=("machine, session_id",)),
)
"""Replaced as a whole when anything about their session changes."""
BY_PLACE: tuple[Pushed, ...] = (
    Pushed(VIEWS["turns"], _LINE, by_place=True, indexes=("session_id",)),
    Pushed(VIEWS["messages"], _LINE, by_place=True, indexes=("session_id",)),
    Pushed(VIEWS["blocks"], (*_LINE, "block"), by_place=True),
    Pushed(VIEWS["tool_calls"], (*_LINE, "block"), by_place=True, indexes=("session_id", "message_key")),
    Pushed(VIEWS["prompts"], _LINE, by_place=True, indexes=("session_id",)),
    Pushed(VIEWS["compactions"], _LINE, by_place=True),
    Pushed(VIEWS["issues"], _LINE, by_place=True),
    Pushed(
        USAGE_LINES,
        ("message_key", "machine"),
        by_place=True,
        indexes=("machine, transcript, byte_offset", "session_id", "at"),
        always=frozenset({"path", "root"}),
    ),
)
DERIVED = ("projects", "file_changes", "usage")
"""Public views that the server makes of others."""
OTHERS = tuple(
    Pushed(view, by_place=True, indexes=("machine, transcript, byte_offset", "session_id"))
    for name, view in VIEWS.items()
    if name not in DERIVED and name not in {table.view.name for table in (*OF_SESSIONS, *BY_PLACE)}
)
"""Views of rows at places, of which nothing else is known here."""
BY_PLACE += OTHERS
PRICES = Pushed(RATES, ("machine", "rate"))
"""Prices are of a machine, not of a project."""
EVERY = (*OF_SESSIONS, *BY_PLACE)
