"""`index.db`: the rows of every transcript, written as the record grows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from hansard.index import schema
from hansard.index.history import fold_history
from hansard.index.lines import Lines, items, unfinished
from hansard.index.store import Disposable
from hansard.index.usage import UsageTable
from hansard.parse.fold import Fold
from hansard.parse.rows import Rows
from hansard.parse.state import State, dump, load

_FLUSH_RECORDS = 4000
_CHECKPOINT_BYTES = 32 << 20

_RANGED = (
    "records",
    "blocks",
    "messages",
    "tool_calls",
    "prompts",
    "compactions",
    "summaries",
    "sidechains",
    "issues",
)


@dataclass(frozen=True, slots=True)
class Transcript:
    """What the index must know of a generation in the record."""

    id: int
    root: str
    path: str
    kind: str
    generation: int
    current: bool
    state: str
    size: int
    mtime: int | None
    session_id: str
    agent_id: str
    project_dir: str

    @property
    def sort_path(self) -> str:
        """The path by which equally old lines are ordered."""
        return f"{self.path}\x00{self.root}"


class Indexed(NamedTuple):
    """How far a transcript is indexed."""

    size: int
    indexed: int
    state: str
    current: bool


class RowIndex(Disposable):
    """The writer of `index.db`."""

    def __init__(self, path: str, store_id: str, revision: int) -> None:
        super().__init__(path, schema.TABLES, schema.VERSION, store_id, revision)
        # Indexes cost most while a table grows from nothing, so a first sync makes them at its end.
        self.bulk = self.fresh
        if not self.bulk:
            self.db.execute(schema.INDEXES)
        self._usage = UsageTable(self.db)

    def indexed(self) -> dict[int, Indexed]:
        """What is known of each transcript."""
        rows = self.db.execute("SELECT id, size, indexed, state, current FROM transcripts")
        return {row[0]: Indexed(row[1], row[2], row[3], bool(row[4])) for row in rows}

    def known(self, transcript: int) -> int:
        """How many bytes of a transcript are indexed."""
        row = self.db.execute("SELECT indexed FROM transcripts WHERE id = ?", (transcript,)).fetchone()
        return row[0] if row else 0

    def forget(self, transcript: int) -> None:
        """Drop a transcript's rows, to index it from its first byte."""
        base = transcript << schema.OFFSET_BITS
        self._forget(base, base + schema.OFFSET_MASK)
        self.db.execute("DELETE FROM transcripts WHERE id = ?", (transcript,))

    def feed(self, transcript: Transcript, pieces: Iterable[bytes]) -> int:
        """Index the bytes that follow what is indexed of a transcript; returns how many records that were."""
        base = transcript.id << schema.OFFSET_BITS
        row = self.db.execute("SELECT indexed, tail, fold FROM transcripts WHERE id = ?", (transcript.id,)).fetchone()
        indexed, tail, state = (row[0], row[1], load(row[2])) if row else (0, 0, State())
        if tail:
            self._forget(base + indexed, base + schema.OFFSET_MASK)
        before = state.records
        lines = Lines(pieces, indexed)
        if transcript.kind == "history":
            rows = Rows()
            fold_history(lines, base, state, rows)
            self._write(rows)
            self._save(transcript, state, dump(state), lines.offset, tail=0)
            return state.records - before
        fold = Fold(
            base,
            path=transcript.sort_path,
            session_id=transcript.session_id,
            agent_id=transcript.agent_id,
            is_agent=transcript.kind in ("agent", "journal"),
            state=state,
            seen_message=self._seen_message(base) if indexed else lambda _key: None,
        )
        checkpoint = indexed
        for offset, line in lines:
            state.lines += 1
            for item in items(line, offset):
                fold.feed(item)
            if len(fold.rows.records) >= _FLUSH_RECORDS:
                self._write(fold.rows)
                fold.rows = Rows()
                if lines.offset - checkpoint > _CHECKPOINT_BYTES:
                    checkpoint = lines.offset
                    self._save(transcript, state, dump(state), checkpoint, tail=0)
        cursor_state = dump(state)
        rest = unfinished(lines.rest, lines.offset)
        if rest:
            state.lines += 1
            for item in rest:
                fold.feed(item)
        self._write(fold.rows)
        self._save(transcript, state, cursor_state, lines.offset, tail=1 if rest else 0)
        return state.records - before

    def _seen_message(self, base: int) -> Any:
        def seen(key: str) -> int | None:
            row = self.db.execute(
                "SELECT min(id) FROM messages WHERE key = ? AND id BETWEEN ? AND ?",
                (key, base, base + schema.OFFSET_MASK),
            ).fetchone()
            return row[0] if row else None

        return seen

    def _forget(self, low: int, high: int) -> None:
        """Take back the rows of an unfinished last line; they come again when it is read again."""
        for table in _RANGED:
            self.db.execute(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", (low, high))

    def _write(self, rows: Rows) -> None:
        many = self.db.executemany
        if rows.records:
            many("INSERT OR REPLACE INTO records VALUES (?,?,?,?,?,?,?,?,?,?)", rows.records)
        if rows.blocks:
            many("INSERT OR REPLACE INTO blocks VALUES (?,?,?,?,?,?)", rows.blocks)
        if rows.messages:
            many("INSERT OR REPLACE INTO messages VALUES (?,?,?,?)", rows.messages)
        if rows.calls:
            many("INSERT OR REPLACE INTO tool_calls VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", rows.calls.values())
        if rows.call_results:
            many(
                "UPDATE tool_calls SET result_id = ?, result_ts = ?, is_error = ?, change = ?, added = ?, removed = ?,"
                " persisted = ?, path = ? WHERE id = ?",
                rows.call_results,
            )
        if rows.prompts:
            many("INSERT OR REPLACE INTO prompts VALUES (?,?,?,?,?,?)", rows.prompts)
        if rows.compactions:
            many("INSERT OR REPLACE INTO compactions VALUES (?,?,?,?,?)", rows.compactions)
        if rows.summaries:
            many("INSERT OR REPLACE INTO summaries VALUES (?,?,?)", rows.summaries)
        if rows.sidechains:
            many("INSERT OR REPLACE INTO sidechains VALUES (?,?,?,?)", rows.sidechains)
        if rows.issues:
            many("INSERT OR REPLACE INTO issues VALUES (?,?,?,?)", rows.issues)
        if rows.agent_refs:
            many(
                "INSERT OR IGNORE INTO agent_refs VALUES (?,?,?,?)",
                ((ref.base >> schema.OFFSET_BITS, ref.tool_use_id, ref.agent_id, ref.rank) for ref in rows.agent_refs),
            )
        if rows.usage:
            self._usage.merge(rows.usage)

    def _save(self, transcript: Transcript, state: State, fold: bytes, indexed: int, *, tail: int) -> None:
        session_id = transcript.session_id or state.session_id
        self.db.execute(
            "INSERT INTO transcripts VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,0,?)"
            " ON CONFLICT (id) DO UPDATE SET current = excluded.current, state = excluded.state, size = excluded.size,"
            " indexed = excluded.indexed, tail = excluded.tail, mtime = excluded.mtime, session_id = excluded.session_id,"
            " root_uuid = excluded.root_uuid, lines = excluded.lines, records = excluded.records,"
            " issues = excluded.issues, first_ts = excluded.first_ts, last_ts = excluded.last_ts,"
            " version = excluded.version, fold = excluded.fold",
            (
                transcript.id,
                transcript.root,
                transcript.path,
                transcript.kind,
                transcript.generation,
                int(transcript.current),
                transcript.state,
                transcript.size,
                indexed,
                tail,
                transcript.mtime,
                session_id,
                transcript.agent_id,
                transcript.project_dir,
                state.root_uuid,
                state.lines,
                state.records,
                state.issues,
                state.first_ts,
                state.last_ts,
                state.version,
                fold,
            ),
        )
        self._kinds(transcript.id, state)
        if session_id and transcript.kind != "history":
            self.touch(session_id)

    def _kinds(self, transcript: int, state: State) -> None:
        self.db.executemany(
            "INSERT OR REPLACE INTO record_kinds VALUES (?,?,?)", ((transcript, kind, n) for kind, n in state.kinds.items())
        )
        if state.drift:
            self.db.executemany(
                "INSERT OR REPLACE INTO drift VALUES (?,?,?,?,?,?)",
                ((transcript, *key.split("\t", 2), count, first) for key, (count, first) in state.drift.items()),
            )

    def touch(self, session_id: str) -> None:
        """Note that a session's derived rows are behind."""
        self.db.execute("INSERT OR IGNORE INTO dirty VALUES (?)", (session_id,))

    def note(self, transcript: Transcript) -> None:
        """Take over what changed about a transcript that has no new bytes: gone, live again, superseded."""
        self.db.execute(
            "UPDATE transcripts SET current = ?, state = ?, mtime = ?, size = ? WHERE id = ?",
            (int(transcript.current), transcript.state, transcript.mtime, transcript.size, transcript.id),
        )
        self.db.execute(
            "INSERT OR IGNORE INTO dirty SELECT session_id FROM transcripts WHERE id = ? AND session_id <> ''", (transcript.id,)
        )

    def finish_bulk(self) -> None:
        """Make the indexes that a first sync left out."""
        if self.bulk:
            self.db.execute(schema.INDEXES)
            self.bulk = False
