"""Budgets that act: a warning with a prompt, or a stop, when the session, the day, the week or the month has cost too much.

Nearly every call ends at a small file, which the worker writes after each sync and which says that nothing is near its limit.
Only if something is, the store is asked, so that nothing is stopped because of an old figure.
"""

from __future__ import annotations

import os

from hansard.cli.fast_start import decode
from hansard.cli.hook.run import PROMPT, TOOL, in_time
from hansard.files import write_private

TYPE_CHECKING = False  # `typing` would be the largest import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from hansard.config import Settings
    from hansard.engine import Hansard
    from hansard.model.ledger import Budget

STATE = "budgets.json"
"""In the folder of the hooks: whether a budget is near its limit, and which sessions are."""
_MOST = 1 << 20
_SESSIONS = 1_000  # in the file; with more, the store is asked every time
_PERIODS = {
    "session": "this session's budget",
    "day": "today's budget",
    "week": "this week's budget",
    "month": "this month's budget",
}


def budget_instructions(home: str, folder: str, event: str, said: dict[str, Any]) -> dict[str, Any]:
    """What the client shall do; nothing unless a budget is near its limit or passed."""
    session_id = said.get("session_id")
    session_id = session_id if isinstance(session_id, str) else ""
    if not _may_be_near(os.path.join(folder, STATE), event, session_id):
        return {}
    cwd = said.get("cwd")
    cwd = cwd if isinstance(cwd, str) else ""
    return in_time(lambda: _ask(home, session_id, cwd, is_tool=event == TOOL)) or {}


def _may_be_near(path: str, event: str, session_id: str) -> bool:
    """What the worker noted; without a note, only prompts are worth asking the store."""
    try:
        with open(path, "rb") as file:
            noted = decode(file.read(_MOST))
    except (OSError, ValueError, TypeError):
        return event == PROMPT
    if not isinstance(noted, dict) or not noted.get("action"):
        return False
    return bool(noted.get("is_near")) or session_id in (noted.get("sessions") or ())


def _ask(home: str, session_id: str, cwd: str, *, is_tool: bool) -> dict[str, Any]:
    from hansard import config

    settings = config.load(os.environ, home=home)
    if settings.budget_action is None or not os.path.exists(os.path.join(home, "index.db")):
        return {}
    with settings.open() as h:
        pressing = near_budgets(h, settings, session_id, cwd)
    over = [item for item in pressing if item.state == "over"]
    is_stopped = bool(over) and settings.budget_action == "block"
    if not pressing or (is_tool and not is_stopped):
        return {}
    return _instructions(words_of(over if is_stopped else pressing), is_stopped=is_stopped, is_tool=is_tool)


def near_budgets(h: Hansard, settings: Settings, session_id: str, cwd: str) -> list[Budget]:
    """The budgets that concern a session and are near their limit, or over it."""
    known = h.session_with_id(session_id) if session_id else None
    places = [place.casefold() for place in (cwd, known.project if known is not None else "") if place]
    limits = [
        limit
        for limit in settings.limits
        if limit.project is None or any(limit.project.casefold() in place for place in places)
    ]
    found = h.budgets(limits, session_id=known.session_id if known is not None else None, timezone=settings.timezone)
    return [item for item in found if item.state != "ok"]


def words_of(pressing: Sequence[Budget]) -> str:
    """What is spent, in one line for people."""
    from hansard.render.format import dollars

    parts = []
    for item in pressing:
        name = _PERIODS[item.period] + (f" of {item.project}" if item.project else "")
        spent = f"{dollars(item.spent_usd)} of {dollars(item.limit_usd)}"
        parts.append(f"{name} is spent: {spent}" if item.state == "over" else f"{item.share:.0%} of {name}: {spent}")
    return f"Hansard: {'; '.join(parts)}."


def _instructions(words: str, *, is_stopped: bool, is_tool: bool) -> dict[str, Any]:
    if not is_stopped:
        return {"systemMessage": words}
    words += ' To go on, raise the budget in Hansard\'s config.toml, or set action = "warn" below [budgets].'
    if not is_tool:
        return {"decision": "block", "reason": words}
    refusal = {"hookEventName": TOOL, "permissionDecision": "deny", "permissionDecisionReason": words}
    return {"continue": False, "stopReason": words, "hookSpecificOutput": refusal}


def note_budgets(h: Hansard, settings: Settings, folder: str) -> None:
    """Write the file for the next hooks: what is near, after a sync."""
    from json import dumps

    noted: dict[str, Any] = {"action": settings.budget_action}
    if settings.budget_action is not None:
        budgets = h.budgets(settings.limits, timezone=settings.timezone)
        limit = next((limit for limit in settings.limits if limit.period == "session"), None)
        dear: list[str] = []
        if limit is not None:
            query = f"cost:>={limit.limit_usd * limit.warn_at}"
            dear = [session.session_id for session in h.sessions(query, limit=_SESSIONS).sessions]
        is_near = any(item.state != "ok" for item in budgets) or len(dear) == _SESSIONS
        noted |= {"is_near": is_near, "sessions": dear}
    write_private(os.path.join(folder, STATE), dumps(noted).encode())
