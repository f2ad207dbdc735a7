"""Search results: hits of a query, prompts, passages that answer a question, and lines of the record that match a regular expression."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hansard.model.fields import Timestamp
from hansard.model.tools import ToolKind

UNWRITTEN = ("speaker", "tool_kind", "is_in_thread", "is_in_other_transcript")
"""Fields of a hit that renderers need and JSON omits."""


class LineLocation(Struct, frozen=True):
    """A location: a line of a transcript."""

    session_id: str
    transcript: str
    offset: int


class Hit(Struct, frozen=True):
    """A text that matches a search: a prompt, a reply, a tool's call or result, a title, ..."""

    session_id: str
    project: str
    title: str  # of the session
    transcript: str
    offset: int  # of its line in the transcript
    block: int  # its index in the line
    uuid: str | None
    kind: str  # prompt, reply, thinking, call, result, title, command, note
    role: str  # user, assistant, tool, system
    tool: str | None
    agent_id: str | None
    is_error: bool
    is_current: bool  # False: from a generation of its transcript that is not read, see docs/storage.md
    timestamp: Timestamp | None
    snippet: str
    highlights: tuple[tuple[int, int], ...]  # ranges in the snippet: from, to
    before: tuple[str, ...]  # lines, if requested
    after: tuple[str, ...]
    score: float
    others: tuple[LineLocation, ...]  # other places with the same record: forks, replays, former generations
    speaker: str = ""  # what its client calls the model
    tool_kind: ToolKind = "other"
    is_in_thread: bool = False  # titles may be in another session's file, and outputs in files of their own
    is_in_other_transcript: bool = False  # in another transcript of the session than the one it is read from

    def as_plain(self) -> dict[str, Any]:
        """One object, without the fields only renderers need."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name not in UNWRITTEN}


class TeamHit(Hit, frozen=True, kw_only=True):
    """A text that a search in a team's database found."""

    machine: str
    person: str


class SessionHits(Struct, frozen=True):
    """A session and its best hits."""

    session_id: str
    project: str
    title: str
    started_at: Timestamp | None
    ended_at: Timestamp | None
    matches: int  # among the texts that were ranked
    score: float
    hits: tuple[Hit, ...]


class Facets(Struct, frozen=True):
    """Counts of the matching texts by kind, most first."""

    project: tuple[tuple[str, int], ...]
    tool: tuple[tuple[str, int], ...]
    kind: tuple[tuple[str, int], ...]
    month: tuple[tuple[str, int], ...]  # latest first
    counted: int
    truncated: bool  # there are more than were counted
    model: tuple[tuple[str, int], ...] = ()  # of their sessions
    client: tuple[tuple[str, int], ...] = ()
    day: tuple[tuple[str, int], ...] = ()  # latest first


class PartialMatches(Struct, frozen=True):
    """The best matches for fewer words, if no text has all words of a query."""

    words: int  # that each of them has, at least
    of: int
    hits: tuple[Hit, ...]
    sessions: tuple[SessionHits, ...]  # when grouped
    total: int
    truncated: bool  # there are more than the hits

    @property
    def heading(self) -> str:
        """How to introduce them."""
        return f"no message has all words; best matches for {self.words} of {self.of}"


class FoundNote(Struct, frozen=True):
    """A note of the user's that has the words of a search."""

    session_id: str
    project: str
    title: str  # of the session
    note: str
    at: Timestamp | None


class SearchPage(Struct, frozen=True):
    """One page of search results."""

    hits: tuple[Hit, ...]
    sessions: tuple[SessionHits, ...]  # when grouped
    total: int  # matching places, copies included
    truncated: bool  # there are more than `total` says
    next_cursor: str | None
    took_ms: float
    not_indexed_bytes: int  # bytes of the record not yet in the full-text index
    notes: tuple[str, ...]
    facets: Facets | None = None
    partial: PartialMatches | None = None  # only if nothing matches
    found_notes: tuple[FoundNote, ...] = ()  # on the first page; not among the hits, nor in their total


class GrepFile(Struct, frozen=True):
    """A file of the record that was searched: one generation of a log, or one version of a small file."""

    root: str
    path: str
    kind: str
    generation: int
    current: bool
    size: int
    session_id: str
    agent_id: str


class GrepLine(Struct, frozen=True):
    """A matching line of the record, or one near it; byte positions count from the line's beginning."""

    file: GrepFile
    line: int  # from 1
    offset: int  # of the line in the file
    length: int  # without the line break
    start: int | None  # of the match; None for a line of context
    end: int | None
    text: bytes  # as requested: the stretch around the match, the match alone, or the whole line
    text_at: int  # where in the line the text begins


class GrepCount(Struct, frozen=True):
    """How many lines of a file match."""

    file: GrepFile
    matched_lines: int


class Prompt(Struct, frozen=True):
    """Something a human typed."""

    text: str
    source: str  # prompt, queued, command, bash, history
    at: Timestamp | None
    session_id: str | None  # missing in old lines of history.jsonl
    project: str
    session_kept: bool  # False: the transcript was gone before Hansard's first sync
    copies: int = 0  # other transcripts that contain it: forks, synced copies
    times: int = 1  # how often it was typed, if equal texts are listed once
    transcript: str = ""  # of its line, relative to the config dir
    offset: int = 0


class PromptPage(Struct, frozen=True):
    """Prompts, and where the next page begins, if there is one."""

    prompts: tuple[Prompt, ...]
    next_cursor: str | None
    total: int  # a lower bound unless counting was requested
    sources: dict[str, int] = {}  # how many of `total` are prompts, queued prompts, commands, ...


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
    is_cut: bool  # better matches may be among those not looked at
    confidence: float  # the share of the question's words in the best passage, by their rarity, up to 1
    took_ms: float
