"""`edits.db`: what recorded calls wrote, read once from the record. Disposable and optional: without it answers take longer."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import apsw
import msgspec
import zstandard

from hansard.storage.sqlite import connect, create

if TYPE_CHECKING:
    from hansard.git.commits import CommitWork
    from hansard.git.edits import CallEffects

_VERSION = 5
_BLAMES = 500  # cached files
_TABLES = """
CREATE TABLE calls (
    id          INTEGER PRIMARY KEY,  -- tool_calls.id
    tool_use_id TEXT NOT NULL,        -- another one: the row is of another record
    effects        BLOB                  -- CallEffects, packed; null: nothing
);
CREATE TABLE commits (
    name  TEXT PRIMARY KEY,           -- the hash
    state INTEGER NOT NULL,           -- of the edits from before it; another one: to be worked out again
    work  BLOB NOT NULL               -- CommitWork
) WITHOUT ROWID;
CREATE TABLE blames (
    id       INTEGER PRIMARY KEY,     -- the smallest are removed first
    name     TEXT NOT NULL UNIQUE,    -- commit and path: what git says of them never changes
    answer   BLOB NOT NULL            -- of `git blame --porcelain`, packed
);
CREATE TABLE lines (
    hash INTEGER NOT NULL,            -- of an added line
    id   INTEGER NOT NULL,
    PRIMARY KEY (hash, id)
) WITHOUT ROWID;
"""


class EditCache:
    """The cache of one store; in memory if it cannot be written."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(home, "edits.db")
        self._db: apsw.Connection | None = None
        self._pack = zstandard.ZstdCompressor(level=1)
        self._unpack = zstandard.ZstdDecompressor()
        from hansard.git.edits import CallEffects

        self._decoder = msgspec.msgpack.Decoder(CallEffects)

    def get(self, wanted: Mapping[int, str]) -> dict[int, CallEffects]:
        """Cached results for these calls, by id; calls that wrote nothing are included as empty ones."""
        from hansard.git.edits import CallEffects

        found: dict[int, CallEffects] = {}
        nothing = CallEffects()
        with contextlib.suppress(apsw.Error):
            rows = self.db.execute(
                "SELECT c.id, c.tool_use_id, c.effects FROM json_each(?) w CROSS JOIN calls c ON c.id = w.value",
                (json.dumps(list(wanted)),),
            )
            for id_, tool_use_id, effects in rows:
                if wanted[id_] == tool_use_id:
                    found[id_] = nothing if effects is None else self._decoder.decode(self._unpack.decompress(effects))
        return found

    def known(self, wanted: Mapping[int, str]) -> set[int]:
        found: set[int] = set()
        with contextlib.suppress(apsw.Error):
            rows = self.db.execute(
                "SELECT c.id, c.tool_use_id FROM json_each(?) w CROSS JOIN calls c ON c.id = w.value",
                (json.dumps(list(wanted)),),
            )
            found.update(id_ for id_, tool_use_id in rows if wanted[id_] == tool_use_id)
        return found

    def put(self, known: Mapping[int, tuple[str, CallEffects]], hashes: Callable[[CallEffects], Iterable[int]]) -> None:
        with contextlib.suppress(apsw.Error), self.db:
            for id_, (tool_use_id, effects) in known.items():
                blob = None if effects.is_empty else self._pack.compress(msgspec.msgpack.encode(effects))
                self.db.execute("INSERT OR REPLACE INTO calls VALUES (?, ?, ?)", (id_, tool_use_id, blob))
                self.db.executemany(
                    "INSERT OR IGNORE INTO lines VALUES (?, ?)", [(number, id_) for number in hashes(effects)]
                )

    def find(self, hashes: Iterable[int], limit: int = 20) -> dict[int, list[int]]:
        """Calls that added lines with these hashes; lines that many calls added prove nothing and are omitted."""
        found: dict[int, list[int]] = {}
        with contextlib.suppress(apsw.Error):
            for number, id_ in self.db.execute(
                "SELECT l.hash, l.id FROM json_each(?) w CROSS JOIN lines l ON l.hash = w.value",
                (json.dumps(list(hashes)),),
            ):
                found.setdefault(number, []).append(id_)
        return {number: ids for number, ids in found.items() if len(ids) <= limit}

    def commits(self, wanted: Mapping[str, int]) -> dict[str, CommitWork]:
        from hansard.git.commits import CommitWork

        found: dict[str, CommitWork] = {}
        with contextlib.suppress(apsw.Error):
            rows = self.db.execute(
                "SELECT c.name, c.state, c.work FROM json_each(?) w CROSS JOIN commits c ON c.name = w.value",
                (json.dumps(list(wanted)),),
            )
            decode = msgspec.msgpack.Decoder(CommitWork).decode
            found = {name: decode(work) for name, state, work in rows if wanted[name] == state}
        return found

    def put_commits(self, known: Mapping[str, tuple[int, CommitWork]]) -> None:
        with contextlib.suppress(apsw.Error), self.db:
            self.db.executemany(
                "INSERT OR REPLACE INTO commits VALUES (?, ?, ?)",
                [(name, state, msgspec.msgpack.encode(work)) for name, (state, work) in known.items()],
            )

    def blame(self, commit: str, path: str, ask: Callable[[], bytes]) -> bytes:
        """The output of git blame for a file in a commit, computed once."""
        name = f"{commit}:{path}"
        with contextlib.suppress(apsw.Error, zstandard.ZstdError):
            for (answer,) in self.db.execute("SELECT answer FROM blames WHERE name = ?", (name,)):
                return self._unpack.decompress(answer)
        answer = ask()
        with contextlib.suppress(apsw.Error), self.db:
            self.db.execute(
                "INSERT OR REPLACE INTO blames (name, answer) VALUES (?, ?)", (name, self._pack.compress(answer))
            )
            self.db.execute("DELETE FROM blames WHERE id <= (SELECT max(id) FROM blames) - ?", (_BLAMES,))
        return answer

    def has_blame(self, commit: str, path: str) -> bool:
        with contextlib.suppress(apsw.Error):
            return bool(list(self.db.execute("SELECT 1 FROM blames WHERE name = ?", (f"{commit}:{path}",))))
        return False

    @property
    def db(self) -> apsw.Connection:
        """The database, created on first use."""
        if self._db is None:
            try:
                self._db = self._open()
            except (apsw.Error, OSError):
                self._db = apsw.Connection(":memory:")
                self._db.execute(_TABLES)
        return self._db

    def _open(self) -> apsw.Connection:
        for _ in range(2):
            if not os.path.exists(self._path):
                create(self._path, _prepare)
            db = connect(self._path)
            db.set_busy_timeout(2000)
            if db.pragma("user_version") == _VERSION:
                db.pragma("synchronous", "off")
                return db
            db.close()
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path + suffix)
        raise OSError(self._path)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _prepare(db: apsw.Connection) -> None:
    db.execute(_TABLES)
    db.pragma("user_version", _VERSION)
