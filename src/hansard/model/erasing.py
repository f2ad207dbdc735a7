"""What was erased: receipts, which have numbers and no content, and the marker in the place of a text."""

from __future__ import annotations

from msgspec import Struct

from hansard.model.table import Column, Kind, Table

ERASE, OVERWRITE, REMOVE, LEAVE = "erase", "overwrite", "remove", "leave"
IN_RECORD = frozenset({ERASE, OVERWRITE})
MARKER = b"[forgotten]"
_KINDS = {
    "transcript": "transcripts",
    "subagent": "transcripts of subagents",
    "tool_result": "tool results",
    "file": "other files",
    "message": "messages",
    "copied_message": "copies in other sessions",
    "prompt_history": "prompt history",
    "title": "titles in other files",
    "secret": "secrets",
    "name": "names of files",
    "remarks": "tags, titles and notes",
    "import": "imported files",
    "export": "exported files",
    "backup": "backups of the store",
    "typed": "queries that you typed",
    "journal": "journals for undo",
    "source": "the client's own files",
}
_ACTIONS = {ERASE: "erased", OVERWRITE: "overwritten", REMOVE: "removed", LEAVE: "left"}
_COLUMNS = (
    Column("WHAT"),
    Column("FILES", Kind.COUNT),
    Column("LINES", Kind.COUNT),
    Column("SIZE", Kind.BYTES),
    Column("WHAT HAPPENS", least=20),
)


def marker(length: int) -> bytes:
    """As many bytes as a text had that was erased; they need no escape in JSON."""
    return MARKER.ljust(length) if length >= len(MARKER) else b"*" * length


class ForgetItem(Struct, frozen=True, kw_only=True):
    """Something that holds what is to be forgotten."""

    kind: str
    """What it is: transcript, subagent, tool_result, file, prompt_history, title, message, copied_message, secret, name, remarks,
    export, backup, typed, journal, import, source."""
    action: str
    """erase (from the record), overwrite (lines of it), remove (the file), or leave."""
    place: str
    """Its path: in the record relative to the root, elsewhere absolute."""
    session_id: str = ""
    """Whose it is; empty for several or none."""
    bytes: int = 0
    lines: int = 0
    """How many lines of it, where it is not all."""
    reason: str = ""
    """Why it is left."""


class ForgottenSession(Struct, frozen=True, kw_only=True):
    """A session that is to be forgotten as a whole."""

    session_id: str
    client: str
    project: str
    title: str
    is_live: bool = False
    """The client has written to it within five minutes."""


class ForgetPlan(Struct, frozen=True, kw_only=True):
    """What an erasure would take, and what it would leave."""

    sessions: tuple[ForgottenSession, ...]
    items: tuple[ForgetItem, ...]
    warnings: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """Bytes in the record."""
        return sum(item.bytes for item in self.items if item.action in IN_RECORD)

    @property
    def left(self) -> tuple[ForgetItem, ...]:
        """Copies that stay."""
        return tuple(item for item in self.items if item.action == LEAVE)

    @property
    def outline(self) -> str:
        """What a plan takes, as a hash: another one is another plan, and has to be shown first."""
        from hashlib import sha256

        parts = sorted((item.kind, item.action, item.place) for item in self.items)
        return sha256(repr((sorted(one.session_id for one in self.sessions), parts)).encode()).hexdigest()

    @property
    def summary(self) -> Table:
        """What there is of each kind, and what happens to it."""
        groups: dict[tuple[str, str, str], list[ForgetItem]] = {}
        for item in self.items:
            groups.setdefault((item.kind, item.action, item.reason), []).append(item)
        order = list(_KINDS)
        rows = [
            (
                _KINDS.get(kind, kind),
                None if kind == "remarks" else len(items),
                sum(item.lines for item in items) or None,
                sum(item.bytes for item in items) or None,
                _ACTIONS[action] + (f": {reason}" if reason else ""),
            )
            for (kind, action, reason), items in sorted(
                groups.items(), key=lambda group: (group[0][1] == LEAVE, order.index(group[0][0]), group[0])
            )
        ]
        return Table(_COLUMNS, rows)


class Erased(Struct, frozen=True, kw_only=True):
    """What an erasure took, in numbers."""

    reason: str
    """What it was asked for by: session, project, match, secret, policy."""
    sessions: int = 0
    """Whole sessions."""
    transcripts: int = 0
    """Logs that were erased with all their generations."""
    files: int = 0
    """Other files that were erased with all their snapshots."""
    stretches: int = 0
    """Stretches of files that go on without them."""
    remarks: int = 0
    """Tags, pins, titles and notes."""
    bytes: int = 0
    """Raw bytes in the record."""
    copies: int = 0
    """Files elsewhere that were removed or overwritten: exports, backups, journals, and the client's own if that was asked for."""
    left: int = 0
    """Copies that were listed and left."""


class Receipt(Struct, frozen=True, kw_only=True):
    """An erasure, for those who must prove it: no names and no content."""

    number: int
    revision: int
    """The write in the record's chain of hashes that erased it."""
    at: str
    """ISO 8601, UTC."""
    finished_at: str | None
    """When the last copy within reach was gone; None while some are left."""
    erased: Erased
