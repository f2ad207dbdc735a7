"""Conversations for reading."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from hansard.model.fields import Timestamp


class ToolCall(Struct, frozen=True):
    """A tool call with its result."""

    client: str  # whose tool it is
    tool_use_id: str
    tool: str
    input: Any
    output: str | None
    is_error: bool
    at: Timestamp | None
    duration_ms: int | None
    path: str | None
    change: str | None
    added: int
    removed: int
    patch: str | None
    persisted: bool  # the output was too large for the line and comes from a file beside it
    agent_id: str | None  # the subagent it started
    has_image: bool = False
    result_offset: int | None = None  # of the line with the result

    def as_plain(self) -> dict[str, Any]:
        """Omit the client: it is the session's."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "client"}


class Entry(Struct, frozen=True):
    """One thing said or done in a conversation, in reading order."""

    kind: str  # prompt, command, bash, reply, thinking, tool, compaction, error, notification, note, interruption, unreadable, ...
    at: Timestamp | None
    text: str
    uuid: str | None
    transcript: str
    offset: int
    length: int
    branch: int  # 0: the branch that the session continued
    model: str | None = None
    tool: ToolCall | None = None
    images: int = 0
    queued: bool = False


class Fork(Struct, frozen=True):
    """A place where a prompt was replaced or an answer regenerated."""

    parent_uuid: str
    branches: tuple[int, ...]  # the first is the one that the session continued
    uuids: tuple[str, ...]  # the first record of each branch


class Agent(Struct, frozen=True):
    """A subagent and the call that started it."""

    agent_id: str
    parent_agent: str | None
    depth: int
    agent_type: str
    description: str
    tool_use_id: str | None
    linked_by: str
    warmup: bool  # the client's own: a warm-up or a prompt suggestion
    started_at: Timestamp | None
    ended_at: Timestamp | None
    messages: int
    tool_calls: int
    is_reconstructed: bool = False  # its transcript is gone: it is read from progress records of the session
    number: int = 0  # in the order they started, from 1; 0 if it is the client's own

    @property
    def name(self) -> str:
        """What people call it: its type, its number and what it was started for."""
        kind = self.agent_type or "subagent"
        return f"{kind} {self.number or ''}".strip() + (f": {self.description}" if self.description else "")


class Conversation(Struct, frozen=True):
    """A thread to read: a session's own, or one subagent's."""

    session_id: str
    agent_id: str | None
    entries: tuple[Entry, ...]
    forks: tuple[Fork, ...]
    agents: tuple[Agent, ...]
    not_shown: dict[str, int] = field(default_factory=dict)  # records that mean nothing to a reader, by kind
