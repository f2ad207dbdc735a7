"""Roots, the files that were seen under them, what was left out and what could not be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec import Struct

from hansard.clients import CLAUDE_CODE
from hansard.record.chain import BLANKS, Lineage
from hansard.record.database import Row, bind_name, read_name
from hansard.record.tombstones import Tombstones
from hansard.sources.tail import Mark, at_rest, settled
from hansard.storage.sqlite import to_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hansard.sources.tail import FileStatus

LIVE = "live"
GONE = "gone"
FREED = "freed"
"""The state of a log that the user removed with `hansard free`; in the table of files it is gone."""
_OPEN = "open"  # the state of a secret about which nothing was decided
_KNOWN = """\
SELECT path, id, kind, state, coalesce(generation_id, snapshot_id), size, mark_offset, mark_mtime_ns, mark_inode, mark_head,
mark_last, mark_seen_ns, mark_ctime_ns, mark_since_ns FROM file"""


_SETTLED = """\
SELECT path, mark_offset, mark_mtime_ns, mark_ctime_ns, mark_inode, mark_seen_ns, mark_since_ns FROM file
WHERE +root_id = ? AND state = 'live'"""


_UNPROVEN = """\
SELECT f.path, u.kind = 'log', u.ref, u.proven, coalesce(g.size, c.size) FROM unproven u
LEFT JOIN generation g ON u.kind = 'log' AND g.id = u.ref
LEFT JOIN snapshot s ON u.kind = 'snapshot' AND s.id = u.ref LEFT JOIN content c ON c.id = s.content_id
JOIN file f ON f.id = coalesce(g.file_id, s.file_id)"""


class RootRow(Struct, frozen=True):
    """A source root that was synced at some time."""

    id: int
    path: str
    name: str
    client: str


class SecretState(Struct, frozen=True):
    """What the user decided about a secret, why, and when."""

    state: str
    note: str
    set_at: str


class Known(NamedTuple):
    """What the record has of one source file; a plain tuple, because a warm sync makes thousands."""

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
    ctime_ns: int | None
    since_ns: int | None

    @property
    def mark(self) -> Mark | None:
        if self.offset is None:
            return None
        return Mark(
            self.offset,
            self.mtime_ns,
            self.ctime_ns,
            self.inode,
            self.head,
            self.last,
            self.seen_ns,
            self.since_ns or 0,
        )

    def settled(self, size: int, mtime_ns: int, ctime_ns: int, inode: int) -> bool:
        """The sources' `settled` for this file, without the cost of making its mark, whose fields are all here."""
        return self.offset is not None and settled(cast("Mark", self), size, mtime_ns, ctime_ns, inode)


def _known(row: Row) -> Known:
    """A row of `_KNOWN` whose path or inode may be in its other form."""
    return Known._make(row)._replace(path=read_name(row[0]), inode=int(row[8] or 0))


class Quarantined(Struct, frozen=True):
    """A file that could not be read or kept, with its status at the last try."""

    root_id: int
    path: str
    reason: str
    since: str
    tried_ns: int
    size: int
    mtime_ns: int
    ctime_ns: int


class LeftOutRow(Struct, frozen=True):
    """A file that was seen and not kept."""

    root_id: int
    path: str
    size: int
    reason: str


class ErasureRow(Struct, frozen=True):
    """An erasure, in numbers."""

    id: int
    revision: int
    at: str
    receipt: str
    """JSON; no names and no content."""
    finished_at: str | None


class Unproven(NamedTuple):
    """A content that may never have been in the file as a whole: no comparison has shown it."""

    path: str
    generation: int | None
    snapshot: int | None
    proven: int  # bytes from the start
    size: int


