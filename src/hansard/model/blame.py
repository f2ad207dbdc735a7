"""Lines, commits and the sessions that wrote them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hansard.errors import UsageError
from hansard.lazy_regex import lazy_compile
from hansard.model.fields import PlainDecimal, Timestamp

CERTAINTIES = {
    "exact": "a recorded edit wrote this line, here",
    "moved": "a recorded edit wrote it; since then it was moved, re-indented or reformatted",
    "partial": "a recorded edit wrote it, and part of it has been changed since",
    "window": "no recorded edit, but a shell command of the session named the file before it committed",
    "marked": "only another tool's mark says that an agent wrote it",
    "unknown": "nothing recorded explains it: it was typed by hand, or the transcript is missing",
}
"""How certain it is that a session wrote a line, most certain first."""
LINES = lazy_compile(r"(\d{1,9})(?:[-,](\d{1,9}))?")
"""One line, or a range such as 40-60."""


def line_range(text: str) -> tuple[int, int]:
    """Parse a range into its first and last line."""
    found = LINES.fullmatch(text.strip())
    first, last = (int(found[1]), int(found[2] or found[1])) if found is not None else (0, 0)
    if not 1 <= first <= last:
        raise UsageError(f"invalid lines {text!r}; use a number or a range such as 40-60")
    return first, last


class Mark(Struct, frozen=True):
    """A trace left in the repository by another tool about who wrote something: evidence to weigh, not proof."""

    source: str  # git-ai, agent-trace, Claude-Session, Entire-Checkpoint, Hansard-Session, Co-Authored-By
    value: str  # the session, checkpoint or author it names
    commit: str
    tool: str | None = None
    model: str | None = None
    path: str | None = None  # None: the whole commit
    lines: tuple[tuple[int, int], ...] = ()  # first and last line, in that commit's file


class BlamedCommit(Struct, frozen=True):
    """A commit as git has it."""

    commit: str  # full hash; zeros: not committed yet
    author: str
    authored_at: Timestamp | None
    committed_at: Timestamp | None
    subject: str
    marks: tuple[Mark, ...] = ()


class RecordedEdit(Struct, frozen=True):
    """A tool call that wrote lines, where it is recorded, and what it cost."""

    number: int  # index in the report's list
    session_id: str
    client: str
    title: str  # of the session
    agent_id: str  # empty: the session's own thread
    turn: int | None  # None: not shown in the session's thread
    prompt: str | None  # its beginning, on one line
    model: str | None
    at: Timestamp | None
    tool: str
    path: str  # as named in the call
    added: int  # lines
    lines: int  # lines of the report that came from it
    cost_usd: PlainDecimal | None  # of the messages that produced it; None: no price is known
    root: str
    transcript: str  # the evidence
    generation: int
    offset: int
    block: int
    tool_use_id: str
    is_lower_bound: bool = False  # some of these messages have no final usage record


class BlamedLine(Struct, frozen=True):
    """A line, the commit that introduced it, and the edit that wrote it."""

    number: int
    text: str
    commit: str
    path: str  # the file's path in that commit
    certainty: str  # one of CERTAINTIES
    edit: int | None  # the number of a RecordedEdit
    cost_usd: PlainDecimal | None  # its share of the edit's cost
    mark: Mark | None = None


class BlameReport(Struct, frozen=True):
    """Who wrote the lines of a file, or those that a commit added to a file."""

    repository: str
    path: str  # relative to the repository
    rev: str | None  # None: the working tree
    lines: tuple[BlamedLine, ...]
    commits: tuple[BlamedCommit, ...]
    edits: tuple[RecordedEdit, ...]
    counts: dict[str, int]  # lines by certainty
    cost_usd: PlainDecimal | None  # of all lines; None: no line has a price
    is_lower_bound: bool = False  # some of these messages have no final usage record

    def ranges(self) -> Iterator[list[BlamedLine]]:
        """Group adjacent lines with the same origin."""
        found: list[BlamedLine] = []
        for line in self.lines:
            if found:
                last = found[-1]
                same = (line.commit, line.certainty, line.edit) == (last.commit, last.certainty, last.edit)
                if not same or line.number != last.number + 1:
                    yield found
                    found = []
            found.append(line)
        if found:
            yield found


class CommitReport(Struct, frozen=True):
    """Who wrote what a commit added, file by file."""

    repository: str
    commit: BlamedCommit
    files: tuple[BlameReport, ...]
    sessions: tuple[Contribution, ...]  # most lines first
    counts: dict[str, int]
    cost_usd: PlainDecimal | None
    skipped: tuple[str, ...]  # binary or oversized files
    is_lower_bound: bool = False  # some of these messages have no final usage record


class Contribution(Struct, frozen=True):
    """What one session contributed to one commit."""

    session_id: str
    title: str
    made: bool  # the session itself ran `git commit`
    lines: int  # lines of the commit written by the session's edits
    added: int  # all lines that the commit adds
    cost_usd: PlainDecimal | None  # of the messages attributed to this commit
    transcript: str | None = None  # location of the `git commit`, or of the first edit
    offset: int | None = None
    is_lower_bound: bool = False  # some of these messages have no final usage record


class Commit(Struct, frozen=True):
    """A commit and the sessions that contributed to it."""

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
    is_lower_bound: bool = False  # some of these messages have no final usage record


class CommitPage(Struct, frozen=True):
    """Commits that sessions contributed to, newest first."""

    repositories: tuple[str, ...]  # repositories searched
    missing: tuple[str, ...]  # projects without a repository on this machine
    commits: tuple[Commit, ...]
    pull_requests: tuple[str, ...]  # URLs found in transcripts
    total: int
    cost_usd: PlainDecimal | None
    is_lower_bound: bool = False  # some of these messages have no final usage record
