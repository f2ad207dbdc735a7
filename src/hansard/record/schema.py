"""The layout of record.db, as one commented block, and its migrations."""

from __future__ import annotations

from msgspec import Struct

APPLICATION_ID = 0x48534452
"""Written in the database's header ("HSDR"), so that another program's database is never taken for ours."""

CHUNK = 256 * 1024
"""Raw bytes in a full chunk: large enough for zstd to pay, small enough for a random read under a millisecond."""

FIRST = """\
-- The store itself.
CREATE TABLE store (
  id          INTEGER PRIMARY KEY CHECK (id = 1),   -- there is exactly one row
  store_id    TEXT NOT NULL,                        -- random UUID, given when the store was created
  created_at  TEXT NOT NULL,                        -- ISO 8601, UTC
  revision    INTEGER NOT NULL                      -- +1 with each committed write: a copy put back from a backup shows
) STRICT;

-- A source root: a config directory, or a bare projects directory.
CREATE TABLE root (
  id    INTEGER PRIMARY KEY AUTOINCREMENT,
  path  ANY NOT NULL UNIQUE,                        -- absolute; TEXT, or a UTF-8 BLOB with surrogates for names that are not Unicode
  name  ANY NOT NULL                                -- the short name it had when last seen; TEXT or BLOB like path
) STRICT;

-- A source file, known for ever once seen. The mark columns are NULL until its content was kept and settled.
CREATE TABLE file (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  root_id        INTEGER NOT NULL REFERENCES root (id),
  path           ANY NOT NULL,                      -- with "/", relative to the config directory; TEXT or BLOB like root.path
  kind           TEXT NOT NULL,                     -- what sort of file it is, in the words of the sources room
  state          TEXT NOT NULL CHECK (state IN ('live', 'gone')),  -- gone: no longer at its place in the source
  state_at       TEXT NOT NULL,                     -- since when
  generation_id  INTEGER REFERENCES generation (id),  -- the current content of an append-only log ...
  snapshot_id    INTEGER REFERENCES snapshot (id),    -- ... or of a file that is kept whole
  size           INTEGER NOT NULL,                  -- raw bytes of the current content
  mark_offset    INTEGER,                           -- mark: bytes of the source that were consumed
  mark_mtime_ns  INTEGER,                           -- mark: modification time of the source then
  mark_inode     ANY,                               -- mark: inode; TEXT when it needs more than 63 bits
  mark_head      BLOB,                              -- mark: fingerprint of the first bytes
  mark_last      BLOB,                              -- mark: fingerprint of the bytes before the offset
  mark_seen_ns   INTEGER,                           -- mark: wall clock when it was read
  UNIQUE (root_id, path)
) STRICT;

-- One life of a log. A rewrite or truncation of the source closes it and begins the next; both are kept.
CREATE TABLE generation (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
  file_id       INTEGER NOT NULL REFERENCES file (id),
  seq           INTEGER NOT NULL,                   -- 1, 2, 3 ... within the file
  size          INTEGER NOT NULL,                   -- raw bytes, the sum of its chunks
  mtime_ns      INTEGER NOT NULL,                   -- of the source when last read
  mode          INTEGER NOT NULL,                   -- of the source when last read
  started_at    TEXT NOT NULL,
  ended_at      TEXT,                               -- NULL while it is the current one
  ended_reason  TEXT,                               -- why the next one was begun
  UNIQUE (file_id, seq)
) STRICT;

-- The bytes of a generation: contiguous from 0, all full but the last, which is rewritten until it is full.
CREATE TABLE chunk (
  id             INTEGER PRIMARY KEY,
  generation_id  INTEGER NOT NULL REFERENCES generation (id),
  start          INTEGER NOT NULL,                  -- offset of its first raw byte
  length         INTEGER NOT NULL CHECK (length > 0),  -- raw bytes
  hash           BLOB NOT NULL,                     -- first 16 bytes of the SHA-256 of the raw bytes
  data           BLOB NOT NULL,                     -- one zstd frame that states its raw length
  UNIQUE (generation_id, start)
) STRICT;

-- The distinct contents of files that are kept whole.
CREATE TABLE content (
  id    INTEGER PRIMARY KEY,
  hash  BLOB NOT NULL UNIQUE,                       -- SHA-256 of the raw bytes
  size  INTEGER NOT NULL,                           -- raw bytes
  data  BLOB NOT NULL                               -- one zstd frame that states its raw length
) STRICT;

-- A content that a whole file was seen with.
CREATE TABLE snapshot (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,    -- grows with time, never used twice
  file_id     INTEGER NOT NULL REFERENCES file (id),
  content_id  INTEGER NOT NULL REFERENCES content (id),
  mtime_ns    INTEGER NOT NULL,                     -- of the source when last seen with this content
  mode        INTEGER NOT NULL,                     -- of the source when last seen with this content
  seen_at     TEXT NOT NULL                         -- when it was first seen with this content
) STRICT;
CREATE INDEX snapshot_by_file ON snapshot (file_id);

-- What the last sync saw and did not keep.
CREATE TABLE left_out (
  root_id  INTEGER NOT NULL REFERENCES root (id),
  path     ANY NOT NULL,                            -- TEXT or BLOB like file.path
  size     INTEGER NOT NULL,
  reason   TEXT NOT NULL,                           -- in words
  PRIMARY KEY (root_id, path)
) STRICT, WITHOUT ROWID;
"""

