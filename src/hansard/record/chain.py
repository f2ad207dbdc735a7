"""The hash chain over all writes: proof that everything stored before a noted hash is still there, byte for byte.

Every committed write is a revision. Its hash covers the former revision's hash, its time, and one entry for each log, snapshot, remark,
receipt and set of markers that the write touched; an entry's hash covers the whole content that the log or snapshot had then. For a log
that grows, this costs no second reading: a rolling hash over its full chunks is stored with the generation, and only the last chunk is new.

Revisions of layouts before 10 do not cover their times, and a hash fits one form only: the former hash is hashed with the time first.

What is erased on the user's order leaves its entries and one more, of a kind in `ERASED`, in the write that erased it. Former entries
of it cannot be checked any more; each has a random seed in its hash that was erased too, so none of them confirms a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from hansard.record.database import Database, read_name, record_error, short_hash
from hansard.record.schema import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hansard.record.unchained import Unchained


LOG, SNAPSHOT, REMARK, REMOVED = "log", "snapshot", "remark", "removed"
ERASED = {LOG: "erased log", SNAPSHOT: "erased snapshot", REMARK: "erased remark"}
"""The kind of the entry that says that something of a kind was erased."""
BLANKS = {LOG: "log markers", SNAPSHOT: "snapshot markers"}
"""The kind of the entry for all markers in a log or a snapshot."""
RECEIPT = "receipt"
SEED = 16
_LOGS = "SELECT f.path, g.seq, g.size, g.rolling FROM generation g JOIN file f ON f.id = g.file_id WHERE g.id = ?"
_ALL_LOGS = (
    f"SELECT g.id, f.path, g.seq, g.size, g.rolling, iif(g.size = 0, NULL, (SELECT iif(c.length = {CHUNK}, NULL, c.hash) FROM chunk c"
    " WHERE c.generation_id = g.id ORDER BY c.start DESC LIMIT 1))"
    " FROM json_each(?) j CROSS JOIN generation g ON g.id = j.value JOIN file f ON f.id = g.file_id"
)
_TAIL = "SELECT start, length, hash FROM chunk WHERE generation_id = ? ORDER BY start DESC LIMIT 1"
_SNAPSHOTS = (
    "SELECT f.path, c.hash, (SELECT seed FROM seed WHERE kind = 'snapshot' AND ref = s.id)"
    " FROM snapshot s JOIN file f ON f.id = s.file_id JOIN content c ON c.id = s.content_id WHERE s.id = ?"
)
_RECEIPTS = "SELECT revision_id, at, receipt FROM erasure WHERE id = ?"
_STRETCHES = "SELECT start, length FROM blank WHERE kind = ? AND ref = ? ORDER BY start"
_REMARKS = (
    "SELECT session_id, kind, value, set_at, removed_at, (SELECT seed FROM seed WHERE kind = 'remark' AND ref = r.id)"
    " FROM remark r WHERE id = ?"
)


class Revision(NamedTuple):
    """One committed write: its number, and the hash of everything that was kept up to it."""

    number: int
    hash: bytes

    def __str__(self) -> str:
        """The form that people note down."""
        return f"{self.number}:{self.hash.hex()}"


def is_revision(text: str) -> bool:
    """Whether a text has the form of a noted revision: `number:hash`, the beginning of that hash, or the hash alone."""
    import re

    return re.fullmatch(r"([0-9]{1,18}:)?[0-9A-Fa-f]{2,64}", text) is not None


class Entry(NamedTuple):
    """The content that one log, snapshot or remark had after a write."""

    revision: int
    kind: str
    ref: int
    size: int
    hash: bytes


def roll(rolling: bytes, chunk_hash: bytes) -> bytes:
    """The rolling hash of a log after one more full chunk."""
    from hashlib import sha256

    return sha256(rolling + chunk_hash).digest()[:16]


def log_hash(path: str, seq: int, size: int, rolling: bytes, tail_hash: bytes) -> bytes:
    """The hash of an entry for a log: where it belongs and all of its bytes; `rolling` begins with its seed."""
    return _hashed(LOG, path, str(seq), str(size), rolling.hex(), tail_hash.hex())


def snapshot_hash(path: str, content_hash: bytes, seed: bytes | None) -> bytes:
    """The hash of an entry for a file that is kept whole."""
    return _hashed(SNAPSHOT, path, content_hash.hex(), *_seeded(seed))


def remark_hash(*values: str, seed: bytes | None = None) -> bytes:
    """The hash of an entry for a remark that was added or removed."""
    return _hashed(REMARK, *values, *_seeded(seed))


def erased_hash(kind: str, ref: int, size: int) -> bytes:
    """The hash of an entry for what was erased."""
    return _hashed(kind, str(ref), str(size))


def receipt_hash(revision: int, at: str, receipt: str) -> bytes:
    """The hash of an entry for the receipt of an erasure."""
    return _hashed(RECEIPT, str(revision), at, receipt)


def blanks_hash(kind: str, stretches: Iterable[tuple[int, int]]) -> bytes:
    """The hash of an entry for the markers in a log or a snapshot, by their places."""
    return _hashed(kind, *(f"{start}:{length}" for start, length in stretches))


def _seeded(seed: bytes | None) -> tuple[str, ...]:
    """Nothing for what was kept before there were seeds."""
    return (seed.hex(),) if seed else ()


def _hashed(*values: str) -> bytes:
    from hashlib import sha256

    joined = b"".join(b"%d:%s," % (len(data), data) for data in (v.encode("utf-8", "surrogatepass") for v in values))
    return sha256(joined).digest()[:16]


def first_hash(store_id: str) -> bytes:
    """The hash before the first write of a store."""
    from hashlib import sha256

    return sha256(store_id.encode()).digest()


def next_hash(former: bytes, entries: Iterable[Entry], at: str | None) -> bytes:
    """The hash of a write with these entries, in their order; without a time in the form of layouts before 10."""
    from hashlib import sha256

    digest = sha256(former if at is None else sha256(former + at.encode()).digest())
    for entry in entries:
        digest.update(b"%s:%d:%d:%s," % (entry.kind.encode(), entry.ref, entry.size, entry.hash))
    return digest.digest()


def follows(former: bytes, entries: Sequence[Entry], at: str, hash_: bytes) -> bool:
    """Whether a hash is that of the write that came next."""
    return hash_ in (next_hash(former, entries, at), next_hash(former, entries, None))


def current_entries(db: apsw.Connection, refs: Sequence[tuple[str, int]]) -> Iterator[tuple[int, bytes]]:
    """`current_entry` of each of these, in order; logs are read with one query, because a first write has thousands."""
    import json  # only a write needs it

    logs = json.dumps([ref for kind, ref in refs if kind == LOG])
    known: dict[int, tuple[int, bytes]] = {}
    for id_, path, seq, size, rolling, tail in db.execute(_ALL_LOGS, (logs,)):
        known[id_] = size, log_hash(read_name(path), seq, size, rolling, tail or b"")
    for kind, ref in refs:
        yield known.get(ref, (0, b"")) if kind == LOG else current_entry(db, kind, ref)


def current_entry(db: apsw.Connection, kind: str, ref: int) -> tuple[int, bytes]:
    """The size and the hash of an entry's current content in the tables; the hash of nothing if it is missing."""
    try:
        return _current_entry(db, kind, ref)
    except TypeError:  # no row to unpack
        return 0, b""


