"""Sessions whose transcripts are gone everywhere, and what other files still say about them."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.fields import Timestamp

MARK = "This is a reconstruction, not a transcript: replies, tool calls and their results are lost."
"""What every view of a reconstruction says first."""


class LostSession(Struct, frozen=True):
    """A session without a transcript, and how much is known of it."""

    name: str  # what `reconstruct` takes: the id, or a made-up name where no file tells one
    session_id: str | None  # old lines of history.jsonl name none
    project: str  # empty: unknown
    title: str  # or what was asked first
    started_at: Timestamp | None
    ended_at: Timestamp | None  # of what is known; it may have gone on
    prompts: int
    pastes: int
    file_versions: int
    todos: int
    commits: int  # in the project's repository at that time, whoever made them
    sources: tuple[str, ...]  # history, file-history, todos, title, sessions-index, subagents, other, git


class LostSessions(Struct, frozen=True):
    """Sessions that are gone, the newest first."""

    sessions: tuple[LostSession, ...]
    total: int


class RecoveredPaste(Struct, frozen=True):
    """Something that was pasted into a prompt."""

    number: int  # as in `[Pasted text #1]`
    kind: str  # text, image, ...
    text: str | None  # None: it was not kept
    source: str  # history, paste-cache; empty: not kept


class RecoveredPrompt(Struct, frozen=True):
    """A prompt that history.jsonl remembers."""

    text: str
    at: Timestamp | None
    pastes: tuple[RecoveredPaste, ...]
    root: str
    offset: int  # of its line in the root's history.jsonl


class FileVersion(Struct, frozen=True):
    """What a file was before the client changed it; `Hansard.read_side_file` gives its bytes."""

    file: str | None  # its path, where a known path fits the name of the copy
    version: int | None
    size: int
    modified_at: Timestamp | None
    root: str
    path: str  # of the copy, relative to the root


class RecoveredTodo(Struct, frozen=True):
    """An entry of the session's todo or task list, as its file last said."""

    status: str
    text: str


class RecoveredTitle(Struct, frozen=True):
    """What a file calls the session."""

    source: str  # title, sessions-index
    text: str


class NearbyCommit(Struct, frozen=True):
    """A commit of the project's repository at that time: it may or may not come from the session."""

    repository: str
    commit: str
    author: str
    committed_at: Timestamp | None
    subject: str
    names_session: bool  # its message has the session's id


class KeptFile(Struct, frozen=True):
    """Another file of the session that is still kept: a subagent's transcript, a tool result."""

    kind: str
    root: str
    path: str
    size: int


class Reconstruction(Struct, frozen=True):
    """Everything that is known of a lost session."""

    session: LostSession
    branch: str  # empty: unknown
    titles: tuple[RecoveredTitle, ...]
    prompts: tuple[RecoveredPrompt, ...]  # the oldest first
    todos: tuple[RecoveredTodo, ...]
    file_versions: tuple[FileVersion, ...]
    files: tuple[KeptFile, ...]
    commits: tuple[NearbyCommit, ...]  # the oldest first
    note: str = MARK
    is_reconstruction: bool = True