REMARKS = """\
-- What the user said about a session. A row is never deleted: what was taken back says when.
CREATE TABLE remark (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,    -- grows with time, never used twice
  session_id  TEXT NOT NULL,                        -- as the session's own lines or its file name it
  kind        TEXT NOT NULL CHECK (kind IN ('pin', 'tag', 'title', 'note')),  -- at most one title of a session is valid
  value       TEXT NOT NULL,                        -- as it was typed; of a pin: the uuid of a message, empty for the session
  set_at      TEXT NOT NULL,                        -- ISO 8601, UTC
  removed_at  TEXT                                  -- NULL while it is valid
) STRICT;
CREATE INDEX remark_by_session ON remark (session_id) WHERE removed_at IS NULL;
"""

LINEAGE = """\
-- Every committed write, as a hash chain: nothing before a noted hash can be changed or removed without breaking it.
CREATE TABLE revision (
  id    INTEGER PRIMARY KEY,                        -- store.revision after this write
  at    TEXT NOT NULL,                              -- ISO 8601, UTC
  hash  BLOB NOT NULL                               -- SHA-256 of the former hash, of `at` since layout 10, and of this write's entries
) STRICT;

-- What a write added: the content that a log, a snapshot, a remark, a receipt or a set of markers had after it.
CREATE TABLE entry (
  revision_id  INTEGER NOT NULL REFERENCES revision (id),  -- the write
  kind         TEXT NOT NULL,                       -- log, snapshot, remark, removed (a remark that was taken back), erased log, ..., log markers, snapshot markers, receipt
  ref          INTEGER NOT NULL,                    -- id of the generation, the snapshot, the remark or the erasure
  size         INTEGER NOT NULL,                    -- log: its raw bytes then; erased: how many bytes were erased
  hash         BLOB NOT NULL,                       -- first 16 bytes of the SHA-256 of its identity and content
  PRIMARY KEY (revision_id, kind, ref)
) STRICT, WITHOUT ROWID;

ALTER TABLE generation ADD COLUMN rolling BLOB NOT NULL DEFAULT x'';  -- rolling hash over its full chunks
ALTER TABLE chunk ADD COLUMN source INTEGER REFERENCES chunk (id);    -- the chunk that holds the same bytes; its own data is empty
CREATE INDEX chunk_by_hash ON chunk (hash) WHERE source IS NULL AND length = 262144;

ALTER TABLE file ADD COLUMN mark_ctime_ns INTEGER;  -- mark: status change time of the source then; 0: none
ALTER TABLE file ADD COLUMN mark_since_ns INTEGER;  -- mark: wall clock when the source was first seen with this status
ALTER TABLE store ADD COLUMN page_checksums INTEGER NOT NULL DEFAULT 0;  -- 1: every page was written with a checksum

-- Files that could not be read or kept; tried again when their status changes.
CREATE TABLE quarantine (
  root_id    INTEGER NOT NULL REFERENCES root (id),
  path       ANY NOT NULL,                          -- TEXT or BLOB like file.path
  reason     TEXT NOT NULL,                         -- in words
  since      TEXT NOT NULL,                         -- ISO 8601, UTC
  tried_ns   INTEGER NOT NULL,                      -- wall clock of the last try
  size       INTEGER NOT NULL,                      -- status of the file then
  mtime_ns   INTEGER NOT NULL,                      -- the same
  ctime_ns   INTEGER NOT NULL,                      -- the same
  PRIMARY KEY (root_id, path)
) STRICT, WITHOUT ROWID;
"""