def _current_entry(db: apsw.Connection, kind: str, ref: int) -> tuple[int, bytes]:
    if kind == LOG:
        path, seq, size, rolling = db.execute(_LOGS, (ref,)).get
        tail = db.execute(_TAIL, (ref,)).get if size else None
        return size, log_hash(read_name(path), seq, size, rolling, tail[2] if tail and tail[1] != CHUNK else b"")
    if kind == SNAPSHOT:
        path, content, seed = db.execute(_SNAPSHOTS, (ref,)).get
        return 0, snapshot_hash(read_name(path), content, seed)
    if kind == RECEIPT:
        return 0, receipt_hash(*db.execute(_RECEIPTS, (ref,)).get)
    for what, entry in BLANKS.items():
        if kind == entry:
            stretches: list[Any] = db.execute(_STRETCHES, (what, ref)).fetchall()
            return 0, blanks_hash(kind, stretches)
    session_id, what, value, set_at, removed_at, seed = db.execute(_REMARKS, (ref,)).get
    if kind == REMOVED:
        return 0, remark_hash(str(ref), removed_at or "")
    return 0, remark_hash(session_id, what, value, set_at, seed=seed)


def begin(db: apsw.Connection, store_id: str, moment: str) -> None:
    """Start the chain of a store: with nothing, or with all that a store of an older layout has."""
    former = first_hash(store_id)
    revision = int(db.execute("SELECT revision FROM store").get)
    db.execute("DELETE FROM seed")
    for kind in ERASED:
        plant(db, kind, "generation" if kind == LOG else kind)
    for generation in _ids(db, "generation"):
        rolling = read_seed(db, LOG, generation)
        for length, hash_ in db.execute(
            "SELECT length, hash FROM chunk WHERE generation_id = ? ORDER BY start", (generation,)
        ):
            rolling = roll(rolling, hash_) if length == CHUNK else rolling
        db.execute("UPDATE generation SET rolling = ? WHERE id = ?", (rolling, generation))
    _enter(
        db,
        former,
        revision,
        moment,
        [
            *((LOG, ref) for ref in _ids(db, "generation")),
            *((REMARK, ref) for ref in _ids(db, "remark")),
            *((REMOVED, ref) for ref in _ids(db, "remark WHERE removed_at IS NOT NULL")),
            *((SNAPSHOT, ref) for ref in _ids(db, "snapshot")),
            *_marks(db),
        ],
    )


