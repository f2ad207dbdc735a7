"""Roots, the files that were seen under them, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hansard.record.database import Database, Row, bind_name, read_name
from hansard.sources.tail import Mark, settled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

LIVE = "live"
GONE = "gone"
_KNOWN = """\
SELECT path, id, kind, state, coalesce(generation_id, snapshot_id), size, mark_offset, mark_mtime_ns, mark_inode, mark_head,
mark_last, mark_seen_ns FROM file"""
WIDEST_INTEGER = (1 << 63) - 1


class RootRow(NamedTuple):
    """A source root that was synced at some time."""

    id: int
    path: str
    name: str


class Known(NamedTuple):
    """What the record has of one source file; a bare row like all values of this room: a warm sync makes thousands."""

    path: str
    file_id: int
    kind: str
    state: str
    generation: int
    """The current generation of a log, the current snapshot of a file that is kept whole."""
    size: int
    offset: int | None
    mtime_ns: int
    inode: int
    head: bytes
    last: bytes
    seen_ns: int

    @property
    def mark(self) -> Mark | None:
        """The mark it was settled with."""
        if self.offset is None:
            return None
        return Mark(self.offset, self.mtime_ns, self.inode, self.head, self.last, self.seen_ns)

    def settled(self, size: int, mtime_ns: int, inode: int) -> bool:
        """The sources' `settled` for this file, without the cost of making its mark, whose fields are all here."""
        return self.offset is not None and settled(cast("Mark", self), size, mtime_ns, inode)


def _known(row: Row) -> Known:
    """A row of `_KNOWN` whose path or inode may be in its other form."""
    return Known._make(row)._replace(path=read_name(row[0]), inode=int(row[8] or 0))


class LeftOutRow(NamedTuple):
    """A file that was seen and not kept."""

    root_id: int
    path: str
    size: int
    reason: str


def bind_mark(mark: Mark) -> tuple[Any, ...]:
    """The six mark columns; a Windows file index can need more bits than an SQLite integer has."""
    inode = mark.inode if -WIDEST_INTEGER <= mark.inode <= WIDEST_INTEGER else str(mark.inode)
    return (mark.offset, mark.mtime_ns, inode, mark.head, mark.last, mark.seen_ns)


class Files(Database):
    """The part of the record that knows files but not their bytes."""

    def root_id(self, path: str, name: str) -> int:
        """The id of a root, which is entered when new and renamed when its short name changed."""
        row = self._one_or_none("SELECT id, name FROM root WHERE path = ?", (bind_name(path),))
        if row is None:
            self._must_write()
            return self._insert("INSERT INTO root (path, name) VALUES (?, ?)", (bind_name(path), bind_name(name)))
        if self._writing and read_name(row[1]) != name:
            self._run("UPDATE root SET name = ? WHERE id = ?", (bind_name(name), row[0]))
        return int(row[0])

    def roots(self) -> list[RootRow]:
        """Every root ever synced, oldest first."""
        rows = self._rows("SELECT id, path, name FROM root ORDER BY id")
        return [RootRow(number, read_name(path), read_name(name)) for number, path, name in rows]

    def known(self, root_id: int) -> dict[str, Known]:
        """Every file of a root by its relative path."""
        result: dict[str, Known] = {}
        # The plus keeps SQLite from hopping through the index: nearly every row is wanted.
        for row in self._rows(f"{_KNOWN} WHERE +root_id = ?", (root_id,)):
            path, inode = row[0], row[8]
            if type(path) is str and type(inode) is int:
                result[path] = Known._make(row)
            else:
                known = _known(row)
                result[known.path] = known
        return result

    def known_file(self, root_id: int, path: str) -> Known | None:
        """One file of a root, None when it was never seen."""
        row = self._one_or_none(f"{_KNOWN} WHERE root_id = ? AND path = ?", (root_id, bind_name(path)))
        return _known(row) if row is not None else None

    def set_state(self, file_ids: Iterable[int], state: str, when: str) -> None:
        """Note that files are gone from their place, or there again, since `when`."""
        self._must_write()
        self._run_many(
            "UPDATE file SET state = ?1, state_at = ?2 WHERE id = ?3 AND state <> ?1",
            ((state, when, file_id) for file_id in file_ids),
        )

    def leave_out(self, root_id: int, path: str, size: int, reason: str) -> None:
        """Note a file that was seen and not kept."""
        self._must_write()
        self._run(
            "INSERT INTO left_out (root_id, path, size, reason) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET size = excluded.size, reason = excluded.reason WHERE size <> excluded.size OR reason <> excluded.reason",
            (root_id, bind_name(path), size, reason),
        )

    def forget_left_out(self, root_id: int, keep: Collection[str] = ()) -> None:
        """Drop the notes on files of a root other than `keep`: those that the last sync left out."""
        self._must_write()
        for (path,) in self._rows("SELECT path FROM left_out WHERE root_id = ?", (root_id,)):
            if read_name(path) not in keep:
                self._run("DELETE FROM left_out WHERE root_id = ? AND path = ?", (root_id, path))

    def left_out(self) -> list[LeftOutRow]:
        """What was seen and not kept, by root and path."""
        rows = self._rows("SELECT root_id, path, size, reason FROM left_out ORDER BY root_id, path")
        return [LeftOutRow(root_id, read_name(path), size, reason) for root_id, path, size, reason in rows]

    def _enter_file(self, root_id: int, path: str, kind: str) -> tuple[int, int | None, int | None]:
        """The id and the current generation and snapshot of a file, which is entered when new."""
        bound = bind_name(path)
        row = self._one_or_none(
            "SELECT id, generation_id, snapshot_id FROM file WHERE root_id = ? AND path = ?",
            (root_id, bound),
        )
        if row is not None:
            return row[0], row[1], row[2]
        file_id = self._insert(
            "INSERT INTO file (root_id, path, kind, state, state_at, size) VALUES (?, ?, ?, 'live', ?, 0)",
            (root_id, bound, kind, self._moment),
        )
        return file_id, None, None

    def _end_generation(self, generation: int, reason: str) -> None:
        """Close a generation that something else follows."""
        self._write_back()
        self._forget()
        self._run(
            "UPDATE generation SET ended_at = ?, ended_reason = ? WHERE id = ?", (self._moment, reason, generation)
        )

    def _mark_file(self, file_id: int, size: int, mark: Mark) -> None:
        """Note what was read of a file; having been read, it is there."""
        self._run(
            "UPDATE file SET size = ?, mark_offset = ?, mark_mtime_ns = ?, mark_inode = ?, mark_head = ?, mark_last = ?, "
            "mark_seen_ns = ?, state = 'live', state_at = iif(state = 'live', state_at, ?) WHERE id = ?",
            (size, *bind_mark(mark), self._moment, file_id),
        )