class Files(Lineage):
    """The part of the record that knows files but not their bytes.

    Reading a file takes time, so its parts may come from different moments. A content is proven if the file was not written while it
    was read, or when every byte was found again in a second reading: then the file held all of it between the two. Everything that
    has no row in `unproven` is proven.
    """

    def root_id(self, path: str, name: str, client: str = CLAUDE_CODE) -> int:
        """The id of a root: inserted if it is new, updated if its short name or client changed."""
        row = self._one_or_none("SELECT id, name, client FROM root WHERE path = ?", (bind_name(path),))
        if row is None:
            self._must_write()
            values = (bind_name(path), bind_name(name), client)
            return self._insert("INSERT INTO root (path, name, client) VALUES (?, ?, ?)", values)
        if self._writing and (read_name(row[1]), row[2]) != (name, client):
            self._run("UPDATE root SET name = ?, client = ? WHERE id = ?", (bind_name(name), client, row[0]))
        return int(row[0])

    def roots(self) -> list[RootRow]:
        rows = self._rows("SELECT id, path, name, client FROM root ORDER BY id")
        return [RootRow(number, read_name(path), read_name(name), client) for number, path, name, client in rows]

    def known(self, root_id: int) -> dict[str, Known]:
        result: dict[str, Known] = {}
        # The plus keeps SQLite from using the index: nearly every row is needed.
        for row in self._rows(f"{_KNOWN} WHERE +root_id = ?", (root_id,)):
            path, inode = row[0], row[8]
            if type(path) is str and type(inode) is int:
                result[path] = Known._make(row)
            else:
                known = _known(row)
                result[known.path] = known
        return result

    def settled_files(self, root_id: int) -> dict[str, tuple[int, int, int, int] | None]:
        """Size, times and inode by which each live file of a root is proved unchanged; None where no status would prove it.

        A sync that finds nothing new needs no more than this. The rows of `known`, thousands of which may be gone, are for the others.
        """
        result: dict[str, tuple[int, int, int, int] | None] = {}
        for path, offset, mtime, ctime, inode, seen, since in self._rows(_SETTLED, (root_id,)):
            rests = offset is not None and ctime is not None and at_rest(ctime or mtime, seen, since or 0)
            if type(path) is str and type(inode) is int:
                result[path] = (offset, mtime, ctime, inode) if rests else None
            else:
                result[read_name(path)] = (offset, mtime, ctime, int(inode or 0)) if rests else None
        return result

    def known_file(self, root_id: int, path: str) -> Known | None:
        """One file of a root, None when it was never seen."""
        row = self._one_or_none(f"{_KNOWN} WHERE root_id = ? AND path = ?", (root_id, bind_name(path)))
        return _known(row) if row is not None else None

    def set_state(self, file_ids: Iterable[int], state: str, when: str) -> None:
        """Set whether files are missing from their place, since `when`."""
        self._must_write()
        if state == LIVE:
            file_ids = list(file_ids)
            self.forget_freed(file_ids)
        self._run_many(
            "UPDATE file SET state = ?1, state_at = ?2 WHERE id = ?3 AND state <> ?1",
            ((state, when, file_id) for file_id in file_ids),
        )

    def note_freed(self, file_ids: Iterable[int]) -> None:
        """Note that the user removes files from their place; before it is done, so that a crash leaves no file without a reason."""
        self._must_write()
        self._run_many(
            "INSERT OR REPLACE INTO freed (file_id, at) VALUES (?, ?)",
            ((file_id, self._moment) for file_id in file_ids),
        )

    def forget_freed(self, file_ids: Iterable[int]) -> None:
        """Drop that note for files that exist again."""
        self._must_write()
        self._run_many("DELETE FROM freed WHERE file_id = ?", ((file_id,) for file_id in file_ids))

    def freed(self) -> dict[int, str]:
        """The files that the user removed from their place, and when."""
        rows = self._rows(
            "SELECT w.file_id, w.at FROM freed w JOIN file f ON f.id = w.file_id WHERE f.state = 'gone' ORDER BY w.file_id"
        )
        return dict(rows)

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

    def quarantine(self, root_id: int, path: str, reason: str, status: FileStatus, tried_ns: int) -> None:
        """Note a file that could not be read or kept; what is kept of it stays."""
        self._must_write()
        self._run(
            "INSERT INTO quarantine (root_id, path, reason, since, tried_ns, size, mtime_ns, ctime_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET reason = excluded.reason, tried_ns = excluded.tried_ns, size = excluded.size,"
            " mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns",
            (
                *(root_id, bind_name(path), reason, self._moment, tried_ns),
                *(status.size, status.mtime_ns, status.ctime_ns),
            ),
        )

    def release(self, root_id: int, path: str) -> None:
        """Drop the note on a file that was kept after all, or is gone."""
        self._must_write()
        self._run("DELETE FROM quarantine WHERE root_id = ? AND path = ?", (root_id, bind_name(path)))

    def quarantined(self) -> list[Quarantined]:
        """What could not be read or kept, by root and path."""
        rows = self._rows(
            "SELECT root_id, path, reason, since, tried_ns, size, mtime_ns, ctime_ns FROM quarantine ORDER BY root_id, path"
        )
        return [Quarantined(row[0], read_name(row[1]), *row[2:]) for row in rows]

    def note_database(self, root_id: int, path: str, kind: str, mark: Mark) -> None:
        """Note with what status a database was read; its rows are kept in logs of their own."""
        self._must_write()
        file_id, _, _ = self._enter_file(root_id, path, kind)
        self._mark_file(file_id, mark.offset, mark)

    def _enter_file(self, root_id: int, path: str, kind: str) -> tuple[int, int | None, int | None]:
        """The id and the current generation and snapshot of a file, which is entered when new."""
        bound = bind_name(path)
        row = self._one_or_none(
            "SELECT id, generation_id, snapshot_id FROM file WHERE root_id = ? AND path = ?", (root_id, bound)
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
        self._release_tails()
        self._run(
            "UPDATE generation SET ended_at = ?, ended_reason = ? WHERE id = ?", (self._moment, reason, generation)
        )

    def _mark_file(self, file_id: int, size: int, mark: Mark) -> None:
        """Note what was read of a file; having been read, it is there."""
        self._run(
            "UPDATE file SET size = ?, mark_offset = ?, mark_mtime_ns = ?, mark_ctime_ns = ?, mark_inode = ?, mark_head = ?, "
            "mark_last = ?, mark_seen_ns = ?, mark_since_ns = ?, state = 'live', state_at = iif(state = 'live', state_at, ?) "
            "WHERE id = ?",
            (size, *mark, self._moment, file_id),
        )
        self._run("DELETE FROM freed WHERE file_id = ?", (file_id,))

    def worktrees(self) -> dict[str, str]:
        """Every folder that was seen to be a worktree, with its repository."""
        return {str(path): str(repository) for path, repository in self._rows("SELECT path, repository FROM worktree")}

    def note_worktree(self, path: str, repository: str) -> None:
        """Store the repository of a worktree; the last one seen counts."""
        self._must_write()
        self._run(
            "INSERT INTO worktree (path, repository, seen_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET"
            " repository = excluded.repository, seen_at = excluded.seen_at WHERE repository != excluded.repository",
            (path, repository, self._moment),
        )

    def moves(self) -> dict[str, str]:
        """Where each folder was moved to."""
        return {str(path): str(target) for path, target in self._rows("SELECT path, target FROM move")}

    def note_move(self, path: str, target: str) -> None:
        """Keep where a folder was moved to; what was at the target before is there no more."""
        self._must_write()
        self._run("DELETE FROM move WHERE path IN (?, ?)", (path, target))
        self._run("INSERT INTO move (path, target, moved_at) VALUES (?, ?, ?)", (path, target, self._moment))

    def forget_move(self, path: str) -> None:
        """Drop the note on a move that was undone."""
        self._must_write()
        self._run("DELETE FROM move WHERE path = ?", (path,))

    def file_names(self, after: int = 0) -> list[tuple[int, str]]:
        """The ids and paths of files with an id over `after`."""
        rows = self._rows("SELECT id, path FROM file WHERE id > ? ORDER BY id", (after,))
        return [(row[0], read_name(row[1])) for row in rows]

    def present(self, table: str, ids: Iterable[int]) -> set[int]:
        """Those of some ids that a table still has: file, snapshot or (valid) remark."""
        valid = " AND removed_at IS NULL" if table == "remark" else ""
        rows = self._rows(
            f"SELECT t.id FROM json_each(?) j CROSS JOIN {table} t ON t.id = j.value{valid}", (to_json(list(ids)),)
        )
        return {row[0] for row in rows}

    def secret_key(self) -> bytes:
        """The random key of the fingerprints of secrets."""
        return bytes(self._one("SELECT key FROM secret_key")[0])

    def secret_states(self) -> dict[str, SecretState]:
        """What the user decided about secrets, by fingerprint; all others are open."""
        rows = self._rows("SELECT fingerprint, state, note, set_at FROM secret_state")
        return {row[0]: SecretState(*row[1:]) for row in rows}

    def note_secret_state(self, fingerprint: str, state: str, note: str) -> None:
        """Store what the user decided about a secret; an open one needs no row."""
        self._must_write()
        if state == _OPEN:
            self._run("DELETE FROM secret_state WHERE fingerprint = ?", (fingerprint,))
            return
        self._run(
            "INSERT OR REPLACE INTO secret_state (fingerprint, state, note, set_at) VALUES (?, ?, ?, ?)",
            (fingerprint, state, note, self._moment),
        )

    def tombstones(self) -> Tombstones:
        """The tombstones; without a key if there are none."""
        row = self._one("SELECT tombstone_key, EXISTS (SELECT 1 FROM tombstone) FROM store")
        return Tombstones(row[0] if row[1] else b"", self._is_buried)

    def _is_buried(self, digest: bytes) -> bool:
        return self._one_or_none("SELECT 1 FROM tombstone WHERE digest = ?", (digest,)) is not None

    def has_unfinished_erasure(self) -> bool:
        """Whether something was erased of which copies may be left."""
        return self._one_or_none("SELECT 1 FROM erasure WHERE finished_at IS NULL") is not None

    def erasures(self) -> list[ErasureRow]:
        """What was erased, the oldest first."""
        rows = self._rows("SELECT id, revision_id, at, receipt, finished_at FROM erasure ORDER BY id")
        return [ErasureRow(*row) for row in rows]

    def blanks(self, kind: str, ref: int) -> list[tuple[int, int]]:
        """Where the record has markers in place of what was erased: starts and lengths."""
        return [
            (int(start), int(length))
            for start, length in self._rows("SELECT start, length FROM blank WHERE kind = ? AND ref = ?", (kind, ref))
        ]

    def note_blanks(self, kind: str, ref: int, stretches: Iterable[tuple[int, int]]) -> None:
        """Note where markers were kept in place of other bytes: starts and lengths."""
        self._must_write()
        rows = [(kind, ref, *stretch) for stretch in stretches]
        if not rows:
            return
        self._run_many(
            "INSERT INTO blank (kind, ref, start, length) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET length = max(length, excluded.length)",
            rows,
        )
        self._touch(BLANKS[kind], ref)

    def doubt(self, kind: str, ref: int, proven: int) -> None:
        """Note that a content is proven up to this size only, unless an earlier doubt says less."""
        self._must_write()
        self._run(
            "INSERT INTO unproven (kind, ref, proven, target, compared) VALUES (?, ?, ?, 0, 0) ON CONFLICT DO NOTHING",
            (kind, ref, proven),
        )

    def vouch(self, kind: str, ref: int) -> None:
        """Note that a content is proven."""
        self._must_write()
        self._run("DELETE FROM unproven WHERE kind = ? AND ref = ?", (kind, ref))

    def unproven(self) -> list[Unproven]:
        """Every content that is not proven, by path."""
        return [
            Unproven(read_name(path), ref if is_log else None, None if is_log else ref, proven, size)
            for path, is_log, ref, proven, size in self._rows(f"{_UNPROVEN} ORDER BY f.path, u.ref")
        ]

    def unproven_from(self, kind: str, ref: int) -> int | None:
        """The offset from which a content is unproven, or None if all of it is proven."""
        row = self._one_or_none("SELECT proven FROM unproven WHERE kind = ? AND ref = ?", (kind, ref))
        return None if row is None else int(row[0])