def extend(db: apsw.Connection, moment: str) -> None:
    """Let a chain that a layout before 10 has ended cover what it did not cover: receipts, markers, and times from here on.

    Versions of those layouts also lost entries: those of a write in which a file turned out to be rewritten, up to that file. A chain that was written with this layout is left alone, whatever the layout of its database claims.
    """
    rows: list[Any] = db.execute("SELECT id, at, hash FROM revision ORDER BY id DESC LIMIT 2").fetchall()
    if not rows:
        return
    last, at, hash_ = rows[0]
    former = rows[1][2] if len(rows) > 1 else first_hash(db.execute("SELECT store_id FROM store").get)
    entries: list[Any] = db.execute(
        "SELECT revision_id, kind, ref, size, hash FROM entry WHERE revision_id = ? ORDER BY kind, ref", (last,)
    ).fetchall()
    if next_hash(former, [Entry._make(row) for row in entries], at) != hash_:
        _enter(db, hash_, last + 1, moment, [*_without_entries(db), *_marks(db)])
        db.execute("UPDATE store SET revision = max(revision, ?)", (last + 1,))


def _without_entries(db: apsw.Connection) -> list[tuple[str, int]]:
    """The logs, snapshots and remarks of which no entry says what they have."""
    newest = "(SELECT ref, max(revision_id), size FROM entry WHERE kind = 'log' GROUP BY ref)"
    missing = "id NOT IN (SELECT ref FROM entry WHERE kind = '{}')"
    return [
        *(
            (LOG, ref)
            for ref in _ids(db, f"generation g LEFT JOIN {newest} e ON e.ref = g.id WHERE e.size IS NOT g.size")
        ),
        *((SNAPSHOT, ref) for ref in _ids(db, f"snapshot WHERE {missing.format(SNAPSHOT)}")),
        *((REMARK, ref) for ref in _ids(db, f"remark WHERE {missing.format(REMARK)}")),
        *((REMOVED, ref) for ref in _ids(db, f"remark WHERE removed_at IS NOT NULL AND {missing.format(REMOVED)}")),
    ]


