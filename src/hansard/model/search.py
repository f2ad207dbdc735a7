"""What searches find: hits of a query, prompts, and lines of the record that match a regular expression."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hansard.model.fields import Timestamp
from hansard.model.tools import ToolKind

UNWRITTEN = ("speaker", "tool_kind")
"""Fields of a hit that drawings need and JSON does not have."""


class LineLocation(Struct, frozen=True):
    """Where something stands: a line of a transcript."""

    session_id: str
    transcript: str
    offset: int


class Hit(Struct, frozen=True):
    """A text that answers a search: a prompt, a reply, a tool's call or result, a title, ..."""

    session_id: str
    project: str
    title: str  # of the session
    transcript: str
    offset: int  # of its line in the transcript
    block: int  # its number in the line
    uuid: str | None
    kind: str  # prompt, reply, thinking, call, result, title, command, note
    role: str  # user, assistant, tool, system
    tool: str | None
    agent_id: str | None
    is_error: bool
    is_current: bool  # False: of a generation of its transcript that is not read, see docs/storage.md
    timestamp: Timestamp | None
    snippet: str
    highlights: tuple[tuple[int, int], ...]  # of the snippet: from, to
    before: tuple[str, ...]  # lines, where they were asked for
    after: tuple[str, ...]
    score: float
    others: tuple[LineLocation, ...]  # where the same record stands too: forks, replays, former generations
    speaker: str = ""  # what its client calls the model
    tool_kind: ToolKind = "other"

    def as_plain(self) -> dict[str, Any]:
        """One object, without what is for drawings."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name not in UNWRITTEN}


class SessionHits(Struct, frozen=True):
    """A session and the best of what was found in it."""

    session_id: str
    project: str
    title: str
    started_at: Timestamp | None
    ended_at: Timestamp | None
    matches: int  # of the texts that were weighed
    score: float
    hits: tuple[Hit, ...]


class Facets(Struct, frozen=True):
    """How many of the matching texts there are of each kind, most first."""

    project: tuple[tuple[str, int], ...]
    tool: tuple[tuple[str, int], ...]
    kind: tuple[tuple[str, int], ...]
    month: tuple[tuple[str, int], ...]  # the latest first
    counted: int
    truncated: bool  # there are more than were counted
    model: tuple[tuple[str, int], ...] = ()  # of the sessions that they stand in
    client: tuple[tuple[str, int], ...] = ()
    day: tuple[tuple[str, int], ...] = ()  # the latest first


class SearchPage(Struct, frozen=True):
    """One page of what a search found."""

    hits: tuple[Hit, ...]
    sessions: tuple[SessionHits, ...]  # when grouped
    total: int  # places that match, copies included
    truncated: bool  # there are more than `total` says
    next_cursor: str | None
    took_ms: float
    not_indexed_bytes: int  # of the record, not yet in the full text
    notes: tuple[str, ...]
    facets: Facets | None = None


class GrepFile(Struct, frozen=True):
    """A file of the record that was searched: one generation of a log, or one state of a small file."""

    root: str
    path: str
    kind: str
    generation: int
    current: bool
    size: int
    session_id: str
    agent_id: str


class GrepLine(Struct, frozen=True):
    """A line of the record that matches, or one near it; bytes are counted from the line's beginning."""

    file: GrepFile
    line: int  # from 1
    offset: int  # of the line in the file
    length: int  # without the line break
    start: int | None  # of the match; None for a line of context
    end: int | None
    text: bytes  # what was asked for: the stretch around the match, the match alone, or the whole line
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
    session_id: str | None  # old lines of history.jsonl name none
    project: str
    session_kept: bool  # False: the transcript was gone before Hansard first looked
    copies: int = 0  # other transcripts that have it: forks, synced copies
    times: int = 1  # how often it was typed, where equal texts are listed once
    transcript: str = ""  # where its line stands, relative to the config dir
    offset: int = 0


class PromptPage(Struct, frozen=True):
    """Prompts, and where the next page begins when there is one."""

    prompts: tuple[Prompt, ...]
    next_cursor: str | None
    total: int  # at least so many, where nobody asked to count them
