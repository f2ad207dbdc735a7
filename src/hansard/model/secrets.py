"""Secrets that were found in the record: never the secret itself, but a keyed hash of it, and where it is."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.erasing import Receipt
from hansard.model.fields import Timestamp

OPEN, ROTATED, FALSE_ALARM, ACCEPTED = "open", "rotated", "false-alarm", "accepted"
STATES = {
    OPEN: "nothing was decided yet",
    ROTATED: "the secret was replaced, and no longer opens anything",
    FALSE_ALARM: "not a secret, and not redacted",
    ACCEPTED: "it may stay where it is",
}
"""What the user can decide about a secret."""


class Secret(Struct, frozen=True):
    """One secret, wherever it is."""

    secret_id: str
    """Its fingerprint: a keyed hash, which only this store can make."""
    rule: str
    title: str
    """What kind of secret it is, in words."""
    confidence: str
    """high: it has the form of this kind; medium: the words before it say so."""
    state: str
    note: str
    """Why it has this state."""
    places: int
    """Lines and files of the record that hold it."""
    sessions: int
    first_at: Timestamp | None
    last_at: Timestamp | None
    example: SecretPlace | None = None
    """The first place that still exists."""


class SecretPlace(Struct, frozen=True):
    """A line or file of the record that holds a secret."""

    session_id: str
    """Empty where it belongs to no session, as in a prompt history."""
    agent_id: str
    project: str
    kind: str
    """prompt, reply, call, result, ... of a line; tool_result, paste, file_history, plan, memory, ... of a file; name."""
    tool: str
    file: str
    """The file that the tool read or wrote."""
    transcript: str
    """The path of the transcript or file in its root."""
    offset: int
    """Of the line, or of the secret in a file."""
    uuid: str
    at: Timestamp | None
    times: int = 1
    """How many times it is there."""
    is_encoded: bool = False
    """It is encoded, broken over lines or split over texts there."""
    is_former: bool = False
    """In content that the client has since rewritten."""


class OtherPlace(Struct, frozen=True):
    """A file outside of the store that holds a secret."""

    kind: str
    """project: a file of a project's working tree; commit: of its git history; export: a file that Hansard wrote."""
    path: str
    """Of the file, or of the repository."""
    commit: str = ""
    """The commit that first has it, and the file there."""
    file: str = ""


class SecretReport(Struct, frozen=True):
    """A secret, every place that holds it, and what to do about it."""

    secret: Secret
    advice: str
    page: str
    """Where its provider lets its owner replace it; empty if that is not known."""
    places: tuple[SecretPlace, ...]
    elsewhere: tuple[OtherPlace, ...] | None = None
    """Null unless it was searched for."""
    searched: tuple[str, ...] = ()
    """The folders and repositories that were searched."""


class SecretPage(Struct, frozen=True):
    """Secrets of the store, those that need attention first."""

    secrets: tuple[Secret, ...]
    total: int
    next_cursor: str | None
    unscanned_bytes: int
    """What the record holds that was not searched yet: `hansard secrets scan` does that."""
    rules: str
    """The version of the rules."""
    has_kept_rules: bool
    """Whether the extra `secrets` is installed, whose rules know hundreds of kinds."""
    by_kind: tuple[tuple[str, int], ...] = ()
    """How many of `total` are of each kind, the most frequent first."""


class Scrubbed(Struct, frozen=True, kw_only=True):
    """What a scrub did to the client's own files."""

    secrets: int
    """Different ones."""
    files: int
    """Files that have placeholders now."""
    left: tuple[tuple[str, str], ...] = ()
    """Files that stayed as they were, and why."""
    receipt: Receipt | None = None
    """Of the erasure from the record; null with a backup."""


class ScanReport(Struct, frozen=True):
    """What a scan did."""

    bytes_read: int = 0
    secrets: int = 0
    """Known now, with any state."""
    new: int = 0
    unscanned_bytes: int = 0
    seconds: float = 0.0
    busy: bool = False
    """Another process scans."""
