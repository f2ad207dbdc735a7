"""`text.db`: the full text of every block, written behind the record at its own pace.

Rowids must come in ascending order: FTS5 writes a new segment whenever one steps back. So transcripts are taken by id.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from hansard.clients import client_of
from hansard.clients.texts import without_base64
from hansard.index import schema
from hansard.index.store import Disposable, Origin, internal_error, is_store_error, telling
from hansard.index.text_tags import kind_mark, marks
from hansard.index.tokens import searchable
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.clients.lines import Issue, Lines
    from hansard.clients.protocol import LateTool, TextFold
    from hansard.clients.texts import RecordTexts

_SAID = frozenset({"prompt", "reply", "command"})
_TABLES = {"title": "titles", "reminder": "reminders"}
_HASH_BYTES = {"titles": 1 << 20, "talk": 16 << 20, "work": 40 << 20, "reminders": 1 << 20}
_BULK = {"automerge": 0, "crisismerge": 64}  # settings of FTS5 for a backlog: no automatic merges
_USUAL = {"automerge": 4, "crisismerge": 4}  # few segments, also of small syncs
_MERGE_LEAVES = 64  # 4 KB each, that are merged at a time: as many pages as the file grows by, since former ones are free after that
_MERGES = 16  # in one transaction
_LIFTS = 4  # to level 9
_BATCH = 1 << 20  # bytes of text; FTS5 and Python take turns in the processor's caches that much less often
_PART = 1 << 20  # bytes of a large file
_INDEXED_LOGS = frozenset({"main", "agent", "log", "history"})


class TextIndex(Disposable):
    """The writer of `text.db`."""

    def __init__(self, path: str, origin: Origin) -> None:
        super().__init__(path, schema.text_tables, schema.VERSION, origin)
        self._batch: dict[str, list[tuple[int, bytes, str]]] = {table: [] for table in _HASH_BYTES}
        self._batch_size = 0

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction, with all that was put in it."""
        try:
            with super().transaction():
                yield
                self._write()
        except BaseException:
            self._drop()
            raise

    def _insert(self, table: str, row_id: int, text: str, mark: str) -> None:
        """Put a text into a table; it is written with others, at the latest when the transaction ends."""
        body = searchable(text)
        self._batch[table].append((row_id, body, mark))
        self._batch_size += len(body)
        if self._batch_size >= _BATCH:
            self._write()

    def _write(self) -> None:
        with telling(self.path):
            for table, rows in self._batch.items():
                if rows:
                    self.db.executemany(f"INSERT INTO {table} (rowid, body, mark) VALUES (?, ?, ?)", rows)
        self._drop()

    def _drop(self) -> None:
        for rows in self._batch.values():
            rows.clear()
        self._batch_size = 0

    def begin_bulk(self) -> None:
        """Collect more before writing a segment, and merge none: twice as fast for a backlog, and a smaller file."""
        for table, size in _HASH_BYTES.items():
            for name, value in {"hashsize": size, **_BULK}.items():
                self._set(table, name, value)

    def finish_bulk(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Merge what a backlog left, also after an interrupted sync; stops when it is no longer wanted.

        Each word of a query is looked up in every segment. Left alone, FTS5 merges them all at once when there are 16, in the middle
        of a sync of one line. Here it goes step by step, each a transaction: a crash leaves a merge that the next call goes on with.
        """
        with telling(self.path):
            tables = [
                table
                for table in _HASH_BYTES
                if self.db.execute(f"SELECT v FROM {table}_config WHERE k = 'automerge'").get == _BULK["automerge"]
            ]
            size = self.db.execute("SELECT coalesce(sum(size), 0) FROM cursors").get
            merged = self.meta("merged")
        if not tables:
            return
        # Beside much that was merged before, a little is merged alone.
        is_whole = size >= 2 * (merged if isinstance(merged, int) else 0)
        for table in tables:
            if is_whole:
                self._lift(table)
            while self._merge(table, -_MERGE_LEAVES if is_whole else _MERGE_LEAVES):
                if not is_wanted():
                    return
        with self.transaction():
            for table in tables:
                for name, value in _USUAL.items():
                    self._set(table, name, value)
            if is_whole:
                self.set_meta("merged", size)

    def _merge(self, table: str, leaves: int) -> bool:
        """A few steps; below 0 towards one segment of all there is, otherwise of those that are alike. False when all is done."""
        with self.transaction():
            for _ in range(_MERGES):
                before = self.db.total_changes()
                self._set(table, "merge", leaves)
                if self.db.total_changes() - before < 2:
                    return False
        return True

    def _lift(self, table: str) -> None:
        """Let the segment of a whole merge come to a high level, so that small syncs build many levels before it is merged again.

        FTS5 takes all segments of a level, and the next level gets what comes of it. A merge of all there is begins above the highest
        level, and anew when there is one segment more: here one of a row that is gone again.
        """
        with self.transaction():
            for _ in range(_LIFTS):
                self._set(table, "merge", -1)
                with self.db:  # FTS5 writes a segment at every savepoint
                    self.db.execute(f"INSERT INTO {table} (rowid, body, mark) VALUES (0, 'x', '')")
                with self.db:
                    self.db.execute(f"DELETE FROM {table} WHERE rowid = 0")

    def sign(self, revision: tuple[int, bytes]) -> None:
        """Note that all of a revision's text is here."""
        self._write()
        super().sign(revision)

    def _set(self, table: str, name: str, value: int) -> None:
        with telling(self.path):
            self.db.execute(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", (name, value))

    def backlog(self, sizes: Iterable[tuple[int, str, str, int]]) -> list[tuple[int, str, str, int]]:
        """Of (transcript, kind, client, size in the record) those with bytes not yet read, and how many, in the order to take them."""
        known: dict[int, int] = {}
        known.update(self.db.execute("SELECT transcript, size FROM cursors"))
        return sorted(
            (id_, kind, client, size - known.get(id_, 0))
            for id_, kind, client, size in sizes
            if kind in _INDEXED_LOGS and known.get(id_, 0) < size and not self.is_quarantined("text", str(id_), size)
        )

    def feed_isolated(
        self, transcript: int, kind: str, client: str, size: int, read: Callable[[int, int], Iterable[bytes]]
    ) -> int:
        """`feed`, but a transcript that raises is quarantined; `size` is how much of it the record has.

        FTS5 writes a segment at every savepoint, so what the transcript left behind is deleted instead.
        """
        try:
            fed = self.feed(transcript, kind, client, read)
        except Exception as error:
            if is_store_error(error):
                raise
            row = self.db.execute("SELECT indexed FROM cursors WHERE transcript = ?", (transcript,)).fetchone()
            self._delete_after(transcript, row[0] if row else 0)
            self.quarantine("text", str(transcript), size, error)
            return 0
        self.release("text", str(transcript))
        return fed

    def _delete_after(self, transcript: int, offset: int) -> None:
        self._write()
        base = transcript << OFFSET_BITS
        for table in (*_HASH_BYTES, "issues"):
            self.db.execute(f"DELETE FROM {table} WHERE rowid BETWEEN ? AND ?", (base + offset, base + OFFSET_MASK))

    def feed(self, transcript: int, kind: str, client_name: str, read: Callable[[int, int], Iterable[bytes]]) -> int:
        """Index what follows the cursor of a transcript; `read(transcript, start)` gives the record's bytes."""
        client = client_of(client_name)
        base = transcript << OFFSET_BITS
        row = self.db.execute("SELECT indexed, tail, kept FROM cursors WHERE transcript = ?", (transcript,)).fetchone()
        indexed, tail, kept = row or (0, 0, b"")
        if tail:
            self._delete_after(transcript, indexed)
        lines = client.lines(read(transcript, indexed), indexed)
        fold = client.text_fold(kind, kept)
        self._feed_lines(base, lines, fold)
        kept = fold.kept()
        try:
            for found in fold.take_rest(lines.rest, lines.offset):
                self._put(base, found)
        except Exception as error:  # noqa: BLE001 - any failure costs this line alone
            self._note(base, internal_error(error, lines.rest, lines.offset))
        for late in fold.late_tools:
            line = b"".join(_first(read(transcript, late.offset), late.length))
            for found in client.texts(line, late.offset, is_aside=kind == "agent"):
                self._name_tool(base, found, late)
        self.db.execute(
            "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?, ?)",
            (transcript, lines.offset, lines.end, 1 if lines.rest.strip() else 0, kept),
        )
        return lines.end - indexed

    def _feed_lines(self, base: int, lines: Lines, fold: TextFold) -> None:
        put, take = self._put, fold.take
        empty: bytes | None = None  # the last line, if it has no records
        for offset, line in lines:
            if line == empty:
                lines.skip_equal(line)
                continue
            empty = None
            try:
                found = take(line, offset)
                if found is None:
                    empty = line or None
                    continue
                for texts in found:
                    put(base, texts)
            except Exception as error:  # noqa: BLE001 - any failure costs this line alone
                self._note(base, internal_error(error, line, offset))

    def _name_tool(self, base: int, found: RecordTexts, late: LateTool) -> None:
        """Mark a result with its tool, once the call that comes after it in the file has been read."""
        for text in found.texts:
            if (text.number, text.kind) == (late.number, "result"):
                row_id = base + late.offset + late.number
                self._write()
                self.db.execute("DELETE FROM work WHERE rowid = ?", (row_id,))
                self._insert("work", row_id, text.text, marks(text._replace(tool=late.tool), is_aside=found.is_aside))

    def _note(self, base: int, issue: Issue) -> None:
        self.db.execute(
            "INSERT OR REPLACE INTO issues VALUES (?, ?, ?, ?)",
            (base + issue.offset, issue.length, issue.reason, issue.detail),
        )

    def _put(self, base: int, found: RecordTexts) -> None:
        row_id, is_aside = base + found.offset, found.is_aside
        for text in found.texts:
            table = "talk" if text.kind in _SAID and not is_aside else _TABLES.get(text.kind, "work")
            self._insert(table, row_id + text.number, text.text, marks(text, is_aside=is_aside))

    def feed_snapshot(self, snapshot: int, data: bytes) -> None:
        """Index the text of an overflowed tool result; binary ones have none."""
        row_id = schema.SNAPSHOT_TEXT + snapshot
        if b"\x00" not in data[:4096]:
            try:
                text = b"".join(searchable(without_base64(str(part, "utf-8"))) for part in _parts(data))
            except UnicodeDecodeError:
                return
            self._write()
            self.db.execute("DELETE FROM work WHERE rowid = ?", (row_id,))
            self.db.execute(
                "INSERT INTO work (rowid, body, mark) VALUES (?, ?, ?)", (row_id, text, kind_mark("result"))
            )

    def feed_snapshot_isolated(self, snapshot: int, data: bytes) -> None:
        """`feed_snapshot`, but one that raises is quarantined."""
        try:
            self.feed_snapshot(snapshot, data)
        except Exception as error:
            if is_store_error(error):
                raise
            self.quarantine("snapshot", str(snapshot), len(data), error)

    def snapshots_indexed(self) -> int:
        """The last snapshot whose text is indexed."""
        known: Any = self.meta("snapshot")
        return int(known or 0)


def _first(pieces: Iterable[bytes], length: int) -> Iterator[bytes]:
    """The first bytes of what comes in pieces."""
    for piece in pieces:
        yield piece[:length]
        length -= len(piece)
        if length <= 0:
            return


def _parts(data: bytes) -> Iterator[bytes]:
    """A large file in parts that end with a line, or else with a character: as text all of it would take four times its size."""
    start = 0
    while len(data) - start > _PART:
        end = data.rfind(b"\n", start, start + _PART) + 1 or start + _PART
        while end < len(data) and data[end] & 0xC0 == 0x80 and end > start + 1:
            end -= 1
        yield data[start:end]
        start = end
    yield data[start:]
