"""What `recall` finds: passages, and the sessions they come from."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.fields import Timestamp
from hansard.model.tools import ToolKind


class RecalledPassage(Struct, frozen=True):
    """A stretch of one session that answers the question: a piece of a text, with what was said before and after it."""

    session_id: str
    uuid: str | None  # of the message that has the words
    transcript: str
    offset: int
    kind: str  # prompt, reply, thinking, call, title, command
    roles: tuple[str, ...]  # of all that is in it: user, assistant, system
    tool: str | None
    tool_kind: ToolKind
    agent_id: str | None
    timestamp: Timestamp | None
    text: str
    score: float
    found: float  # the share of the question's words that it has, by their rarity, up to 1


class RecalledSession(Struct, frozen=True):
    """A session with passages, best first."""

    session_id: str
    project: str
    title: str
    started_at: Timestamp | None
    ended_at: Timestamp | None
    files_changed: int
    errors: int
    passages: tuple[RecalledPassage, ...]
    matches: int  # its blocks among the candidates
    outcome: str  # of the replies that end a turn the piece that answers best; only of the first few


class Recollection(Struct, frozen=True):
    """An answer: sessions by their best passage, and what it leaves out."""

    words: tuple[str, ...]  # of the question, as searched for
    missing: tuple[str, ...]  # of these the ones that no passage has
    sessions: tuple[RecalledSession, ...]
    left_out: tuple[tuple[str, str], ...]  # id and title of further sessions with matches, best first
    is_cut: bool  # there are so many matches that better ones may be among those not looked at
    confidence: float  # the share of the question's words in the best passage, by their rarity, up to 1
    took_ms: float
