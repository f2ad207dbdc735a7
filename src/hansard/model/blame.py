"""Lines, commits and the sessions that wrote them."""

from __future__ import annotations

from msgspec import Struct

from hansard.errors import UsageError
from hansard.lazy_regex import lazy_compile
from hansard.model.fields import PlainDecimal, Timestamp

CERTAINTIES = {
    "exact": "a recorded edit wrote this line, here",
    "moved": "a recorded edit wrote it; since then it was moved, re-indented or reformatted",
    "partial": "a recorded edit wrote it, and somebody has changed a part of it since",
    "window": "no recorded edit, but a shell command of the session named the file before it committed",
    "marked": "nothing but another tool's mark says that an agent wrote it",
    "unknown": "nothing recorded explains it: somebody typed it, or the transcript is missing",
}
"""How sure it is that a session wrote a line, the surest first."""
LINES = lazy_compile(r"(\d{1,9})(?:[-,](\d{1,9}))?")
"""One line, or a range such as 40-60."""


def line_range(text: str) -> tuple[int, int]:
    """Parse the first and the last line of a range."""
    found = LINES.fullmatch(text.strip())
    first, last = (int(found[1]), int(found[2] or found[1])) if found is not None else (0, 0)
    if not 1 <= first <= last:
        raise UsageError(f"invalid lines {text!r}; use a number or a range such as 40-60")
    return first, last


class Mark(Struct, frozen=True):
    """What another tool left in the repository about who wrote something: data to weigh, not proof."""

    source: str  # git-ai, agent-trace, Claude-Session, Entire-Checkpoint, Hansard-Session, Co-Authored-By
    value: str  # the session, checkpoint or author that it names
    commit: str
    tool: str | None = None
    model: str | None = None
    path: str | None = None  # None: the whole commit
    lines: tuple[tuple[int, int], ...] = ()  # first and last, of the file in that commit


class BlamedCommit(Struct, frozen=True):
    """A commit as git has it."""

    commit: str  # the whole hash; zeros: not committed yet
    author: str
    authored_at: Timestamp | None
    committed_at: Timestamp | None
    subject: str
    marks: tuple[Mark, ...] = ()


class RecordedEdit(Struct, frozen=True):
    """A tool call that wrote lines, where it stands, and what it cost."""

    number: int  # in the list of its report
    session_id: str
    title: str  # of the session
    agent_id: str  # empty: the session's own thread
    turn: int | None  # None: the session's thread does not show it
    prompt: str | None  # how it begins, on one line
    model: str | None
    at: Timestamp | None
    tool: str
    path: str  # as the call names it
    added: int  # lines
    lines: int  # of these, how many of the report are from it
    cost_usd: PlainDecimal | None  # of the messages that led to it; None: no price is known
    root: str
    transcript: str  # the evidence
    generation: int
    offset: int
    block: int
    tool_use_id: str


class BlamedLine(Struct, frozen=True):
    """A line, the commit that brought it, and the edit that wrote it."""

    number: int
    text: str
    commit: str
    path: str  # of the file in that commit
    certainty: str  # one of CERTAINTIES
    edit: int | None  # the number of a RecordedEdit
    cost_usd: PlainDecimal | None  # its share of what the edit cost
    mark: Mark | None = None


class BlameReport(Struct, frozen=True):
    """Who wrote the lines of a file, or those that a commit added to a file."""

    repository: str
    path: str  # relative to the repository
    rev: str | None  # None: as it is in the working tree
    lines: tuple[BlamedLine, ...]
    commits: tuple[BlamedCommit, ...]
    edits: tuple[RecordedEdit, ...]
    counts: dict[str, int]  # lines by certainty
    cost_usd: PlainDecimal | None  # of all lines; None: none has a price


class CommitReport(Struct, frozen=True):
    """Who wrote what a commit added, file by file."""

    repository: str
    commit: BlamedCommit
    files: tuple[BlameReport, ...]
    sessions: tuple[Contribution, ...]  # the one with the most lines first
    counts: dict[str, int]
    cost_usd: PlainDecimal | None
    skipped: tuple[str, ...]  # files that are binary or too large


class Contribution(Struct, frozen=True):
    """What one session gave to one commit."""

    session_id: str
    title: str
    made: bool  # the session itself ran `git commit`
    lines: int  # of the commit that the session's edits wrote
    added: int  # lines that the commit adds in all
    cost_usd: PlainDecimal | None  # of the messages that count for this commit
    transcript: str | None = None  # where the `git commit` stands, or the first of the edits
    offset: int | None = None


class Commit(Struct, frozen=True):
    """A commit and the sessions that had a part in it."""

    repository: str
    commit: str
    author: str
    authored_at: Timestamp | None
    committed_at: Timestamp | None
    subject: str
    files: int
    added: int  # lines
    removed: int
    sessions: tuple[Contribution, ...]
    cost_usd: PlainDecimal | None
    marks: tuple[Mark, ...] = ()


class CommitPage(Struct, frozen=True):
    """Commits that sessions had a part in, the newest first."""

    repositories: tuple[str, ...]  # that were looked into
    missing: tuple[str, ...]  # projects that are no repository on this machine
    commits: tuple[Commit, ...]
    pull_requests: tuple[str, ...]  # addresses that transcripts name
    total: int
    cost_usd: PlainDecimal | None
