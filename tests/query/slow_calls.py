"""Lists of calls and files as they would be written if time were no matter: plain Python over the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sync.making import Tree

_ROWS = (
    "SELECT c.id, c.tool, c.tool_use_id, c.ts, c.result_ts, c.path, c.change, c.added, c.removed, c.is_error, c.result_id,"
    " c.message_id, t.id AS transcript, t.session_id, t.path, t.root FROM tool_calls c, transcripts t WHERE t.id = c.id >> 40"
)


@dataclass(frozen=True)
class Row:
    """A call as the index has it."""

    id: int
    tool: str
    tool_use_id: str
    ts: int | None
    result_ts: int | None
    path: str | None
    change: str | None
    added: int
    removed: int
    is_error: int
    result_id: int | None
    message_id: int | None
    transcript: int
    session_id: str
    transcript_path: str
    root: str

    @property
    def lasted(self) -> int | None:
        return None if self.ts is None or self.result_ts is None else max(0, self.result_ts - self.ts)


def rows(tree: Tree) -> list[Row]:
    """All of them, copies included."""
    return [Row(*row) for row in tree.rows(_ROWS)]


def calls(tree: Tree) -> list[Row]:
    """Each call once."""
    keys = dict(tree.rows("SELECT id, key FROM messages"))
    spoken = {row[0] for row in tree.rows("SELECT transcript FROM sessions")} | {
        row[0] for row in tree.rows("SELECT transcript FROM agents")
    }

    def rank(row: Row) -> tuple[Any, ...]:
        late = (1, 0) if row.ts is None else (0, row.ts)
        return row.result_id is None, row.transcript not in spoken, late, row.transcript_path, row.root, row.id

    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows(tree):
        key = (row.tool_use_id, keys.get(row.message_id)) if row.tool_use_id else (row.id,)
        groups.setdefault(key, []).append(row)
    return [min(group, key=rank) for group in groups.values()]


def newest(found: Iterable[Row]) -> list[Row]:
    return sorted(found, key=lambda row: (row.ts if row.ts is not None else -1, row.id), reverse=True)


def slowest(found: Iterable[Row]) -> list[Row]:
    return sorted(found, key=lambda row: (row.lasted if row.lasted is not None else -1, row.id), reverse=True)


def by(found: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Rows that have the same of something."""
    groups: dict[str, list[Row]] = {}
    for row in found:
        groups.setdefault(key(row), []).append(row)
    return groups
