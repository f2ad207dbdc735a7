"""What the last sessions of a project were about, in a few lines that the model of a new session reads."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hansard.cli.hook.run import in_time, say
from hansard.guard.passages import Quoter, age, cut_to_tokens, estimate_tokens, safe_text
from hansard.model.names import is_handle, shown_id
from hansard.render.format import many

if TYPE_CHECKING:
    from hansard.model.sessions import Session

SOURCES = frozenset({"startup", "clear", ""})
"""Ways a session starts without earlier context."""
_SESSIONS = 5
_CANDIDATES = 40
_TOKENS = 400
_TITLE_TOKENS = 50


def offer_briefing(home: str, said: dict[str, Any]) -> None:
    """Print the briefing, unless it takes too long or there is nothing to say."""
    folder = said.get("cwd")
    if said.get("source", "") not in SOURCES or not isinstance(folder, str) or not os.path.isabs(folder):
        return
    if os.path.exists(os.path.join(home, "index.db")):
        say(in_time(lambda: make_briefing(home, folder, str(said.get("session_id", "")))) or "")


def make_briefing(home: str, folder: str, present: str) -> str:
    """The titles of the last sessions in a folder or its project; empty if there are none."""
    from hansard import engine

    with engine.open(home) as h:
        candidates = h.sessions(project=folder, limit=_CANDIDATES).sessions
    place = folder.rstrip("/\\")
    last = [
        session
        for session in candidates
        if place in (session.project, session.cwd) and session.session_id != present and session.title
    ]
    if not last:
        return ""
    quoter, now = Quoter(), datetime.now(UTC)
    lines = [f"Earlier sessions in this project, from Hansard's record. {quoter.notice}"]
    room = _TOKENS - estimate_tokens(lines[0])
    for session in last[:_SESSIONS]:
        line = _line(session, quoter, now)
        room -= estimate_tokens(line) + 1
        if room < 0:
            break
        lines.append(line)
    return "\n".join(lines) + "\n"


def _line(session: Session, quoter: Quoter, now: datetime) -> str:
    title = " ".join(cut_to_tokens(safe_text(session.title), _TITLE_TOKENS).split())
    when = age(session.ended_at, now) if session.ended_at else "at an unknown time"
    changed = f", {many(session.files_changed, 'file')} changed" if session.files_changed else ""
    name = shown_id(session.session_id)
    return f"- {when}, session {name if is_handle(name) else name[:8]}{changed}: {quoter.quote(title)}"
