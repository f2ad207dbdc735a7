"""Sessions as a table, and one line per session for the commands that pin, rename and tag them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from hansard.cli.context import Context
from hansard.model.table import Column, Cost, Kind, Table
from hansard.render.format import remark_marks, titled
from hansard.render.text import fit, one_line, short_id, width

if TYPE_CHECKING:
    from hansard.model.sessions import Remarks, Session

_SESSIONS = (
    Column("WHEN", Kind.TIME),
    Column("ID", Kind.ID),
    Column("PROJECT", Kind.PROJECT, rank=1),
    Column("TITLE", least=28),
    Column("PROMPTS", Kind.ROUNDED, rank=2),
    Column("TOOLS", Kind.ROUNDED, rank=5),
    Column("OUT", Kind.ROUNDED, rank=6),
    Column("COST", Kind.COST, rank=4),
    Column("BRANCH", least=8, rank=8, style="dim"),
    Column("MODEL", Kind.MODEL, least=8, rank=7, style="dim"),
    Column("", rank=3, style="yellow"),
    Column("CLIENT", rank=2, style="dim"),
    Column("SECRETS", Kind.COUNT, rank=2, style="red"),
    Column("TAGS", least=8, rank=5, style="magenta"),
    Column("PERSON", rank=1),
)


def session_table(
    found: Sequence[Session], *, secrets: Mapping[str, int] = MappingProxyType({}), people: Sequence[str] = ()
) -> Table:
    """A table of sessions; `secrets` are the numbers of open ones by session, `people` those of the sessions, in a team."""
    rows = [
        (
            session.ended_at,
            session.session_id,
            session.project,
            f"{remark_marks(session)}{titled(session.title)}",
            session.prompts,
            session.tool_calls,
            None if session.has_no_usage else session.output_tokens,
            None
            if session.has_no_usage
            else Cost(session.cost_usd, session.lower_bound_messages > 0, bool(session.unpriced_models)),
            session.branch,
            session.models[0] if session.models else None,
            session.source_state if session.source_state != "live" else None,
            session.client,
            secrets.get(session.session_id),
            " ".join(session.tags),
            people[number] if people else None,
        )
        for number, session in enumerate(found)
    ]
    without = set() if people else {"PERSON"}
    if not any(session.other_client for session in found):
        without.add("CLIENT")
    if not any(session.session_id in secrets for session in found):
        without.add("SECRETS")
    if not any(session.tags for session in found):
        without.add("TAGS")
    kept = [number for number, column in enumerate(_SESSIONS) if column.title not in without]
    return Table([_SESSIONS[number] for number in kept], [tuple(row[number] for number in kept) for row in rows])


PINNED = "◆"


def remark_lines(cli: Context, found: Sequence[Remarks]) -> list[str]:
    """One line per session, after a change."""
    paint = cli.paint()
    lines = []
    for item in found:
        head = short_id(item.session_id)
        tags = " ".join(one_line(tag) for tag in item.tags)
        mark = f"{PINNED} " if item.pinned else ""
        room = cli.width() - width(head) - 2 - (width(tags) + 2 if tags else 0)
        title = fit(mark + (one_line(item.title) or "(untitled)"), max(room, 28))
        lines.append("  ".join(filter(None, (paint(head, "cyan"), title, paint(tags, "magenta") if tags else ""))))
    return lines
