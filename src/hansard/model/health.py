"""The state of a store, as `hansard status` and `hansard doctor` show it."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.fields import Timestamp
from hansard.model.files import Drift, IssueKind, Problem, UnreadHistory

PHASES = {"reading": "read", "indexing": "indexed", "text": "searchable"}
"""What is done to files in each phase of a sync."""


class SyncProgress(Struct, frozen=True):
    """Progress of the running sync, in any process."""

    phase: str  # reading, indexing, text
    files: int
    files_total: int

    @property
    def words(self) -> str:
        """For people: 12 of 367 files read."""
        return f"{self.files:,} of {self.files_total:,} files {PHASES[self.phase]}"


class Doomed(Struct, frozen=True):
    """A transcript that the client will delete, and whether its bytes are kept."""

    path: str
    root: str
    session_id: str
    deleted_at: Timestamp  # at the earliest
    size: int
    kept: bool


class NotKept(Struct, frozen=True):
    """A file under a source root that is not kept, and why."""

    path: str
    bytes: int
    reason: str


class UnfollowedLink(Struct, frozen=True):
    """A link that points outside its source root, and how many files kept through it are no longer updated."""

    path: str
    target: str
    kept_files: int
    is_own_data: bool  # Hansard's own data, which is never read


class RootStatus(Struct, frozen=True):
    """The current state of one source root."""

    path: str
    name: str
    files: int
    logs: int
    bytes: int
    cleanup_days: int
    running: int
    unreadable: tuple[str, ...]
    unfollowed_links: tuple[UnfollowedLink, ...] = ()
    client: str = ""


class Status(Struct, frozen=True):
    """The store at a glance."""

    home: str
    roots: tuple[RootStatus, ...]
    sessions: int
    projects: int
    transcripts: int
    gone_transcripts: int
    """Deleted by the client, or moved away."""
    former_generations: int
    records: int
    messages: int
    tool_calls: int
    issues: int
    source_bytes: int
    kept_bytes: int
    record_bytes: int
    index_bytes: int
    text_bytes: int
    last_sync: Timestamp | None
    """When the sources were last scanned in full, whether or not anything was new."""
    sync_error: str | None
    """Why a later sync did not finish."""
    sync_progress: SyncProgress | None
    """Progress of the running sync, in any process."""
    problems: tuple[Problem, ...]
    left_out: tuple[NotKept, ...]
    doomed: tuple[Doomed, ...]  # soonest first
    doomed_unkept: int
    empty_sessions: int = 0
    """Sessions in which nothing was said; no other figure counts them as sessions."""
    unproven: int = 0
    """Contents read while their file was being written, and not yet found in it again."""
    freed_transcripts: int = 0
    """Removed from the client's folder by `hansard free`."""
    unread: tuple[UnreadHistory, ...] = ()
    """Histories on this machine that are not read, where a front end looked for them."""
    unscanned_bytes: int | None = None
    """What was not searched for secrets yet."""


class Finding(Struct, frozen=True):
    """Something `hansard doctor` noticed, and what to do about it."""

    level: str  # ok, note, warning, error
    subject: str
    text: str


class Diagnosis(Struct, frozen=True):
    """What `hansard doctor` found."""

    findings: tuple[Finding, ...]
    issues: tuple[IssueKind, ...]
    drift: tuple[Drift, ...]

    @property
    def is_healthy(self) -> bool:
        return not any(finding.level == "error" for finding in self.findings)


def describe_link(link: UnfollowedLink) -> str:
    """Describe a link that is not followed, with the option that allows it."""
    kept = ""
    if link.kept_files == 1:
        kept = "; the 1 file that was kept through it stays, but is not updated"
    elif link.kept_files:
        kept = f"; the {link.kept_files:,} files that were kept through it stay, but are not updated"
    if link.is_own_data:
        return f"{link.path} is Hansard's own data directory, {link.target}, and is not read{kept}"
    from shlex import quote

    allowed = f"`--follow-links {quote(link.target)}`, or follow_links in the configuration file, allows it"
    return f"{link.path} points outside the root, to {link.target}, and is not followed{kept}: {allowed}"
