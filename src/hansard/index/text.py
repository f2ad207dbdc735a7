"""`text.db`: the full text of every block, written behind the record at its own pace.

Rowids must come in ascending order: FTS5 writes a new segment whenever one steps back. So transcripts are taken by id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hansard.index import schema
from hansard.index.lines import Lines, items, unfinished
from hansard.index.store import Disposable, telling
from hansard.parse.decode import Record, entry, is_progress
from hansard.parse.meaning import texts, without_base64

_COLUMNS = ("result", "call", "reply", "thinking", "prompt", "note")
_INSERT = {column: f"INSERT INTO text (rowid, {column}) VALUES (?, ?)" for column in _COLUMNS}
_HASH_BYTES = 48 << 20
_AUTOMERGE = 4  # the default of FTS5
_INDEXED_LOGS = frozenset({"main", "agent", "log"})


class TextIndex(Disposable):
    """The writer of `text.db`."""

    def __init__(self, path: str, store_id: str, revision: int) -> None:
        super().__init__(path, schema.TEXT_TABLES, schema.VERSION, store_id, revision)
        self._cursor = self.db.cursor()

    def begin_bulk(self) -> None:
        """Collect more before writing a segment, and merge none: twice as fast for a backlog, and a smaller file."""
        self._set("hashsize", _HASH_BYTES)
        self._set("automerge", 0)

    def sign(self, revision: int) -> None:
        """Note that all of a revision's text is here; after a backlog, also of a sync that was cut off, merge again."""
        merging = self.db.execute("SELECT v FROM text_config WHERE k = 'automerge'").fetchone()
        if merging is not None and merging[0] == 0:
            self._set("automerge", _AUTOMERGE)
        super().sign(revision)

    def _set(self, name: str, value: int) -> None:
        with telling(self.path):
            self.db.execute("INSERT INTO text (text, rank) VALUES (?, ?)", (name, value))

    def backlog(self, sizes: Iterable[tuple[int, str, int]]) -> list[tuple[int, str, int]]:
        """Of (transcript, kind, size in the record) those with bytes not yet read, and how many, in the order to take them."""
        known: dict[int, int] = {}
        known.update(self.db.execute("SELECT transcript, size FROM cursors"))
        return sorted(
            (id_, kind, size - known.get(id_, 0))
            for id_, kind, size in sizes
            if kind in _INDEXED_LOGS and known.get(id_, 0) < size
        )

    def feed(self, transcript: int, kind: str, read: Callable[[int, int], Iterable[bytes]]) -> int:
        """Index what follows the cursor of a transcript; `read(transcript, start)` gives the record's bytes."""
        base = transcript << schema.OFFSET_BITS
        row = self.db.execute("SELECT indexed, tail FROM cursors WHERE transcript = ?", (transcript,)).fetchone()
        indexed, tail = row or (0, 0)
        if tail:
            self.db.execute("DELETE FROM text WHERE rowid BETWEEN ? AND ?", (base + indexed, base + schema.OFFSET_MASK))
        is_agent = kind == "agent"
        lines = Lines(read(transcript, indexed), indexed)
        put = self._put
        for offset, line in lines:
            if is_progress(line):  # half of the lines of some clients, and nothing to find there
                continue
            body = entry(line)
            if body is not None:
                put(base, Record(offset, len(line), str(body.type), body), is_agent=is_agent)
                continue
            for item in items(line, offset):
                if type(item) is Record:
                    put(base, item, is_agent=is_agent)
        rest = [item for item in unfinished(lines.rest, lines.offset) if type(item) is Record]
        for item in rest:
            put(base, item, is_agent=is_agent)
        size = lines.offset + len(lines.rest)
        self.db.execute(
            "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?)",
            (transcript, lines.offset, size, 1 if lines.rest.strip() else 0),
        )
        return size - indexed

    def _put(self, base: int, record: Record, *, is_agent: bool) -> None:
        body = record.body
        sidechain = is_agent or any(getattr(body, name, None) for name in ("is_sidechain", "stream_parent_tool"))
        row_id = base + record.offset
        for number, column, text in texts(record, sidechain=sidechain):
            self._cursor.execute(_INSERT[column], (row_id + number, text))

    def feed_snapshot(self, snapshot: int, data: bytes) -> None:
        """Index the text of an overflowed tool result; binary ones have none."""
        row_id = schema.SNAPSHOT_TEXT + snapshot
        if b"\x00" not in data[:4096]:
            try:
                text = without_base64(data.decode("utf-8"))
            except UnicodeDecodeError:
                return
            self.db.execute("DELETE FROM text WHERE rowid = ?", (row_id,))
            self._cursor.execute(_INSERT["result"], (row_id, text))

    def snapshots_indexed(self) -> int:
        """The last snapshot whose text is indexed."""
        known: Any = self.meta("snapshot")
        return int(known or 0)
