"""`index.db`: a transcript's bytes become batches of rows, here or in a worker process, and are written as the record grows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from hansard.clients import client_of
from hansard.clients.protocol import SeenMessage, Taken
from hansard.clients.rows import Rows
from hansard.clients.state import State, dump, load
from hansard.index import schema
from hansard.index.links import forget_records, reorder_shared, touch_shared, touch_titled
from hansard.index.store import Disposable, Origin, internal_error, telling
from hansard.index.usage import UsageTable
from hansard.sources.roots import FileKind
from hansard.storage import OFFSET_BITS, OFFSET_MASK

_RESULTS = (
    "UPDATE tool_calls SET result_id = ?, result_ts = ?, is_error = ?, change = ?, added = ?, removed = ?,"
    " persisted = ?, path = ? WHERE id = ?"
)

RANGED = (
    "records",
    "blocks",
    "messages",
    "tool_calls",
    "prompts",
    "turn_durations",
    "compactions",
    "permissions",
    "summaries",
    "sidechains",
    "issues",
)


# Limits of lines and records, bytes and blocks in memory before rows are written. Bytes count because a
# prompt's row holds all of its text.
_FLUSH_LINES = 8000
_FLUSH_BYTES = 16 << 20
_FLUSH_BLOCKS = 50_000
_CHECKPOINT_BYTES = 32 << 20
_MAX_MESSAGES = 200_000  # of one transcript whose ids are in memory; no real one has that many


class Transcript(Struct, frozen=True):
    """A generation of the record, for the index."""

    id: int
    root: str
    client: str
    path: str
    kind: str
    generation: int
    state: str
    mtime: int | None
    session_id: str  # empty if the path does not contain it
    agent_id: str
    project_dir: str
    stem: str = ""  # the session's name if neither path nor lines contain it

    @property
    def sort_path(self) -> str:
        """The path that orders equally old lines."""
        return f"{self.path}\x00{self.root}"


class Indexed(NamedTuple):
    """How far a transcript is indexed, and the state of its source."""

    size: int
    indexed: int
    state: str
    mtime: int | None


class RowBatch(Struct, array_like=True):
    """Rows of some lines of a transcript, and the state after them."""

    rows: Rows
    state: State
    indexed: int  # where the lines end
    size: int  # where the bytes end: an unfinished line may follow
    cursor: bytes | None = None  # the state after the last whole line, where one may go on from here
    tail_state: bytes | None = None  # the state with an unfinished line that has rows of its own
    has_tail: bool = False


def read_row_batches(
    transcript: Transcript, pieces: Iterable[bytes], start: int, state: State, seen_message: SeenMessage
) -> Iterator[RowBatch]:
    """Fold the bytes of a transcript from `start` on; each batch must be written before the next is requested."""
    base = transcript.id << OFFSET_BITS
    client = client_of(transcript.client)
    lines = client.lines(pieces, start)
    fold = client.fold(
        base,
        transcript.kind,
        transcript.sort_path,
        transcript.session_id,
        transcript.agent_id,
        state,
        seen_message if start else lambda _key: None,
    )
    checkpoint = start
    flush = state.lines + state.records + _FLUSH_LINES
    flush_at = start + _FLUSH_BYTES
    last: bytes | None = None  # the last line, unless it was an intact record
    last_offset = 0
    for offset, line in lines:
        state.lines += 1
        if line == last and fold.issues.repeat_line(offset - last_offset, fold.rows.issues):
            more = lines.skip_equal(line)
            fold.issues.repeat_line(len(line) + 1, fold.rows.issues, more)
            state.lines += more
            last_offset = offset + more * (len(line) + 1)
        else:
            try:
                taken = fold.take(line, offset)
            except Exception as error:  # noqa: BLE001 - a failure affects only this line
                fold.feed(internal_error(error, line, offset))
                taken = Taken.ISSUES
            if taken is Taken.INTACT:
                last = None
                if state.issue_runs:
                    fold.issues.end_runs()
            else:
                fold.issues.end_line(fold.rows.issues, has_records=taken is Taken.RECORDS)
                last, last_offset = line or None, offset  # a line that is too long is an empty one
        if state.lines + state.records >= flush or lines.offset >= flush_at or len(fold.rows.blocks) >= _FLUSH_BLOCKS:
            flush = state.lines + state.records + _FLUSH_LINES
            flush_at = lines.offset + _FLUSH_BYTES
            batch = RowBatch(fold.rows, state, lines.offset, lines.offset)
            if lines.offset - checkpoint > _CHECKPOINT_BYTES:
                checkpoint = lines.offset
                batch.cursor = dump(state)
            fold.rows = Rows()
            yield batch
            del batch
            if len(fold.messages) > _MAX_MESSAGES:
                fold.messages.clear()
                fold.seen_message = seen_message
    cursor = dump(state)
    fold.issues.end_runs()  # the rows of an unfinished line are removed when the line goes on
    try:
        has_tail = fold.take_rest(lines.rest, lines.offset)
    except Exception as error:  # noqa: BLE001 - as above
        fold.feed(internal_error(error, lines.rest, lines.offset))
        has_tail = True
    state.lines += has_tail
    yield RowBatch(
        fold.rows,
        state,
        lines.offset,
        lines.end,
        cursor,
        tail_state=dump(state) if has_tail else None,
        has_tail=has_tail,
    )


class RowIndex(Disposable):
    """The writer of `index.db`."""

    def __init__(self, path: str, origin: Origin) -> None:
        super().__init__(path, schema.tables, schema.VERSION, origin)
        # Indexes cost most while a table grows from nothing, so a first sync makes them at its end.
        self.bulk = self.fresh
        if not self.bulk:
            with telling(path):
                missing = (
                    self.db.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (schema.LAST_INDEX,)).fetchone()
                    is None
                )
            if missing:
                with self.transaction():
                    self.db.execute(schema.INDEXES)
        self._usage = UsageTable(self.db)

    def indexed(self, transcripts: Collection[int] | None = None) -> dict[int, Indexed]:
        columns = "SELECT id, size, indexed, state, mtime FROM transcripts"
        rows: list[Any] = []
        if transcripts is None:
            rows += self.db.execute(columns)
        for id_ in transcripts or ():
            rows += self.db.execute(f"{columns} WHERE id = ?", (id_,))
        return {id_: Indexed(*facts) for id_, *facts in rows}

    def known(self, transcript: int) -> int:
        row = self.db.execute("SELECT indexed FROM transcripts WHERE id = ?", (transcript,)).fetchone()
        return row[0] if row else 0

    def feed(self, transcript: Transcript, pieces: Iterable[bytes]) -> int:
        """Index the bytes that follow what is indexed of a transcript; returns how many records that were."""
        if transcript.kind == "cast":
            return self._pass(transcript, pieces)
        row = self.db.execute(
            "SELECT indexed, tail, fold, session_id FROM transcripts WHERE id = ?", (transcript.id,)
        ).fetchone()
        indexed, tail, state, session_id = (row[0], row[1], load(row[2]), row[3]) if row else (0, 0, State(), None)
        if tail:
            self._forget_tail(transcript.id, indexed)
        before = state.records
        batches = read_row_batches(transcript, pieces, indexed, state, self._seen_message(transcript.id))
        return self.take(transcript, batches, session_id) - before

    def take(self, transcript: Transcript, batches: Iterable[RowBatch], session_id: str | None = None) -> int:
        """Write the rows of a transcript; returns how many records it has by then.

        `session_id` is the one that it belonged to, None where it is new.
        """
        records = 0
        for batch in batches:
            state = batch.state
            session_id = self._write(transcript, state, session_id, batch.rows)
            if batch.cursor is not None:
                self._save(transcript, batch, batch.cursor)
            records = state.records
            del batch  # its rows, before the next ones are made
        return records

    def _pass(self, transcript: Transcript, pieces: Iterable[bytes]) -> int:
        """Note a log without records, such as a recording of the terminal."""
        size = self.known(transcript.id) + sum(map(len, pieces))
        self._save(transcript, RowBatch(Rows(), State(), size, size), dump(State()))
        return 0

    def _seen_message(self, transcript: int) -> SeenMessage:
        base = transcript << OFFSET_BITS
        has_indexes = not self.bulk

        def seen(key: str) -> int | None:
            nonlocal has_indexes
            if not has_indexes:
                self.db.execute(schema.INDEXES)
                has_indexes = True
            row = self.db.execute(
                "SELECT min(id) FROM messages WHERE key = ? AND id BETWEEN ? AND ?", (key, base, base + OFFSET_MASK)
            ).fetchone()
            return row[0] if row else None

        return seen

    def _forget_tail(self, transcript: int, indexed: int) -> None:
        """Remove the rows of an unfinished last line; they are made again when it is read again."""
        base = transcript << OFFSET_BITS
        for table in RANGED:
            self.db.execute(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", (base + indexed, base + OFFSET_MASK))
        self.db.execute("DELETE FROM record_kinds WHERE transcript = ?", (transcript,))
        self.db.execute("DELETE FROM drift WHERE transcript = ?", (transcript,))
        forget_records(self.db, base + indexed, base + OFFSET_MASK)

    def _write(self, transcript: Transcript, state: State, former: str | None, rows: Rows) -> str:
        """Write rows; returns their session, which may differ from that of earlier rows."""
        session_id = _session(transcript, state)
        if former is not None and former != session_id:
            if former:
                self.touch(former)
            self._usage.move(transcript.id, former, session_id)
            touch_shared(self.db, transcript.id)
        if not transcript.session_id:
            for stated in rows.usage.values():
                stated.session_id = stated.session_id or session_id
        self._insert(rows)
        if rows.usage:
            self._usage.merge(rows.usage, state.copied)
        return session_id

    def _insert(self, rows: Rows) -> None:
        refs = [(ref.base >> OFFSET_BITS, ref.tool_use_id, ref.agent_id, ref.rank) for ref in rows.agent_refs]
        for sql, found in (
            ("INSERT INTO records VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows.records),
            ("INSERT INTO blocks VALUES (?,?,?,?,?,?)", rows.blocks),
            ("INSERT INTO messages VALUES (?,?,?,?)", rows.messages),
            ("INSERT INTO tool_calls VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", rows.calls.values()),
            (_RESULTS, rows.call_results),
            ("UPDATE blocks SET tool = ? WHERE id = ?", rows.result_tools),
            ("INSERT INTO prompts VALUES (?,?,?,?,?,?)", rows.prompts),
            ("INSERT OR REPLACE INTO turn_durations VALUES (?,?)", rows.turn_durations),
            ("INSERT OR REPLACE INTO compactions VALUES (?,?,?,?,?)", rows.compactions),
            ("INSERT OR REPLACE INTO permissions VALUES (?,?,?,?,?)", rows.permissions),
            ("INSERT OR REPLACE INTO summaries VALUES (?,?,?)", rows.summaries),
            ("INSERT OR REPLACE INTO sidechains VALUES (?,?,?,?,?)", rows.sidechains),
            ("INSERT OR REPLACE INTO issues VALUES (?,?,?,?,?)", rows.issues.values()),
            ("INSERT OR IGNORE INTO agent_refs VALUES (?,?,?,?)", refs),
        ):
            if found:
                self.db.executemany(sql, found)

    def _save(self, transcript: Transcript, batch: RowBatch, cursor: bytes) -> None:
        state = batch.state
        session_id = _session(transcript, state)
        former = self.db.execute("SELECT copied FROM transcripts WHERE id = ?", (transcript.id,)).fetchone()
        self.db.execute(
            "INSERT INTO transcripts VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,'',?,?,0,0,?,?,?,?,0,?,?)"
            " ON CONFLICT (id) DO UPDATE SET state = excluded.state, size = excluded.size,"
            " indexed = excluded.indexed, tail = excluded.tail, mtime = excluded.mtime, session_id = excluded.session_id,"
            " kind = excluded.kind, agent_id = excluded.agent_id,"
            " root_uuid = excluded.root_uuid, copied = excluded.copied, lines = excluded.lines, records = excluded.records,"
            " issues = excluded.issues, first_ts = excluded.first_ts, last_ts = excluded.last_ts,"
            " version = excluded.version, derived = min(derived, indexed), fold = excluded.fold, tail_fold = excluded.tail_fold",
            (
                transcript.id,
                transcript.root,
                transcript.client,
                transcript.path,
                FileKind.AGENT.value if state.agent_id else transcript.kind,
                transcript.generation,
                int(transcript.generation == 1),  # until the generations are compared
                transcript.state,
                batch.size,
                batch.indexed,
                int(batch.has_tail),
                transcript.mtime,
                session_id,
                transcript.agent_id or state.agent_id,
                transcript.project_dir,
                state.root_uuid,
                state.copied,
                state.lines,
                state.records,
                state.issues,
                state.first_ts,
                state.last_ts,
                state.version,
                cursor,
                batch.tail_state,
            ),
        )
        if state.copied != (former[0] if former else 0):
            self._usage.recopy(transcript.id, state.copied)
        if former is not None and former[0] != state.copied:
            reorder_shared(self.db, transcript.id)
        self._kinds(transcript.id, state)
        if session_id and transcript.kind != "history":
            self.touch(session_id)

    def _kinds(self, transcript: int, state: State) -> None:
        self.db.executemany(
            "INSERT OR REPLACE INTO record_kinds VALUES (?,?,?)",
            ((transcript, kind, n) for kind, n in state.kinds.items()),
        )
        if state.drift:
            self.db.executemany(
                "INSERT OR REPLACE INTO drift VALUES (?,?,?,?,?,?)",
                ((transcript, *key.split("\t", 2), count, first) for key, (count, first) in state.drift.items()),
            )

    def touch(self, session_id: str) -> None:
        """Mark a session's derived rows as stale."""
        self.db.execute("INSERT OR IGNORE INTO dirty VALUES (?)", (session_id,))

    def note(self, transcript: Transcript) -> None:
        """Update a transcript without new bytes: gone, live again, superseded, touched."""
        self.db.execute(
            "UPDATE transcripts SET state = ?, mtime = ? WHERE id = ?",
            (transcript.state, transcript.mtime, transcript.id),
        )
        self.db.execute(
            "INSERT OR IGNORE INTO dirty SELECT session_id FROM transcripts WHERE id = ? AND session_id <> ''",
            (transcript.id,),
        )
        # Its age decides between titles.
        touch_titled(self.db, transcript.id)

    def expect(self, transcripts: int, size: int) -> None:
        """Note the total that a first sync has to index, for queries before its end."""
        self.set_meta("transcripts_expected", transcripts)
        self.set_meta("bytes_expected", size)

    def sign(self, revision: tuple[int, bytes]) -> None:
        """Note the revision of the record that this was completely made from."""
        super().sign(revision)
        self.db.execute("DELETE FROM meta WHERE name IN ('transcripts_expected', 'bytes_expected')")

    def begin_bulk(self) -> None:
        with self.transaction():
            for (name,) in self.db.execute(schema.MADE_LATE).fetchall():
                self.db.execute(f"DROP INDEX {name}")
        self.bulk = True

    def finish_bulk(self) -> None:
        """Create the indexes that a first sync left out."""
        if self.bulk:
            with self.transaction():
                self.db.execute(schema.INDEXES)
            self.bulk = False


def _session(transcript: Transcript, state: State) -> str:
    """The session a transcript belongs to: the one its path names, else its lines, else its own name."""
    return transcript.session_id or state.session_id or transcript.stem
