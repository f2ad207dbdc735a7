"""Tool calls and the files they changed, over all sessions.

Forks, replays and former generations repeat calls: each counts once here, for the session that made it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hansard.model.fields import Timestamp


class Call(Struct, frozen=True):
    """A tool call as lists show it, and where it stands."""

    tool: str
    at: Timestamp | None
    path: str | None  # the file that it reads or changes
    change: str | None  # create, update, edit, notebook; None: it changed no file
    added: int  # lines
    removed: int
    duration_ms: int | None  # None: it has no result, or no time is known
    is_error: bool
    has_result: bool
    session_id: str
    title: str  # of the session
    project: str
    agent_id: str  # empty: the session's own thread
    tool_use_id: str
    root: str
    transcript: str
    generation: int
    offset: int  # of its line in the transcript
    block: int  # its number in the line
    is_shown: bool  # False: it stands only in a former generation or a copy, which the session's thread does not have
    subject: str | None = None  # what it is about, on one line; None where that was not asked for
    output: str | None = None  # how its result begins, on one line; None where that was not asked for, or there is none


class CallPage(Struct, frozen=True):
    """A page of calls; pass `next_cursor` to get the next one."""

    calls: tuple[Call, ...]
    next_cursor: str | None
    total: int  # over all pages


class ChangedFile(Struct, frozen=True):
    """A file that tool calls changed, by its path as they name it."""

    path: str
    project: str  # of the session that changed it last
    changes: int
    added: int  # lines
    removed: int
    sessions: int  # that changed it
    last_at: Timestamp | None
    last_session_id: str


class FilePage(Struct, frozen=True):
    """A page of changed files; pass `next_cursor` to get the next one. The sums are over all pages."""

    files: tuple[ChangedFile, ...]
    next_cursor: str | None
    total: int
    changes: int
    added: int
    removed: int


class ChangedFolder(Struct, frozen=True):
    """A folder with changed files in it, at any depth; folders that hold nothing but one other are one with it."""

    path: str
    files: int
    changes: int
    added: int
    removed: int
    last_at: Timestamp | None


class FolderPage(Struct, frozen=True):
    """What lies in a folder: folders and files, the last changed first."""

    under: str  # empty: the top
    folders: tuple[ChangedFolder, ...]
    files: tuple[ChangedFile, ...]
    total: int  # of both
    is_truncated: bool  # there are more than are listed


class FileHistory(Struct, frozen=True):
    """Everything that tool calls did to one file, and a page of it, the newest first."""

    path: str
    project: str
    changes: int
    reads: int  # calls that did not change it, failed ones included
    added: int
    removed: int
    sessions: int  # that changed it
    first_at: Timestamp | None  # of its changes
    last_at: Timestamp | None
    page: CallPage


class ToolSums(Struct, frozen=True):
    """What the calls of one tool add up to, or those of all."""

    tool: str  # empty in the totals
    server: str | None  # of an MCP tool
    calls: int
    errors: int
    duration_ms: int  # of the calls whose result has a time, as in `Work`
    timed_calls: int
    median_ms: int | None  # None: none has a time
    p95_ms: int | None
    lines_added: int
    lines_removed: int
    sessions: int
    first_at: Timestamp | None
    last_at: Timestamp | None


TOOL_SORTS: dict[str, Callable[[ToolSums], Any]] = {
    "calls": lambda sums: sums.calls,
    "tool": lambda sums: sums.tool.casefold(),
    "failed": lambda sums: sums.errors,
    "rate": lambda sums: sums.errors / sums.calls,
    "median": lambda sums: -1 if sums.median_ms is None else sums.median_ms,
    "p95": lambda sums: -1 if sums.p95_ms is None else sums.p95_ms,
    "time": lambda sums: sums.duration_ms,
    "lines": lambda sums: sums.lines_added + sums.lines_removed,
    "sessions": lambda sums: sums.sessions,
    "last": lambda sums: sums.last_at.timestamp() if sums.last_at is not None else 0.0,
}
"""What tools can be sorted by."""


class ToolDay(Struct, frozen=True):
    """The calls of one day."""

    day: str  # 2026-01-31, in the report's time zone
    calls: int
    errors: int


class ToolReport(Struct, frozen=True):
    """Every tool, the most used first; they add up to the totals, which are the ledger's `Work`."""

    timezone: str
    since: Timestamp | None
    until: Timestamp | None
    tools: tuple[ToolSums, ...]
    totals: ToolSums
    days: tuple[ToolDay, ...]  # those on which there were any, in order; calls of unknown time are in none