def _marks(db: apsw.Connection) -> list[tuple[str, int]]:
    """The receipts, and the logs and snapshots with markers."""
    blanks: list[Any] = db.execute("SELECT DISTINCT kind, ref FROM blank ORDER BY kind, ref").fetchall()
    return [*((BLANKS[kind], ref) for kind, ref in blanks), *((RECEIPT, ref) for ref in _ids(db, "erasure"))]


def _enter(db: apsw.Connection, former: bytes, revision: int, moment: str, refs: Sequence[tuple[str, int]]) -> None:
    """Add a revision with entries for what is in the tables."""
    entries = [Entry(revision, kind, ref, *current_entry(db, kind, ref)) for kind, ref in sorted(refs)]
    db.execute(
        "INSERT INTO revision (id, at, hash) VALUES (?, ?, ?)", (revision, moment, next_hash(former, entries, moment))
    )
    db.executemany("INSERT INTO entry (revision_id, kind, ref, size, hash) VALUES (?, ?, ?, ?, ?)", entries)


def plant(db: apsw.Connection, kind: str, table: str, first: int = 0) -> None:
    """Give seeds to everything of a kind from an id on."""
    db.execute(
        f"INSERT INTO seed (kind, ref, seed) SELECT ?, id, randomblob({SEED}) FROM {table} WHERE id >= ?", (kind, first)
    )


def read_seed(db: apsw.Connection, kind: str, ref: int) -> bytes:
    """The seed of a log, a snapshot or a remark; empty for what was kept before there were seeds."""
    seed: bytes | None = db.execute("SELECT seed FROM seed WHERE kind = ? AND ref = ?", (kind, ref)).get
    return seed or b""


def _ids(db: apsw.Connection, source: str) -> list[int]:
    rows: list[Any] = db.execute(f"SELECT id FROM {source} ORDER BY id").fetchall()
    return [row[0] for row in rows]


class LogProof:
    """Checks the entries of one log as its chunks are read."""

    def __init__(self, path: str, seq: int, seed: bytes, entries: Iterable[Entry]) -> None:
        self._path = path
        self._seq = seq
        self._waiting = sorted(entries, key=lambda entry: entry.size)
        self._rolling = seed
        self._position = 0
        self.broken: list[Entry] = []
        """Entries whose content is not what the log has now."""

    def chunk(self, raw: bytes) -> None:
        """Take the next chunk; of a damaged one, the bytes in its place."""
        from hashlib import sha256

        end = self._position + len(raw)
        whole = len(raw) == CHUNK
        digest, hashed = sha256(), 0
        while self._waiting and (self._waiting[0].size < end or (not whole and self._waiting[0].size == end)):
            entry = self._waiting.pop(0)
            digest.update(memoryview(raw)[hashed : entry.size - self._position])
            hashed = entry.size - self._position
            tail = digest.copy().digest()[:16] if hashed else b""
            self._check(entry, tail)
        if whole:
            self._rolling = roll(self._rolling, short_hash(raw))
        self._position = end

    def end(self) -> None:
        """Check the remaining entries: those at the end of the log or beyond it."""
        for entry in self._waiting:
            self._check(entry, b"")
        self._waiting = []

    def _check(self, entry: Entry, tail: bytes) -> None:
        if log_hash(self._path, self._seq, entry.size, self._rolling, tail) != entry.hash:
            self.broken.append(entry)


