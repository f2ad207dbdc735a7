"""Matches by session, and the fields of hits: what a search in a store and one in a team's database have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from zlib import crc32

from hansard.clients import client_of
from hansard.errors import UsageError
from hansard.model.search import Hit, LineLocation, SessionHits
from hansard.model.time import from_milliseconds
from hansard.query.compile import ROLES

if TYPE_CHECKING:
    from datetime import datetime

    from hansard.clients.protocol import Client
    from hansard.model.requests import SearchRequest
    from hansard.query.search.blocks import TextBlock
    from hansard.query.search.excerpts import Excerpt

HITS_PER_SESSION = 3
LATEST = 250_000_000_000_000  # a time in milliseconds later than any real one
_MORE_HITS = 0.08  # added to a session's score by each further hit, for the first few
_MOST_MORE = 5


class Match(Protocol):
    """A match that may be shown."""

    score: float

    @property
    def block(self) -> TextBlock: ...


_Match = TypeVar("_Match", bound=Match)


def grouped(found: Sequence[_Match], *, by_worth: bool) -> list[list[_Match]]:
    """The matches by session, ordered by the sessions' scores or by their first matches."""
    groups: dict[str, list[_Match]] = {}
    for one in found:
        groups.setdefault(one.block.session_id or f"?{one.block.id}", []).append(one)
    return sorted(groups.values(), key=worth, reverse=True) if by_worth else list(groups.values())


def worth(group: Sequence[Match]) -> float:
    """The score of a session."""
    more = min(len(group) - 1, _MOST_MORE)
    return max(one.score for one in group) * (1 + _MORE_HITS * more)


def different(group: Sequence[_Match]) -> list[_Match]:
    """The matches of a session, with only the best of its titles."""
    titles = [one for one in group if one.block.kind == "title"]
    return [one for one in group if one.block.kind != "title" or one is titles[0]]


def hit_fields(
    found: Match, excerpt: Excerpt, *, project: str, title: str, others: Iterable[LineLocation]
) -> dict[str, Any]:
    """The fields of a hit; `others` are the other locations of its message."""
    block = found.block
    client = known_client(block.client)
    return {
        "session_id": block.session_id,
        "project": project,
        "title": title,
        "transcript": block.path,
        "offset": block.offset,
        "block": block.number,
        "uuid": block.uuid,
        "kind": block.kind,
        "role": ROLES.get(block.kind, "system"),
        "tool": block.tool or None,
        "agent_id": block.agent_id or None,
        "is_error": block.is_error,
        "is_current": block.is_current,
        "timestamp": from_milliseconds(block.at),
        "snippet": excerpt.text,
        "highlights": excerpt.spans,
        "before": excerpt.before,
        "after": excerpt.after,
        "score": round(found.score, 4),
        "others": tuple(others),
        "speaker": client.speaker if client is not None else "",
        "tool_kind": client.tool_kind(block.tool) if client is not None and block.tool else "other",
        "is_in_thread": block.kind != "title" and block.is_shown,
        "is_in_other_transcript": block.kind != "title"
        and block.is_current
        and block.log_kind in ("main", "log")
        and not block.is_shown,
    }


def session_hits(
    group: Sequence[Match],
    best: Iterable[Hit],
    *,
    project: str,
    title: str,
    started_at: datetime | None,
    ended_at: datetime | None,
) -> SessionHits:
    """A session and the best of its hits."""
    return SessionHits(
        session_id=group[0].block.session_id,
        project=project,
        title=title,
        started_at=started_at,
        ended_at=ended_at,
        matches=len(group),
        score=round(worth(group), 4),
        hits=tuple(best),
    )


def known_client(name: str) -> Client | None:
    """A client; None for files beside transcripts, and for clients that are not installed here."""
    try:
        return client_of(name) if name else None
    except UsageError:
        return None


def made_for(name: str, request: SearchRequest, *more: str | None) -> list[Any]:
    """What a cursor of a search begins with: another search refuses it."""
    asked = [
        request.query,
        request.group,
        request.sort,
        *(f"{name} {value}" for name, value in request.given().items()),
        *(() if request.command_output else ("no command output",)),
        *more,
    ]
    return [name, crc32(json.dumps(asked).encode("utf-8", "replace"))]
