"""Which sessions are written together: by the month they began in, up to some megabytes of transcripts.

A session stays in its part, so that a change of one rewrites its part only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hansard.lake.manifest import Part

MOST_BYTES = 16 << 20  # of transcripts, unless one session has more
MOST_SESSIONS = 400
UNKNOWN = "unknown"


class Known(NamedTuple):
    """A session as it is here."""

    state: str
    month: str
    bytes: int


class Planned(NamedTuple):
    """A part as it has to become."""

    month: str
    number: int
    sessions: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.month}-{self.number}"


def plan(former: Iterable[Part], sessions: Mapping[str, Known]) -> list[Planned]:
    """Every part, in order; those of which nothing is left have no sessions."""
    members: dict[tuple[str, int], dict[str, str]] = {}
    placed: set[str] = set()
    for part in former:
        kept = {id_: sessions[id_].state for id_ in part.sessions if id_ in sessions and id_ not in placed}
        placed.update(kept)
        members[part.month, part.number] = kept
    sizes = {key: sum(sessions[id_].bytes for id_ in kept) for key, kept in members.items()}
    last: dict[str, int] = {}
    for month, number in members:
        last[month] = max(number, last.get(month, 0))
    for id_, session in sessions.items():
        if id_ in placed:
            continue
        key = (session.month, last.get(session.month, 0))
        there = members.get(key, {})
        if there and (sizes[key] + session.bytes > MOST_BYTES or len(there) >= MOST_SESSIONS):
            key = (session.month, key[1] + 1)
        last[session.month] = key[1]
        members.setdefault(key, {})[id_] = session.state
        sizes[key] = sizes.get(key, 0) + session.bytes
    return [Planned(month, number, kept) for (month, number), kept in sorted(members.items())]
