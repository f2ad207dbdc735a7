"""Logs and small files of the record, links between sessions, their anomalies, and what could not be stored or indexed."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from hansard.model.fields import Timestamp


class Transcript(Struct, frozen=True):
    """One generation of a log in the record."""

    root: str
    path: str
    kind: str
    generation: int
    current: bool
    state: str
    size: int
    session_id: str
    agent_id: str
    lines: int
    records: int
    issues: int
    version: str
    first_at: Timestamp | None
    last_at: Timestamp | None


class SideFile(Struct, frozen=True):
    """A small file beside the transcripts: a plan, a memory, an overflowed tool result, ..."""

    root: str
    path: str
    kind: str
    session_id: str
    agent_id: str
    size: int
    modified_at: Timestamp | None


class Link(Struct, frozen=True):
    """A relation between two sessions (or a session and a subagent that replays it)."""

    source: str
    target: str
    relation: str
    turn: int | None = None  # of a fork or branch: the last turn copied from its source


class FileChange(Struct, frozen=True):
    """What one tool call did to one file."""

    session_id: str
    agent_id: str
    at: Timestamp | None
    path: str
    change: str  # create, update, edit, notebook
    added: int
    removed: int
    tool: str
    patch: str | None = None


class Todo(Struct, frozen=True):
    """One entry of a todo list or task list, as last written to its file."""

    session_id: str
    agent_id: str
    status: str
    content: str


class IssueExample(Struct, frozen=True):
    """One occurrence of an issue: bytes of a transcript."""

    transcript: str
    offset: int
    length: int
    detail: str
    session_id: str = ""  # empty: no session, as in history.jsonl


class IssueKind(Struct, frozen=True):
    """Issues of one kind, with a few examples."""

    reason: str
    count: int
    examples: tuple[IssueExample, ...]


class Drift(Struct, frozen=True):
    """A record kind or a field that Hansard does not know yet."""

    version: str
    kind: str
    field: str  # empty: the kind itself is new
    count: int
    transcript: str
    offset: int
    session_id: str = ""


class RestoreAction(StrEnum):
    """What exists at the target now, and so what a restore does."""

    WRITE = "write"
    SAME = "same"
    DIFFERS = "differs"
    IMPOSSIBLE = "impossible"
    """It cannot be written on this system, or not inside the target."""


class RestoreItem(Struct, frozen=True):
    """One file to restore."""

    path: str
    target: str
    bytes: int
    action: RestoreAction
    mtime_ns: int
    base: str
    """Nothing may be written outside this directory."""
    generation: int | None
    snapshot: int | None
    reason: str = ""
    """Why it is impossible."""
    unproven_from: int | None = None
    """The offset from which its content is unproven: it was read while the file was being written."""


class Coverage(Struct, frozen=True):
    """How much answers cover (the newest transcripts), out of how much there is."""

    transcripts: int
    transcripts_total: int
    bytes: int
    bytes_total: int


class Problem(Struct, frozen=True):
    """A quarantined file or part of the record: everything else continues without it until it changes."""

    stage: str
    """read: not stored; rows, text, session, side_file, snapshot: stored, but not indexed."""
    subject: str
    """The source file, or the session."""
    reason: str
    since: Timestamp | None

    @property
    def is_kept(self) -> bool:
        """Whether its bytes are in the record."""
        return self.stage != "read"


class UnreadHistory(Struct, frozen=True):
    """A directory with conversations that are not read."""

    client: str
    path: str
    files: int  # at most 10,000 are counted
    bytes: int
    reason: str  # "not supported" or "switched off"
