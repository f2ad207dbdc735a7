"""A session prepared for display, independent of the output: threads of turns, turns of items, items of parts.

Terminal, Markdown, HTML and JSON are all rendered from this, so they cannot disagree. Texts are as in the transcript:
renderers must escape them for their output.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from hansard.model.fields import PlainDecimal, Timestamp
from hansard.model.ledger import Tokens
from hansard.model.sessions import Session
from hansard.model.threads import Agent
from hansard.model.tools import ToolKind

PERSISTED = "whole output from a file beside the transcript"


class _Part(Struct, frozen=True, tag_field="part", tag=str.lower):
    @property
    def part(self) -> str:
        """Its name in JSON: the class name in lower case."""
        return type(self).__name__.lower()

    def as_plain(self) -> dict[str, Any]:
        """One object, including its name."""
        return {**asdict(self), "part": self.part}


class Prose(_Part, frozen=True):
    """Markdown, as models write it."""

    text: str


class Plain(_Part, frozen=True):
    """Plain text."""

    text: str


class Code(_Part, frozen=True):
    """A file or a piece of one, a command, a query, JSON."""

    text: str
    language: str = ""  # a short name that Pygments knows, or empty
    path: str = ""
    first_line: int = 0  # 0: it has no line numbers


class Diff(_Part, frozen=True):
    """Changes to a file: lines that begin with a plus, a minus or a space, under headers that begin with @@."""

    text: str
    path: str = ""


class Console(_Part, frozen=True):
    """Program output, with its colours and any other escape sequences."""

    text: str


class Facts(_Part, frozen=True):
    """Names with short values."""

    pairs: tuple[tuple[str, str], ...]


class Checklist(_Part, frozen=True):
    """Todos, tasks, or a question's options, each with its state."""

    items: tuple[tuple[str, str], ...]  # (pending, in_progress, completed, deleted, chosen, open), text


class Picture(_Part, frozen=True):
    """An image or a document in the transcript."""

    media_type: str
    data: str  # base64


Part = Prose | Plain | Code | Diff | Console | Facts | Checklist | Picture


class CallFacts(Struct, frozen=True):
    """Short facts about a tool call; in JSON a list of words."""

    change: tuple[int, int] | None = None  # lines added and removed
    duration_ms: int | None = None
    outcome: str = ""  # failed, no result, running; empty on success
    is_persisted: bool = False  # the full output is in a file beside the transcript
    kind: ToolKind = "other"  # what the tool is for; renderers need it, JSON omits it

    def as_plain(self) -> list[str]:
        return [
            *([f"+{self.change[0]} -{self.change[1]}"] if self.change is not None else ()),
            *([f"{self.duration_ms} ms"] if self.duration_ms is not None else ()),
            *([self.outcome] if self.outcome else ()),
            *([PERSISTED] if self.is_persisted else ()),
        ]


class Item(Struct, frozen=True):
    """One thing said or done."""

    anchor: str  # unique in its thread, and the same in every output: byte offset of the line, and the block in it
    kind: (
        str  # prompt, reply, thinking, tool, command, bash, output, compaction, summary, error, notification, note, ...
    )
    who: str  # user, assistant, client
    at: Timestamp | None
    title: str  # name of a tool; otherwise empty
    subject: str  # what a tool call is about, on one line
    facts: CallFacts
    parts: tuple[Part, ...]  # what was said, or a tool's input
    results: tuple[Part, ...]  # a tool's output
    is_error: bool
    branch: int  # 0: the branch that the session continued
    forks: tuple[int, ...]  # alternative branches that begin here
    model: str | None
    queued: bool
    uuid: str | None
    transcript: str
    offset: int
    length: int
    thread: DisplayThread | None = None  # of the subagent that the call started


class Turn(Struct, frozen=True):
    """A prompt and everything that followed from it."""

    number: int
    items: tuple[Item, ...]
    started_at: Timestamp | None
    ended_at: Timestamp | None
    api_messages: int  # owned by this session; subagents of the turn included
    tokens: Tokens
    cost_usd: PlainDecimal | None  # None if something was used but nothing has a price
    is_lower_bound: bool = False  # some messages were cut off, or have no price
    active_ms: int | None = None  # as the client measured it, without waits; None: not stated


class DisplayThread(Struct, frozen=True):
    """The turns of a session, or of a subagent."""

    agent: Agent | None
    turns: tuple[Turn, ...]
    not_shown: dict[str, int]  # records that mean nothing to a reader, by kind


class Display(Struct, frozen=True):
    """A whole session."""

    session: Session
    thread: DisplayThread  # without turns if only subagents are left
    others: tuple[DisplayThread, ...]  # subagents whose calls are not in any thread
