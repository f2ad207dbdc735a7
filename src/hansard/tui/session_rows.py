"""Sessions as lines of a list, in columns that fit the width."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content

from hansard.render.text import fit, one_line, pad, width
from hansard.render.words import cost, project_name, short, title_of, when

if TYPE_CHECKING:
    from hansard.model.sessions import Session

_GAP = "  "
_WHEN = 10  # the longest is a date in full
_TURNS = 5
_COST = 9
_PROJECT_SHARE = 5  # of the width, at most a fifth
_NARROW = 60  # columns, below which turns are left out
_PROJECT_STYLE = "ansi_green"
_LONGEST_TITLE = 400  # characters that are looked at


def heading(columns: int) -> Content:
    """The names of the columns."""
    return Content(_GAP.join(_cells(("WHEN", "PROJECT", "TITLE", "TURNS", "COST"), columns))).stylize("dim")


def session_row(session: Session, moment: datetime, columns: int) -> Content:
    """One session on one line."""
    amount = cost(
        session.cost_usd, lower_bound=session.lower_bound_messages > 0, unpriced=bool(session.unpriced_models)
    )
    title = f"{'◆ ' * session.pinned}{one_line(title_of(session)[:_LONGEST_TITLE])}"
    texts = (when(session.ended_at, moment), project_name(session.project), title, short(session.prompts), amount)
    time, project, *rest = _cells(texts, columns)
    styled = Content.assemble((time, "dim"), _GAP, (project, _PROJECT_STYLE), _GAP)
    return styled + Content(_GAP.join(rest))


def _cells(texts: tuple[str, str, str, str, str], columns: int) -> list[str]:
    """Texts cut and padded to the columns; the title gets what the others leave."""
    time, project, title, turns, amount = texts
    project_columns = max(8, columns // _PROJECT_SHARE)
    left = [pad(fit(time, _WHEN), _WHEN), pad(fit(project, project_columns), project_columns)]
    right = [pad(turns, _TURNS, right=True), pad(amount, _COST, right=True)] if columns >= _NARROW else []
    room = max(8, columns - sum(width(cell) + len(_GAP) for cell in [*left, *right]))
    return [*left, pad(fit(title, room), room), *right]
