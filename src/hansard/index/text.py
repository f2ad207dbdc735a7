"""`text.db`: the full text of every block; it trails the record at its own pace.

Rowids must ascend: FTS5 writes a new segment whenever one is lower. So transcripts are indexed by id.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from hansard.clients import client_of
from hansard.clients.texts import without_base64
from hansard.index import schema
from hansard.index.places import first_doc
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
_USUAL = {"automerge": 4, "crisismerge": 4}  # few segments, also after small syncs
_MERGE_LEAVES = 64  # 4 KB each, that are merged at a time: as many pages as the file grows by, since former ones are free after that
_MERGES = 16  # in one transaction
_LIFTS = 4  # to level 9
_BATCH = 1 << 20  # bytes of text; FTS5 and Python take turns in the processor's caches that much less often
_PART = 1 << 20  # bytes of a large file
_INDEXED_LOGS = frozenset({"main", "agent", "log", "history"})


class TextIndex(Disposable):
    """The writer of `text.db`."""

    can_shrink = True  # merging leaves pages unused

    def __init__(self, path: str, origin: Origin) -> None:
        super().__init__(path, schema.text_tables, schema.VERSION, origin)
        self._batch: dict[str, list[tuple[int, bytes, str]]] = {table: [] for table in _HASH_BYTES}
        self._batch_size = 0
        self._places: list[tuple[int, int]] = []
        self._last: tuple[int, int] = (0, 0)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction, including buffered texts."""
        try:
            with super().transaction():
                yield
                self._write()
        except BaseException:
            self._drop()
            raise

    def _insert(self, table: str, doc: int, text: str, mark: str) -> None:
        """Add a text to a table; it is written with others, at the latest at the end of the transaction."""
        body = searchable(text)
        self._batch[table].append((doc, body, mark))
        self._batch_size += len(body)
        if self._batch_size >= _BATCH:
            self._write()

    def _write(self) -> None:
        with telling(self.path):
            self.db.executemany("INSERT INTO places VALUES (?, ?)", self._places)
            for table, rows in self._batch.items():
                if rows:
                    self.db.executemany(f"INSERT INTO {table} (rowid, body, mark) VALUES (?, ?, ?)", rows)
        self._drop()

    def _drop(self) -> None:
        for rows in self._batch.values():
            rows.clear()
        self._places.clear()
        self._batch_size = 0

    def begin_bulk(self) -> None:
        """Write larger segments and merge none: twice as fast for a backlog, and a smaller file."""
        for table, size in _HASH_BYTES.items():
            for name, value in {"hashsize": size, **_BULK}.items():
                self._set(table, name, value)

    def finish_bulk(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Merge the segments of a backlog, also after an interrupted sync; stops when it is no longer wanted.

        Each word of a query is looked up in every segment. By itself, FTS5 merges them all at once when there are 16, in the middle
        of a sync of one line. Here merging goes in steps, each a transaction; after a crash the next call goes on.
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
        # A little is merged separately from much that was merged before.
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
        with telling(self.path):
            self.db.execute("PRAGMA incremental_vacuum").fetchall()  # each row frees a page

    def merge_whole(self) -> None:
        """Merge everything: only this removes the words of deleted rows from the segments."""
        with telling(self.path):
            for table in _HASH_BYTES:
                self._lift(table)
                while self._merge(table, -_MERGE_LEAVES):
                    pass

    def _merge(self, table: str, leaves: int) -> bool:
        """A few steps of a merge; `leaves` below 0 merges everything into one segment. False if there is nothing to do."""
        with self.transaction():
            for _ in range(_MERGES):
                before = self.db.total_changes()
                self._set(table, "merge", leaves)
                if self.db.total_changes() - before < 2:
                    return False
        return True

    def _lift(self, table: str) -> None:
        """Lift the segment of a whole merge to a high level, so that small syncs build many levels before it is merged again.

        FTS5 merges all segments of a level into the next one. A merge of everything begins above the highest
        level, and again if there is another segment: here one of a row that is deleted again.
        """
        with self.transaction():
            for _ in range(_LIFTS):
                self._set(table, "merge", -1)
                with self.db:  # FTS5 writes a segment at every savepoint
                    self.db.execute(f"INSERT INTO {table} (rowid, body, mark) VALUES (0, 'x', '')")
                with self.db:
                    self.db.execute(f"DELETE FROM {table} WHERE rowid = 0")

    def sign(self, revision: tuple[int, bytes]) -> None:
        """Note that all text of a revision is indexed."""
        self._write()
        super().sign(revision)

    def _set(self, table: str, name: str, value: int) -> None:
        with telling(self.path):
            self.db.execute(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", (name, value))

    def backlog(self, sizes: Iterable[tuple[int, str, str, int]]) -> list[tuple[int, str, str, int]]:
        """Of (transcript, kind, client, size in the record) those with unread bytes, and how many, in the order to index them."""
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
        """`feed`, but a transcript that raises is quarantined; `size` is its size in the record.

        FTS5 writes a segment at every savepoint, so the rows of a failed transcript are deleted instead.
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
        self.db.execute("DELETE FROM issues WHERE id BETWEEN ? AND ?", (base + offset, base + OFFSET_MASK))
        docs = first_doc(self.db.execute, base + offset), transcript << schema.TEXT_BITS | schema.TEXT_MASK
        for table in (*_HASH_BYTES, "places"):
            self.db.execute(f"DELETE FROM {table} WHERE rowid BETWEEN ? AND ?", docs)

    def feed(self, transcript: int, kind: str, client_name: str, read: Callable[[int, int], Iterable[bytes]]) -> int:
        """Index a transcript from its cursor on; `read(transcript, start)` reads the record."""
        client = client_of(client_name)
        base = transcript << OFFSET_BITS
        row = self.db.execute("SELECT indexed, tail, kept FROM cursors WHERE transcript = ?", (transcript,)).fetchone()
        indexed, tail, kept = row or (0, 0, b"")
        if tail:
            self._delete_after(transcript, indexed)
        docs = transcript << schema.TEXT_BITS, transcript << schema.TEXT_BITS | schema.TEXT_MASK
        newest = "SELECT doc, id FROM places WHERE doc BETWEEN ? AND ? ORDER BY doc DESC LIMIT 1"
        self._last = self.db.execute(newest, docs).fetchone() or (docs[0] - 1, base - 1)
        lines = client.lines(read(transcript, indexed), indexed)
        fold = client.text_fold(kind, kept)
        self._feed_lines(base, lines, fold)
        kept = fold.kept()
        try:
            for found in fold.take_rest(lines.rest, lines.offset):
                self._put(base, found)
        except Exception as error:  # noqa: BLE001 - a failure affects only this line
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
            except Exception as error:  # noqa: BLE001 - a failure affects only this line
                self._note(base, internal_error(error, line, offset))

    def _name_tool(self, base: int, found: RecordTexts, late: LateTool) -> None:
        """Mark a result with its tool, once its call, which comes later in the file, has been read."""
        for text in found.texts:
            if (text.number, text.kind) == (late.number, "result"):
                self._write()
                doc = first_doc(self.db.execute, base + late.offset + late.number)
                self.db.execute("DELETE FROM work WHERE rowid = ?", (doc,))
                self._insert("work", doc, text.text, marks(text._replace(tool=late.tool), is_aside=found.is_aside))

    def _note(self, base: int, issue: Issue) -> None:
        self.db.execute(
            "INSERT OR REPLACE INTO issues VALUES (?, ?, ?, ?)",
            (base + issue.offset, issue.length, issue.reason, issue.detail),
        )

    def _put(self, base: int, found: RecordTexts) -> None:
        row_id, is_aside = base + found.offset, found.is_aside
        for text in found.texts:
            table = "talk" if text.kind in _SAID and not is_aside else _TABLES.get(text.kind, "work")
            self._insert(table, self._place(row_id + text.number), text.text, marks(text, is_aside=is_aside))

    def _place(self, id_: int) -> int:
        """The rowid for a text of a block: the next one of its transcript."""
        doc, last = self._last
        if id_ == last:
            return doc
        if id_ < last or doc + 1 >> schema.TEXT_BITS != id_ >> OFFSET_BITS:
            raise ValueError("texts are not in order" if id_ < last else "too many texts")
        self._last = doc + 1, id_
        self._places.append(self._last)
        return doc + 1

    def feed_snapshot(self, snapshot: int, data: bytes) -> None:
        """Index the text of a large tool result that has its own file; binary ones have none."""
        row_id = schema.SNAPSHOT_TEXT + snapshot
        if b"\x00" not in data[:4096]:
            try:
                text = b"".join(searchable(without_base64(str(part, "utf-8"))) for part in _parts(data))
            except UnicodeDecodeError:
                return
            self._write()
            self.db.execute("DELETE FROM work WHERE rowid = ?", (row_id,))
            self.db.execute("INSERT OR IGNORE INTO places VALUES (?1, ?1)", (row_id,))
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

    def drop(self, transcripts: Collection[int], snapshots: Collection[int]) -> bool:
        """Drop the texts of all other transcripts and snapshots; returns whether there were any."""
        gone = {row[0] for row in self.db.execute("SELECT transcript FROM cursors")}.difference(transcripts)
        texts = {row[0] for row in self.db.execute(f"SELECT id FROM work_docsize WHERE id > {schema.SNAPSHOT_TEXT}")}
        texts -= {schema.SNAPSHOT_TEXT + snapshot for snapshot in snapshots}
        for transcript in gone:
            self._delete_after(transcript, 0)
            self.db.execute("DELETE FROM cursors WHERE transcript = ?", (transcript,))
            self.db.execute("DELETE FROM quarantine WHERE stage = 'text' AND subject = ?", (str(transcript),))
        for table in ("work", "places"):
            self.db.executemany(f"DELETE FROM {table} WHERE rowid = ?", ((row_id,) for row_id in texts))
        return bool(gone or texts)

    def snapshots_indexed(self) -> int:
        """The last snapshot whose text is indexed."""
        known: Any = self.meta("snapshot")
        return int(known or 0)


def _first(pieces: Iterable[bytes], length: int) -> Iterator[bytes]:
    """The first `length` bytes of some pieces."""
    for piece in pieces:
        yield piece[:length]
        length -= len(piece)
        if length <= 0:
            return


def _parts(data: bytes) -> Iterator[bytes]:
    """Split a large file into parts that end with a line, or at least a character: decoded as a whole it would take four times its size."""
    start = 0
    while len(data) - start > _PART:
        end = data.rfind(b"\n", start, start + _PART) + 1 or start + _PART
        while end < len(data) and data[end] & 0xC0 == 0x80 and end > start + 1:
            end -= 1
        yield data[start:end]
        start = end
    yield data[start:]
