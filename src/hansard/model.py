"""The frozen values that every room above the indexes speaks in. None of them carries a storage id; times are aware UTC."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Session:
    """One session: its main transcript and the subagents it started."""

    session_id: str
    project: str
    title: str
    title_source: str  # custom, agent, ai, summary, prompt, command, none
    first_prompt: str
    started_at: datetime | None
    ended_at: datetime | None
    prompts: int
    commands: int
    messages: int
    tool_calls: int
    tool_errors: int
    api_errors: int
    agents: int
    compactions: int
    hooks: int
    images: int
    files_changed: int
    lines_added: int
    lines_removed: int
    models: tuple[str, ...]
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    api_messages: int  # counted once over all sessions: a fork owns only what it added
    lower_bound_messages: int
    cost_usd: Decimal | None
    source_state: str  # live, gone
    cwd: str
    branch: str
    branches: tuple[str, ...]
    version: str
    versions: tuple[str, ...]
    root: str
    project_dir: str
    transcripts: int
    bytes: int
    issues: int
    debris: bool
    team: str
    pull_requests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Sessions, and where the next page begins when there is one."""

    sessions: tuple[Session, ...]
    next_cursor: str | None
    total: int


@dataclass(frozen=True, slots=True)
class Project:
    """A directory that sessions were started in; worktrees count with their repository."""

    project: str
    name: str
    sessions: int
    prompts: int
    messages: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    files_changed: int
    lines_added: int
    lines_removed: int
    first_at: datetime | None
    last_at: datetime | None
    directories: tuple[str, ...]
    live_sessions: int


@dataclass(frozen=True, slots=True)
class Activity:
    """What happened in a stretch of time."""

    sessions: int  # active in it
    projects: int
    prompts: int
    messages: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int


@dataclass(frozen=True, slots=True)
class Transcript:
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
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Agent:
    """A subagent and the call that made it."""

    agent_id: str
    parent_agent: str | None
    depth: int
    agent_type: str
    description: str
    tool_use_id: str | None
    linked_by: str
    warmup: bool
    started_at: datetime | None
    ended_at: datetime | None
    messages: int
    tool_calls: int


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two sessions (or a session and a subagent that replays it)."""

    source: str
    target: str
    relation: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """What one tool call did to one file."""

    session_id: str
    agent_id: str
    at: datetime | None
    path: str
    change: str  # create, update, edit, notebook
    added: int
    removed: int
    tool: str
    patch: str | None = None


@dataclass(frozen=True, slots=True)
class Todo:
    """One entry of a todo list or task list, as its file last said."""

    session_id: str
    agent_id: str
    status: str
    content: str


@dataclass(frozen=True, slots=True)
class SideFile:
    """A small file beside the transcripts: a plan, a memory, an overflowed tool result, ..."""

    root: str
    path: str
    kind: str
    session_id: str
    agent_id: str
    size: int
    modified_at: datetime | None


@dataclass(frozen=True, slots=True)
class Prompt:
    """Something a human typed."""

    text: str
    source: str  # prompt, queued, command, bash, history
    at: datetime | None
    session_id: str
    project: str
    session_kept: bool  # False: the transcript was gone before Hansard first looked


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call with its result."""

    tool_use_id: str
    tool: str
    input: Any
    output: str | None
    is_error: bool
    at: datetime | None
    duration_ms: int | None
    path: str | None
    change: str | None
    added: int
    removed: int
    patch: str | None
    persisted: bool  # the output was too large for the line and comes from a file beside it
    agent_id: str | None  # the subagent it made
    has_image: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing said or done in a conversation, in reading order."""

    kind: str  # prompt, command, bash, reply, thinking, tool, compaction, error, notification, note, interruption, ...
    at: datetime | None
    text: str
    uuid: str | None
    transcript: str
    offset: int
    length: int
    branch: int  # 0 is the line that the session went on with
    model: str | None = None
    tool: ToolCall | None = None
    images: int = 0
    queued: bool = False


@dataclass(frozen=True, slots=True)
class Fork:
    """A place where a prompt was replaced or an answer made again."""

    parent_uuid: str
    branches: tuple[int, ...]  # the first is the one the session went on with
    uuids: tuple[str, ...]  # the first record of each branch


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread to read: a session's own, or one subagent's."""

    session_id: str
    agent_id: str | None
    entries: tuple[Entry, ...]
    forks: tuple[Fork, ...]
    agents: tuple[Agent, ...]
    not_shown: dict[str, int] = field(default_factory=dict)  # records that say nothing to a reader, by kind


@dataclass(frozen=True, slots=True)
class IssueExample:
    """One place with an issue: bytes of a transcript."""

    transcript: str
    offset: int
    length: int
    detail: str


@dataclass(frozen=True, slots=True)
class IssueKind:
    """Issues of one kind, with a few places to look at."""

    reason: str
    count: int
    examples: tuple[IssueExample, ...]


@dataclass(frozen=True, slots=True)
class Drift:
    """A record kind or a field that Hansard does not know yet."""

    version: str
    kind: str
    field: str  # empty: the kind itself is new
    count: int
    transcript: str
    offset: int


def plain(value: Any) -> Any:
    """A value as JSON knows it: snake_case keys, times as ISO 8601 UTC, money as decimal strings."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    # No decimal can be here unless somebody loaded the module, which costs start-up more than this look.
    decimal = sys.modules.get("decimal")
    return str(value) if decimal is not None and isinstance(value, decimal.Decimal) else value
