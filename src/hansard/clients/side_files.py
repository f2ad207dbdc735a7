"""What a small file beside the transcripts says."""

from __future__ import annotations

from msgspec import Struct


class SideFacts(Struct, gc=False, omit_defaults=True):
    """What a file says about a session or a subagent; empty where it says nothing."""

    title: str = ""
    agent_type: str = ""
    description: str = ""
    parent_agent_id: str = ""
    tool_use_id: str = ""
    """The call that made the subagent."""


class SideContent(Struct, gc=False):
    """What the index takes from a file."""

    facts: SideFacts | None = None
    todos: list[tuple[str, str]] = []
    """(status, text) of each."""


class ListedSession(Struct, gc=False):
    """What a client's own list says of a session."""

    session_id: str
    folder: str
    branch: str
    first_prompt: str
    title: str
    times: list[int]
