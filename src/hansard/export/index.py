"""The page of a folder that lists its sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from hansard.render.format import ProjectNames, many, model_name, project_name
from hansard.render.text import one_line

if TYPE_CHECKING:
    from hansard.model.sessions import Session

_NEVER = datetime.min.replace(tzinfo=UTC)
SessionLink = Sequence[tuple["Session", str]]
"""Sessions with the addresses of their files."""


def draw_index(form: str, listed: SessionLink, zone: tzinfo, names: ProjectNames) -> Iterator[bytes]:
    """The page in HTML or Markdown, in pieces."""
    if form == "html":
        from hansard.render.html import SessionLink as Entry
        from hansard.render.html import index_page

        entries = [Entry(session, name) for session, name in listed]
        for piece in index_page(entries, zone=zone, names=names):
            yield piece.encode("utf-8", "replace")
    else:
        for line in _markdown(listed, zone, names):
            yield line.encode("utf-8", "replace") + b"\n"


def _markdown(listed: SessionLink, zone: tzinfo, names: ProjectNames) -> Iterator[str]:
    from hansard.render.format import listed_cost
    from hansard.render.markdown_text import escape

    yield "# Sessions\n"
    yield f"{many(len(listed), 'session')}, the newest first."
    projects: dict[str, list[tuple[Session, str]]] = {}
    for session, name in sorted(listed, key=lambda entry: entry[0].ended_at or _NEVER, reverse=True):
        projects.setdefault(session.project, []).append((session, name))
    for project, entries in projects.items():
        yield f"\n## {escape(project_name(project, names)) or '(no project)'}\n"
        yield "| when | session | prompts | tool calls | cost | model |"
        yield "|---|---|--:|--:|--:|---|"
        for session, name in entries:
            cells = (
                _when(session.ended_at, zone),
                f"[{escape(one_line(session.title[:400])) or '(untitled)'}]({name}){_marks(session)}",
                f"{session.prompts:,}",
                f"{session.tool_calls:,}",
                escape(listed_cost(session)) if session.api_messages else "",
                escape(model_name(session.models[0])) if session.models else "",
            )
            yield f"| {' | '.join(cells)} |"


def _when(moment: datetime | None, zone: tzinfo) -> str:
    if moment is None:
        return ""
    try:
        here = moment.astimezone(zone)
    except (OverflowError, OSError, ValueError):  # at the ends of the calendar no zone fits
        here = moment
    return f"{here.year:04}-{here:%m-%d %H:%M}"


def _marks(session: Session) -> str:
    """What the user said about it, behind its title."""
    from hansard.render.markdown_text import escape

    words = (["pinned"] if session.pinned else []) + [escape(one_line(tag)) for tag in session.tags]
    return f" ({', '.join(words)})" if words else ""
