"""Addresses of pages, with their parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from hansard.render.html.escaping import element_id

if TYPE_CHECKING:
    from hansard.model.calls import Call

UrlValue = str | int | bool | None | Iterable[str | None]


def place(path: str, /, **asked: UrlValue) -> str:
    """An address; None, False and empty texts are left out, a list gives one parameter for each of its values."""
    pairs: list[tuple[str, str]] = []
    for name, value in asked.items():
        if value is None or value is False or value == "":
            continue
        if isinstance(value, (str, int)):
            pairs.append((name, "1" if value is True else str(value)))
        else:
            pairs += [(name, "" if one is None else one) for one in value]  # nothing in a list may be left out
    text = urlencode(pairs, errors="replace", safe="/:,")
    return f"{path}?{text}" if text else path


def session_place(session_id: str, offset: int | None = None, agent_id: str = "", q: str = "") -> str:
    """A session, or the line at a byte of it or of one of its subagents; matches of `q` are marked there."""
    path = f"/sessions/{quote(session_id, safe='', errors='replace')}"
    if offset is None:
        return path
    return f"{place(path, at=offset, agent=agent_id or None, q=q or None)}#{line_id(offset, agent_id)}"


def line_id(offset: int, agent_id: str = "") -> str:
    """The id of a line on the page of its session."""
    return element_id("m", f"{agent_id}-{offset}" if agent_id else str(offset))


def listed_place(call: Call) -> str:
    """A call of a list: its line, or its session if that does not show the line."""
    return (
        session_place(call.session_id, call.offset, call.agent_id) if call.is_shown else session_place(call.session_id)
    )


def day_place(day: str) -> str:
    """The sessions of a day."""
    return place("/sessions", since=day, until=day)
