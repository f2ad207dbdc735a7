"""Sessions as a table, and one line per session for the commands that pin, rename and tag them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from hansard.cli.context import Context
from hansard.render.format import cost as marked_cost
from hansard.render.format import model_name, project_name, short, when
from hansard.render.terminal.cost_table import aligned
from hansard.render.terminal.tables import Column, table
from hansard.render.text import Paint, fit, one_line, width

if TYPE_CHECKING:
    from hansard.model.sessions import Remarks, Session


_SESSIONS = (
    Column("WHEN", style="dim"),
    Column("ID", style="cyan"),
    Column("PROJECT", least=8, rank=1, style="green"),
    Column("TITLE", least=28),
    Column("PROMPTS", right=True, rank=2),
    Column("TOOLS", right=True, rank=5),
    Column("OUT", right=True, rank=6),
    Column("COST", right=True, rank=4),
    Column("BRANCH", least=8, rank=8, style="dim"),
    Column("MODEL", least=8, rank=7, style="dim"),
    Column("", rank=3, style="yellow"),
)


_TAGS = Column("TAGS", least=8, rank=5, style="magenta")


def session_table(found: Sequence[Session], moment: datetime, columns: int, paint: Paint) -> list[str]:
    """The lines of a table of sessions."""
    rows = [
        (
            when(session.ended_at, moment),
            one_line(session.session_id[:8]),
            project_name(session.project),
            f"{'◆ ' * session.pinned}{one_line(session.title[:400]) or '(untitled)'}",
            short(session.prompts),
            short(session.tool_calls),
            short(session.output_tokens),
            cost,
            one_line(session.branch),
            model_name(session.models[0]) if session.models else "",
            session.source_state if session.source_state != "live" else "",
        )
        for session, cost in zip(found, aligned([_cost(session) for session in found]), strict=True)
    ]
    if not any(session.tags for session in found):
        return table(_SESSIONS, rows, columns, paint)
    tagged = [(*row, one_line(" ".join(session.tags))) for row, session in zip(rows, found, strict=True)]
    return table((*_SESSIONS, _TAGS), tagged, columns, paint)


def _cost(session: Session) -> str:
    bounds, unpriced = session.lower_bound_messages > 0, bool(session.unpriced_models)
    return marked_cost(session.cost_usd, lower_bound=bounds, unpriced=unpriced)


PINNED = "◆"


def say_remarks(cli: Context, found: Sequence[Remarks]) -> None:
    """One line per session: as it stands now."""
    paint = cli.paint()
    lines = []
    for item in found:
        head = one_line(item.session_id[:8])
        tags = " ".join(one_line(tag) for tag in item.tags)
        mark = f"{PINNED} " if item.pinned else ""
        room = cli.width() - width(head) - 2 - (width(tags) + 2 if tags else 0)
        title = fit(mark + (one_line(item.title) or "(untitled)"), max(room, 28))
        lines.append("  ".join(filter(None, (paint(head, "cyan"), title, paint(tags, "magenta") if tags else ""))))
    cli.say(lines)