WORKTREES = """\
-- Folders that were seen to be worktrees of a repository: git's files tell while they exist, and worktrees are deleted.
CREATE TABLE worktree (
  path        TEXT PRIMARY KEY,                     -- absolute, of the folder that has the `.git`
  repository  TEXT NOT NULL,                        -- absolute; the bare repository itself if it has no other folder; empty: a repository of its own, inside a worktree
  seen_at     TEXT NOT NULL                         -- ISO 8601, UTC
) STRICT, WITHOUT ROWID;
"""

MOVES = """\
-- Projects that the user said were moved: their sessions count for the new place.
CREATE TABLE move (
  path      TEXT PRIMARY KEY,                       -- where the folder was, absolute, maybe on another machine
  target    TEXT NOT NULL,                          -- where it is
  moved_at  TEXT NOT NULL                           -- ISO 8601, UTC; when the user said so
) STRICT, WITHOUT ROWID;
"""

PROOFS = """\
-- Contents that were read while their file was being written, until a comparison proves that it held all of it at one moment.
CREATE TABLE unproven (
  kind      TEXT NOT NULL CHECK (kind IN ('log', 'snapshot')),  -- what was read
  ref       INTEGER NOT NULL,                       -- id of the generation or the snapshot
  proven    INTEGER NOT NULL,                       -- log: bytes from the start that are proven
  target    INTEGER NOT NULL,                       -- log: its size when the comparison began that is under way; 0: none is
  compared  INTEGER NOT NULL,                       -- log: how far that comparison has come
  PRIMARY KEY (kind, ref)
) STRICT, WITHOUT ROWID;
"""

CLIENTS = """\
ALTER TABLE root ADD COLUMN client TEXT NOT NULL DEFAULT 'claude-code';  -- the client that writes its files
"""

