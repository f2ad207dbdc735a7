"""Sessions, projects and their activity."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.fields import PlainDecimal, Timestamp
from hansard.model.tools import CLAUDE_CODE


def all_tokens(counted: Session | Project | Activity) -> int | None:
    """Tokens of all classes; None if no usage is recorded."""
    classes = (counted.input_tokens, counted.output_tokens, counted.cache_read_tokens, counted.cache_write_tokens)
    known = [count for count in classes if count is not None]
    return sum(known) if known else None


class Session(Struct, frozen=True):
    """One session: its main transcript and the subagents it started."""

    session_id: str
    project: str
    title: str
    title_source: str  # yours, custom, agent, ai, summary, prompt, command, none
    first_prompt: str
    started_at: Timestamp | None
    ended_at: Timestamp | None
    prompts: int
    commands: int
    messages: int  # answers of the model: api_messages, or more where not each of them states its usage
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
    models: tuple[str, ...]  # the one with most answers in the conversation first
    input_tokens: int | None  # None, like the next three and the cost: the client recorded no usage
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    api_messages: int  # counted once across all sessions: a fork owns only what it added
    lower_bound_messages: int
    cost_usd: PlainDecimal | None  # of what has a price; None if nothing has
    unpriced_models: tuple[str, ...]  # their usage is not in cost_usd
    source_state: str  # live, gone, freed, rewritten (the file exists but lacks some of it)
    cwd: str
    branch: str
    branches: tuple[str, ...]
    version: str
    versions: tuple[str, ...]
    root: str
    client: str  # the product that wrote it: claude-code, ...
    project_dir: str
    transcripts: int
    bytes: int
    issues: int
    debris: bool
    team: str
    pull_requests: tuple[str, ...]
    pinned: bool = False  # set by the user, like the following fields
    tags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pinned_messages: tuple[str, ...] = ()  # their uuids

    @property
    def tokens(self) -> int | None:
        return all_tokens(self)

    @property
    def has_no_usage(self) -> bool:
        """Whether the model answered and no tokens are recorded, as by many clients; Claude Code records those of every answer."""
        return self.messages > 0 and not self.api_messages

    @property
    def other_client(self) -> str:
        """The client, if it is not Claude Code."""
        return "" if self.client == CLAUDE_CODE else self.client


class Resumption(Struct, frozen=True):
    """What the client needs to resume a session."""

    session: Session
    config: str  # the config directory that the client must use
    is_gone: bool  # its transcript must be restored into `config` first


class SessionCopy(Struct, frozen=True):
    """A copy of a session for the client to resume, and how it differs from the original."""

    session_id: str
    copied_from: str
    bytes_before: int
    bytes: int
    records: int
    results: int  # tool results that became a short note
    pictures: int  # likewise
    left_out: int  # records that a conversation does not need: snapshots, requests, progress, old attachments
    unreadable: int  # damaged parts, left out
    split: int  # records that shared a line with another
    relinked: int  # records whose parent did not exist, or was in a circle
    joined: int  # beginnings that now continue what was before them
    dated: int  # records without a valid time
    leaves: int  # names of last records that did not exist
    compacted: int  # bytes of the oldest messages that were put behind a compaction
    context_bytes: int  # what the client sends of it: all messages since the last compaction

    @property
    def is_mended(self) -> bool:
        return bool(self.unreadable or self.split or self.relinked or self.joined or self.dated or self.leaves)

    @property
    def is_slimmer(self) -> bool:
        return bool(self.results or self.pictures or self.left_out or self.compacted)


LONGEST_TAG, LONGEST_TITLE, LONGEST_NOTE = 64, 200, 10_000
"""The most characters of remarks."""


class Remarks(Struct, frozen=True):
    """The user's notes about a session, possibly one known only from history.jsonl."""

    session_id: str
    title: str  # the session's title, the user's own if set
    renamed: bool
    pinned: bool
    tags: tuple[str, ...]
    notes: tuple[str, ...]
    pinned_messages: tuple[str, ...] = ()  # their uuids


class PinnedMessage(Struct, frozen=True):
    """A message that the user pinned, and its location."""

    session_id: str
    uuid: str
    agent_id: str | None
    transcript: str
    offset: int
    kind: str  # prompt, reply, thinking, call, result, command, note
    at: Timestamp | None
    text: str  # its beginning


class Tagged(Struct, frozen=True):
    """A tag and how many sessions have it."""

    tag: str
    sessions: int


class SessionPage(Struct, frozen=True):
    """Sessions, and where the next page begins, if there is one."""

    sessions: tuple[Session, ...]
    next_cursor: str | None
    total: int


class SessionGroup(Struct, frozen=True):
    """Sessions of one project or one day, and their totals."""

    by: str  # project, day
    key: str  # a path, or a day as 2026-01-31; empty if there is none
    total: int
    prompts: int
    messages: int
    tool_calls: int
    errors: int
    tokens: int | None  # None: no usage is recorded
    files_changed: int
    lines_added: int
    lines_removed: int
    last_at: Timestamp | None
    cost_usd: PlainDecimal | None  # of what has a price; None if nothing has
    is_lower_bound: bool  # some messages have no price, or were cut off
    sessions: tuple[Session, ...]  # the first ones, in the requested order
    next_cursor: str | None  # for more sessions of the group


class SessionGroups(Struct, frozen=True):
    """Groups of sessions, latest first, and where the next page begins, if there is one."""

    groups: tuple[SessionGroup, ...]
    next_cursor: str | None
    total: int  # groups
    sessions: int  # in all of them


class Project(Struct, frozen=True):
    """A directory that sessions were started in; worktrees count with their repository."""

    project: str
    name: str
    sessions: int
    prompts: int
    messages: int
    tool_calls: int
    input_tokens: int | None  # None: no usage is recorded, like the next three and the cost
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    files_changed: int
    lines_added: int
    lines_removed: int
    first_at: Timestamp | None
    last_at: Timestamp | None
    directories: tuple[str, ...]
    live_sessions: int
    cost_usd: PlainDecimal | None  # of what has a price; None if nothing has
    lower_bound_messages: int = 0
    unpriced_models: tuple[str, ...] = ()  # their usage is not in cost_usd

    @property
    def has_no_usage(self) -> bool:
        """Whether the model answered and no tokens are recorded."""
        return all_tokens(self) is None


class Activity(Struct, frozen=True):
    """What happened in a period."""

    sessions: int  # active in it
    projects: int
    prompts: int
    messages: int
    tool_calls: int
    input_tokens: int | None  # None: no usage is recorded, like the next three and the cost
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    cost_usd: PlainDecimal | None = None  # of what has a price; None if nothing has
    lower_bound_messages: int = 0  # their output tokens are only lower bounds
    unpriced_messages: int = 0  # not in any cost

    @property
    def has_no_usage(self) -> bool:
        """Whether the model answered and no tokens are recorded."""
        return all_tokens(self) is None


class Related(Struct, frozen=True):
    """A session related to another one, and why: the few most telling reasons, best first."""

    session: Session
    score: float
    files: tuple[str, ...]
    words: tuple[str, ...]
    links: tuple[str, ...]  # fork, branch, clear, continued_in, context, summary, resumed
    same_project: bool
    shared_files: int = 0  # all of them; `files` lists the best
