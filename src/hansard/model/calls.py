"""Tool calls and the files they changed, across all sessions.

Forks, replays and former generations repeat calls: each counts once here, for the session that made it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hansard.model.fields import Timestamp


class Call(Struct, frozen=True):
    """A tool call as lists show it, and where it is recorded."""

    tool: str
    at: Timestamp | None
    path: str | None  # the file it reads or changes
    change: str | None  # create, update, edit, notebook; None: it changed no file
    added: int  # lines
    removed: int
    duration_ms: int | None  # None: it has no result, or the time is unknown
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
    block: int  # its index in the line
    is_shown: bool  # False: only in a former generation or a copy, which the session's thread does not include
    subject: str | None = None  # what it is about, on one line; None if not requested
    output: str | None = None  # how its result begins, on one line; None if not requested, or there is no result


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
    """A page of changed files; pass `next_cursor` to get the next one. The sums cover all pages."""

    files: tuple[ChangedFile, ...]
    next_cursor: str | None
    total: int
    changes: int
    added: int
    removed: int


class ChangedFolder(Struct, frozen=True):
    """A folder that contains changed files, at any depth; folders that contain only one other folder are merged with it."""

    path: str
    files: int
    changes: int
    added: int
    removed: int
    last_at: Timestamp | None


class FolderPage(Struct, frozen=True):
    """The contents of a folder: folders and files, most recently changed first."""

    under: str  # empty: the top
    folders: tuple[ChangedFolder, ...]
    files: tuple[ChangedFile, ...]
    total: int  # folders and files
    is_truncated: bool  # there are more than listed


class FileHistory(Struct, frozen=True):
    """Everything that tool calls did to one file, and a page of it, newest first."""

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

    @property
    def next_cursor(self) -> str | None:
        return self.page.next_cursor


class ToolSums(Struct, frozen=True):
    """Totals of one tool's calls, or of all calls."""

    tool: str  # empty in the totals
    server: str | None  # of an MCP tool
    calls: int
    errors: int
    duration_ms: int  # of the calls whose result has a time, as in `Work`
    timed_calls: int
    median_ms: int | None  # None: no call has a time
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
"""Sort keys for tools."""


class ToolDay(Struct, frozen=True):
    """The calls of one day."""

    day: str  # 2026-01-31, in the report's time zone
    calls: int
    errors: int


class ToolReport(Struct, frozen=True):
    """Every tool, most used first; the totals are the ledger's `Work`."""

    timezone: str
    since: Timestamp | None
    until: Timestamp | None
    tools: tuple[ToolSums, ...]
    totals: ToolSums
    days: tuple[ToolDay, ...]  # days with calls, in order; calls with an unknown time are on none of them
