"""What of the clients' folders is in the record byte for byte, and can be removed there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

from msgspec import Struct

from hansard.model.fields import Timestamp
from hansard.model.table import Column, Kind, Table

KINDS = {
    "transcript": "transcripts",
    "subagent": "transcripts of subagents",
    "tool_result": "tool results",
    "file_history": "file history",
    "paste": "pastes",
    "todo": "todos and tasks",
    "shell": "shell snapshots",
}
"""What can be freed, by kind."""
FILE = "file"
"""What the client keeps using and is never freed: prompt history, memory, plans, lists of sessions."""
_AGES = ((7, "under 7 days"), (30, "7 to 30 days"), (90, "30 to 90 days"), (365, "90 days to a year"))
_OLDEST = "over a year"
_COUNTS = (
    Column("FILES", Kind.COUNT),
    Column("SIZE", Kind.BYTES),
    Column("CAN BE FREED", Kind.BYTES),
    Column("STAYS", Kind.BYTES),
)


class FreeItem(Struct, frozen=True, kw_only=True):
    """A file of a client's folder."""

    root: str
    path: str
    """In the root, with slashes."""
    kind: str
    session_id: str = ""
    project: str = ""
    bytes: int = 0
    changed_at: Timestamp
    reason: str = ""
    """Why it stays; empty: it can be freed."""


class NotStored(Struct, frozen=True):
    """An entry of a client's folder that Hansard does not store, and so never removes."""

    path: str
    bytes: int


class FreePlan(Struct, frozen=True, kw_only=True):
    """What of the clients' folders can be removed: every byte of it was compared with the record."""

    items: tuple[FreeItem, ...]
    not_stored: tuple[NotStored, ...] = ()
    at: Timestamp

    @property
    def freeable(self) -> tuple[FreeItem, ...]:
        """What can be removed."""
        return tuple(item for item in self.items if not item.reason)

    @property
    def bytes(self) -> int:
        """The size of all of that."""
        return sum(item.bytes for item in self.freeable)

    @property
    def reasons(self) -> dict[str, tuple[int, int]]:
        """How many files stay for each reason, and their size; the largest first."""
        found: dict[str, tuple[int, int]] = {}
        for item in self.items:
            if item.reason:
                files, size = found.get(item.reason, (0, 0))
                found[item.reason] = files + 1, size + item.bytes
        return dict(sorted(found.items(), key=lambda pair: (-pair[1][1], pair[0])))

    def by_kind(self) -> Table:
        names = {**KINDS, FILE: "other files"}
        order = [*names.values()]
        return self._table("KIND", Kind.TEXT, lambda item: names.get(item.kind, item.kind), order)

    def by_age(self) -> Table:
        order = [name for _, name in _AGES] + [_OLDEST]
        return self._table("LAST CHANGED", Kind.TEXT, lambda item: _age(self.at - item.changed_at), order)

    def by_project(self) -> Table:
        """By project, what would free most first."""
        return self._table("PROJECT", Kind.PROJECT, lambda item: item.project or "(no project)", None)

    def _table(self, title: str, kind: Kind, key: Callable[[FreeItem], str], order: list[str] | None) -> Table:
        groups: dict[str, list[FreeItem]] = {}
        for item in self.items:
            groups.setdefault(key(item), []).append(item)
        rows = [(name, *_counts(items)) for name, items in groups.items()]
        if order is None:
            rows.sort(key=lambda row: (-row[3], -row[2], row[0]))
        else:
            rows.sort(key=lambda row: order.index(row[0]))
        totals = ("total", *_counts(self.items)) if len(rows) > 1 else None
        return Table((Column(title, kind, least=16), *_COUNTS), rows, totals)


class Freed(Struct, frozen=True, kw_only=True):
    """What was removed from the clients' folders."""

    files: int
    bytes: int
    left: tuple[FreeItem, ...] = ()
    """What stayed after all: it changed, or was opened, since it was compared."""


def _counts(items: Iterable[FreeItem]) -> tuple[int, int, int, int]:
    files = size = free = 0
    for item in items:
        files += 1
        size += item.bytes
        free += 0 if item.reason else item.bytes
    return files, size, free, size - free


def _age(since: timedelta) -> str:
    return next((name for days, name in _AGES if since < timedelta(days=days)), _OLDEST)