ERASURE = """\
-- Random bytes in the hashes of a thing's entries. They are erased with it, so that no hash confirms a guess of what it was.
CREATE TABLE seed (
  kind  TEXT NOT NULL CHECK (kind IN ('log', 'snapshot', 'remark')),  -- whose it is
  ref   INTEGER NOT NULL,                           -- id of the generation, the snapshot or the remark
  seed  BLOB NOT NULL,                              -- 16 bytes
  PRIMARY KEY (kind, ref)
) STRICT, WITHOUT ROWID;

CREATE INDEX chunk_by_source ON chunk (source) WHERE source IS NOT NULL;
CREATE INDEX snapshot_by_content ON snapshot (content_id);

-- Stretches that were erased and hold a marker of the same length; the source may still have other bytes there.
CREATE TABLE blank (
  kind    TEXT NOT NULL CHECK (kind IN ('log', 'snapshot')),  -- what it is in
  ref     INTEGER NOT NULL,                         -- id of the generation or the snapshot
  start   INTEGER NOT NULL,                         -- offset of its first byte
  length  INTEGER NOT NULL,                         -- in bytes
  PRIMARY KEY (kind, ref, start)
) STRICT, WITHOUT ROWID;

-- What must not be kept again: only keyed hashes of names, and of content together with an id that nobody can guess.
CREATE TABLE tombstone (
  digest  BLOB PRIMARY KEY,                         -- of a session's client and id, of a file's root and path, or of what is left of a line
  kind    TEXT NOT NULL CHECK (kind IN ('session', 'file', 'line')),  -- what it is of
  at      TEXT NOT NULL                             -- ISO 8601, UTC
) STRICT, WITHOUT ROWID;

ALTER TABLE store ADD COLUMN tombstone_key BLOB;    -- random key of these hashes; NULL before the first one

-- Erasures: what was erased, in numbers, and when the last copy of it was.
CREATE TABLE erasure (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,   -- never used twice
  revision_id  INTEGER NOT NULL,                    -- the write that erased it from this database
  at           TEXT NOT NULL,                       -- ISO 8601, UTC
  receipt      TEXT NOT NULL,                       -- JSON: reason and counts; no names and no content
  finished_at  TEXT                                 -- NULL while copies elsewhere are left
) STRICT;

-- Copies outside of this database that an erasure has still to remove; a row goes with its copy.
CREATE TABLE erasure_step (
  erasure_id  INTEGER NOT NULL REFERENCES erasure (id),  -- the erasure it is part of
  kind        TEXT NOT NULL,                        -- what is to be done with the copy
  target      ANY NOT NULL,                         -- a path; TEXT or BLOB like root.path
  PRIMARY KEY (erasure_id, kind, target)
) STRICT, WITHOUT ROWID;

-- Files that the user removed from a client's folder because the record has all of their bytes.
CREATE TABLE freed (
  file_id  INTEGER PRIMARY KEY REFERENCES file (id),  -- the file
  at       TEXT NOT NULL                            -- ISO 8601, UTC
) STRICT;
"""

SECRETS = """\
-- The random key of the fingerprints of secrets: without it, no fingerprint confirms a guess.
CREATE TABLE secret_key (
  id   INTEGER PRIMARY KEY CHECK (id = 1),          -- there is exactly one row
  key  BLOB NOT NULL                                -- 32 bytes
) STRICT;
INSERT INTO secret_key VALUES (1, randomblob(32));  -- made with this table, never changed

-- What the user decided about a secret; the secret itself is not here. Without a row it is open.
CREATE TABLE secret_state (
  fingerprint  TEXT PRIMARY KEY,                    -- keyed hash of the secret, 32 hexadecimal digits
  state        TEXT NOT NULL CHECK (state IN ('rotated', 'false-alarm', 'accepted')),  -- the decision
  note         TEXT NOT NULL,                       -- why, as it was typed
  set_at       TEXT NOT NULL                        -- ISO 8601, UTC
) STRICT, WITHOUT ROWID;
"""

SCHEMA = f"{FIRST}\n{REMARKS}\n{LINEAGE}\n{WORKTREES}\n{MOVES}\n{PROOFS}\n{CLIENTS}\n{ERASURE}\n{SECRETS}"
"""The layout as it is, for people and documentation."""


class Migration(Struct, frozen=True):
    """One step of the layout, applied in one transaction; its version becomes the database's user_version."""

    version: int
    name: str
    sql: str


LINEAGE_VERSION = 3
"""The layout with which the chain of revisions begins."""
DATED_VERSION = 10
"""The layout whose chain covers the times of revisions, receipts and markers; its tables are those of the one before."""

MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "first layout", FIRST),
    Migration(2, "the user's remarks on sessions", REMARKS),
    Migration(LINEAGE_VERSION, "lineage, shared chunks, quarantine", LINEAGE),
    Migration(4, "worktrees and their repositories", WORKTREES),
    Migration(5, "moved projects", MOVES),
    Migration(6, "contents that are not proven yet", PROOFS),
    Migration(7, "the client of each root", CLIENTS),
    Migration(8, "erasures and freed files", ERASURE),
    Migration(9, "states of secrets", SECRETS),
    Migration(DATED_VERSION, "times, receipts and markers in the chain", ""),
)
"""Every step, oldest first: a new store takes them all, an older one those it lacks, after a backup."""