class Lineage(Database):
    """The part of the record that chains its writes."""

    _touched: list[tuple[str, int]]
    _erased: dict[tuple[str, int], int]

    def head(self) -> Revision:
        return Revision(*self._one("SELECT id, hash FROM revision ORDER BY id DESC LIMIT 1"))

    def read_revision(self, number: int) -> tuple[Revision, str]:
        """A revision by its number, and when it was written."""
        id_, hash_, at = self._one("SELECT id, hash, at FROM revision WHERE id = ?", (number,))
        return Revision(id_, hash_), at

    def has_revision(self, number: object, hash_: object) -> bool:
        """Whether this record was once in exactly this state, so that an index made from it then is still valid."""
        return self._one_or_none("SELECT 1 FROM revision WHERE id = ? AND hash = ?", (number, hash_)) is not None

    def find_revision(self, noted: str) -> Revision | None:
        """The revision that a user saved, given as `number:hash` or as a hash prefix."""
        if not is_revision(noted):
            return None
        number, colon, digits = noted.rpartition(":")
        wanted = bytes.fromhex(digits[: len(digits) // 2 * 2])
        rows = self._rows(
            "SELECT id, hash FROM revision WHERE substr(hash, 1, ?) = ? AND (? = '' OR id = ?) LIMIT 2",
            (len(wanted), wanted, colon, int(number or -1)),
        )
        found = [Revision(*row) for row in rows if row[1].hex().startswith(digits.lower())]
        return found[0] if len(found) == 1 else None

    def revisions(self) -> Iterator[tuple[int, bytes, str]]:
        """Every revision's number, hash and time, the oldest first."""
        yield from self._rows("SELECT id, hash, at FROM revision ORDER BY id")

    def entries(self, kind: str | None = None, ref: int | None = None) -> list[Entry]:
        """What writes added, the oldest first: of one thing, or of all."""
        where, values = ("WHERE kind = ? AND ref = ?", (kind, ref)) if kind is not None else ("", ())
        return [
            Entry._make(row)
            for row in self._rows(
                f"SELECT revision_id, kind, ref, size, hash FROM entry {where} ORDER BY revision_id, kind, ref", values
            )
        ]

    def unchained(self) -> list[Unchained]:
        """What the tables have and the chain of revisions does not: it was put there by something else."""
        from hansard.record.unchained import QUERIES, Unchained  # only a verification asks

        return [
            Unchained(None if path is None else read_name(path), generation, reason)
            for sql in QUERIES
            for path, generation, reason in self._rows(sql)
        ]

    def current_hash(self, kind: str, ref: int) -> bytes:
        """The hash that an entry for this snapshot or remark would have now."""
        try:
            return current_entry(self._db, kind, ref)[1]
        except apsw.Error as error:
            raise record_error(error, self.path) from error

    def seed(self, kind: str, ref: int) -> bytes:
        try:
            return read_seed(self._db, kind, ref)
        except apsw.Error as error:
            raise record_error(error, self.path) from error

    def _touch(self, kind: str, ref: int) -> None:
        """Remember that this write changes something that has entries."""
        self._touched.append((kind, ref))

    def _touch_new(self, kind: str, ref: int) -> None:
        """Remember that this write adds a snapshot or a remark."""
        self._run(f"INSERT INTO seed (kind, ref, seed) VALUES (?, ?, randomblob({SEED}))", (kind, ref))
        self._touch(kind, ref)

    def _touch_erased(self, kind: str, ref: int, size: int) -> None:
        """Remember that this write erases a log, a snapshot or a remark, of which nothing is left in the tables."""
        self._erased[ERASED[kind], ref] = size
        self._touch(ERASED[kind], ref)

    def _seal(self) -> None:
        former, hash_ = self.head()
        revision = former + 1
        touched = sorted(set(self._touched))
        kept = [item for item in touched if item not in self._erased]
        content = dict(zip(kept, current_entries(self._db, kept), strict=True))
        for item in touched:
            if item in self._erased:
                content[item] = self._erased[item], erased_hash(*item, self._erased[item])
        entries = [Entry(revision, *item, *content[item]) for item in touched]
        self._run("UPDATE store SET revision = ?", (revision,))
        self._run(
            "INSERT INTO revision (id, at, hash) VALUES (?, ?, ?)",
            (revision, self._moment, next_hash(hash_, entries, self._moment)),
        )
        self._run_many("INSERT INTO entry (revision_id, kind, ref, size, hash) VALUES (?, ?, ?, ?, ?)", entries)

    def _step(self) -> int:
        return len(self._touched)

    def _undo_step(self, noted: int) -> None:
        super()._undo_step(noted)
        del self._touched[noted:]

    def _forget(self) -> None:
        super()._forget()
        self._touched = []
        self._erased = {}
