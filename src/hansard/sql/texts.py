"""What queries can use beside the views: functions that read the record, a line as it is and the texts of a message; and words of SQL."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hansard.errors import NotFound
from hansard.model.gate import release
from hansard.storage import OFFSET_BITS, OFFSET_MASK

if TYPE_CHECKING:
    from hansard.model.gate import Redact
    from hansard.query.reader import Reader
    from hansard.record.store import Record
    from hansard.thread.locate import RawLine

_MOST_TRANSCRIPTS = 1 << (63 - OFFSET_BITS)
FUNCTIONS = {
    "record": "record(transcript, byte_offset): the line that begins there, as the client wrote it",
    "message_text": "message_text(transcript, byte_offset): the texts of the message in that line",
    "block_text": "block_text(transcript, byte_offset, block): the text of one content block",
}
KEYWORDS = (
    "SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT JOIN LEFT ON AS DISTINCT UNION ALL WITH CASE WHEN THEN ELSE END AND OR NOT NULL IS IN"
    " LIKE BETWEEN DESC count sum avg min max round substr length lower upper coalesce decimal_sum"
).split()
"""The words of SQL that editors of queries complete and highlight."""


class Texts:
    """Reads lines and texts for a query, of all sessions or of some; engines call it from several threads."""

    def __init__(
        self,
        reader: Reader,
        record: Callable[[], Record],
        redact: Redact | None,
        sessions: frozenset[str] | None = None,
    ) -> None:
        self._reader = reader
        self._record = record
        self._redact = redact
        self._sessions = sessions
        self._lock = threading.Lock()

    def functions(self) -> dict[str, tuple[Callable[..., Any], int]]:
        """The functions by name, and how many arguments each takes."""
        return {"record": (self.record, 2), "message_text": (self.message_text, 2), "block_text": (self.block_text, 3)}

    def record(self, transcript: int | None, byte_offset: int | None) -> str | None:
        """A line; null if none begins there."""
        with self._lock:
            found = self._line(transcript, byte_offset)
        return None if found is None else self._released(found[1].decode("utf-8", "replace"))

    def message_text(self, transcript: int | None, byte_offset: int | None) -> str | None:
        """The texts of a message, without its thinking; null if it has none."""
        found = self._texts(transcript, byte_offset)
        return self._released("\n\n".join(text for _, kind, text in found if kind != "thinking")) or None

    def block_text(self, transcript: int | None, byte_offset: int | None, block: int | None) -> str | None:
        """The text of a content block; null if it has none."""
        found = self._texts(transcript, byte_offset)
        return self._released("\n\n".join(text for number, _, text in found if number == block)) or None

    def _texts(self, transcript: int | None, byte_offset: int | None) -> list[tuple[int, str, str]]:
        from hansard.clients import client_of

        with self._lock:
            found = self._line(transcript, byte_offset)
            if found is None:
                return []
            place, line = found
            client, kind = self._reader.one("SELECT client, kind FROM transcripts WHERE id = ?", (place.transcript,))
            records = client_of(client).texts(line, place.offset, is_aside=kind == "agent")
            return [(text.number, text.kind, text.text) for record in records for text in record.texts]

    def _line(self, transcript: int | None, byte_offset: int | None) -> tuple[RawLine, bytes] | None:
        if not isinstance(transcript, int) or not isinstance(byte_offset, int):
            return None
        if not (0 <= transcript < _MOST_TRANSCRIPTS and 0 <= byte_offset <= OFFSET_MASK):
            return None
        from hansard.thread.locate import find_raw_line

        known = self._reader.one("SELECT session_id FROM transcripts WHERE id = ?", (transcript,))
        if known is None or (self._sessions is not None and known[0] not in self._sessions):
            return None
        try:
            place = find_raw_line(self._reader, self._record(), transcript, byte_offset)
        except NotFound:
            return None
        return place, b"".join(self._record().read(transcript, place.offset, place.offset + place.length))

    def _released(self, text: str) -> str:
        return text if self._redact is None else release(text, self._redact)
