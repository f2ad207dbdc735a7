"""Sessions whose transcripts are lost, and what other files still say about them."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.fields import Timestamp

MARK = "This is a reconstruction, not a transcript: replies, tool calls and their results are lost."
"""Shown first in every view of a reconstruction."""


class LostSession(Struct, frozen=True):
    """A session without a transcript, and how much is known about it."""

    name: str  # what `reconstruct` takes: the id, or a made-up name if no file gives one
    session_id: str | None  # missing in old lines of history.jsonl
    project: str  # empty: unknown
    title: str  # or the first prompt
    started_at: Timestamp | None
    ended_at: Timestamp | None  # last known time; the session may have continued
    prompts: int
    pastes: int
    file_versions: int
    todos: int
    commits: int  # in the project's repository at that time, by anyone
    sources: tuple[str, ...]  # history, file-history, todos, title, sessions-index, subagents, other, git


class LostSessions(Struct, frozen=True):
    """Lost sessions, newest first."""

    sessions: tuple[LostSession, ...]
    total: int


class RecoveredPaste(Struct, frozen=True):
    """Something that was pasted into a prompt."""

    number: int  # as in `[Pasted text #1]`
    kind: str  # text, image, ...
    text: str | None  # None: not stored
    source: str  # history, paste-cache; empty: not stored


class RecoveredPrompt(Struct, frozen=True):
    """A prompt from history.jsonl."""

    text: str
    at: Timestamp | None
    pastes: tuple[RecoveredPaste, ...]
    root: str
    offset: int  # of its line in the root's history.jsonl


class FileVersion(Struct, frozen=True):
    """A file's content before the client changed it; `Hansard.read_side_file` returns its bytes."""

    file: str | None  # its path, if a known path matches the copy's name
    version: int | None
    size: int
    modified_at: Timestamp | None
    root: str
    path: str  # of the copy, relative to the root


class RecoveredTodo(Struct, frozen=True):
    """An entry of the session's todo or task list, as last written to its file."""

    status: str
    text: str


class RecoveredTitle(Struct, frozen=True):
    """A title that a file gives the session."""

    source: str  # title, sessions-index
    text: str


class NearbyCommit(Struct, frozen=True):
    """A commit in the project's repository at that time: it may or may not come from the session."""

    repository: str
    commit: str
    author: str
    committed_at: Timestamp | None
    subject: str
    names_session: bool  # its message contains the session's id


class KeptFile(Struct, frozen=True):
    """Another file of the session that still exists: a subagent's transcript, a tool result."""

    kind: str
    root: str
    path: str
    size: int


class Reconstruction(Struct, frozen=True):
    """Everything known about a lost session."""

    session: LostSession
    branch: str  # empty: unknown
    titles: tuple[RecoveredTitle, ...]
    prompts: tuple[RecoveredPrompt, ...]  # oldest first
    todos: tuple[RecoveredTodo, ...]
    file_versions: tuple[FileVersion, ...]
    files: tuple[KeptFile, ...]
    commits: tuple[NearbyCommit, ...]  # oldest first
    note: str = MARK
    is_reconstruction: bool = True
