"""Sessions like another."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.sessions import Session


class Related(Struct, frozen=True):
    """A session like another one, and why: the few things that tell most, the best first."""

    session: Session
    score: float
    files: tuple[str, ...]
    words: tuple[str, ...]
    links: tuple[str, ...]  # fork, branch, clear, continued_in, context, summary, resumed
    same_project: bool
    shared_files: int = 0  # all of them, of which `files` has the best
