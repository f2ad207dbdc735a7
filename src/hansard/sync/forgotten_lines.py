"""Lines that were forgotten and come again, in the same file or in another: only markers are stored in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.clients import client_of
from hansard.clients.blanking import ONLY_KEYS, blank
from hansard.record.tombstones import ALLOWED, LINE, MASKED, MESSAGE, SECRET, SESSION, content_digest, content_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from hansard.guard.detection import Secret
    from hansard.record.store import Record
    from hansard.record.tombstones import Tombstones
    from hansard.secrets.masking import Masker

_HEAD = 1 << 20  # bytes at the beginning of a log in which the first id is looked for
_LONGEST = 64 << 20  # bytes of a line that is checked; a longer one is stored as it is


class ForgottenLines:
    """Replaces forgotten lines of a log as it is read."""

    def __init__(
        self,
        client: str,
        tombstones: Tombstones,
        begun: bytes,
        start: int,
        mask: Callable[[bytes], bytes],
        former: Callable[[int], bytes] = lambda _: b"",
    ) -> None:
        """`begun` is what was kept before `start` of a line that had no end then; `mask` hides forgotten secrets in a line.

        `former` gives so many bytes of the beginning of the log, as it was kept before.
        """
        self.blanks: list[tuple[int, bytes]] = []
        """Where markers were put in lines, and the bytes there."""
        self.late: list[tuple[int, bytes]] = []
        """Markers for beginnings of lines that were stored before."""
        self._name = client
        self._client = client_of(client)
        self._tombstones = tombstones
        self._mask = mask
        self._begun = begun
        self._held = bytearray()  # of a line that is not complete
        self._offset = start  # where these begin
        self._former = former
        self._first: str | None = None  # the first id in the log; None: not looked for yet, empty: there is none
        self._session_ids: Collection[str] = ()  # of the line with that id
        self._searched = 0  # bytes of `_held` without it

    @property
    def waits(self) -> bool:
        """Whether part of a line is buffered."""
        return bool(self._held)

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that end in a piece, as they are to be stored."""
        self._held += piece
        end = self._held.rfind(b"\n") + 1
        if self._first is None and not self._offset and not self._find_first(end) and len(self._held) < _HEAD:
            return  # whose copies these lines are is not known yet
        if not end and len(self._held) < _LONGEST:
            return
        end = end or len(self._held)
        whole = bytes(self._held[:end])
        del self._held[:end]
        yield b"".join(map(self._kept, _lines(whole)))

    def rest(self) -> bytes:
        """What is left at the end of the file: its incomplete last line."""
        rest = bytes(self._held)
        self._held.clear()
        return b"".join(map(self._kept, _lines(rest)))

    def _find_first(self, end: int) -> bool:
        """Look for the first id in the complete lines of a log that begins here."""
        found = self._note_first(bytes(self._held[self._searched : end]))
        self._searched = end
        return found

    def _note_first(self, data: bytes) -> bool:
        for line in _lines(data):
            session_ids, line_id = self._client.line_names(line)
            if line_id:
                self._first, self._session_ids = line_id, session_ids
                return True
        return False

    def _first_id(self) -> str:
        """The first id in the log; empty if its beginning has none."""
        if self._first is None and not self._note_first(self._former(_HEAD)):
            self._first = ""
        return self._first or ""

    def _is_copy(self, line: bytes, *, is_allowed: bool) -> bool:
        """Whether a line without an id is about a forgotten line, or in a copy of a forgotten session."""
        about, content = self._client.line_content(line)
        first = self._first_id()
        is_allowed = is_allowed or bool(first and self._is_allowed(self._session_ids))
        return bool(about and self._is_forgotten(about, is_allowed=is_allowed)) or bool(
            content
            and first
            and self._is_forgotten(content_name(first, content_digest(content)), is_allowed=is_allowed)
        )

    def _is_allowed(self, session_ids: Collection[str]) -> bool:
        """Whether a line of these sessions may be stored again."""
        return any(self._tombstones.has(ALLOWED, self._name, session_id) for session_id in session_ids)

    def _is_forgotten(self, name: str, *, is_allowed: bool) -> bool:
        """Whether a line was forgotten by itself, or with a session that is not allowed again."""
        has = self._tombstones.has
        return has(MESSAGE, self._name, name) or (not is_allowed and has(LINE, self._name, name))

    def _kept(self, line: bytes) -> bytes:
        start, begun = self._offset, self._begun
        self._offset += len(line)
        self._begun = b""
        whole = begun + line
        session_ids, line_id = self._client.line_names(whole)
        has = self._tombstones.has
        is_allowed = self._is_allowed(session_ids)
        if any(has(SESSION, self._name, session_id) for session_id in session_ids) or (
            self._is_forgotten(line_id, is_allowed=is_allowed)
            if line_id
            else self._is_copy(whole, is_allowed=is_allowed)
        ):
            marked = self._client.blank_line(whole)
        elif line_id and has(MASKED, self._name, line_id):
            marked = self._client.usable_line(whole, self._mask(whole))
        else:
            marked = whole
        if marked == whole:
            return line
        if begun:
            self.late.append((start - len(begun), marked[: len(begun)]))
        self.blanks.append((start, marked[len(begun) :]))
        return marked[len(begun) :]


def secret_mask(record: Record, tombstones: Tombstones) -> Callable[[bytes], bytes]:
    """Puts placeholders in place of the secrets that were forgotten; their rules are loaded when the first line needs them."""
    from functools import cache

    key = record.secret_key()

    @cache
    def masker() -> Masker:
        from hansard.guard.detection import detector
        from hansard.guard.redaction import fingerprint
        from hansard.secrets.masking import Masker

        def find(text: str) -> list[Secret]:
            return [one for one in detector().find(text) if tombstones.has(SECRET, fingerprint(key, one.value))]

        return Masker(find, key)

    return lambda line: masker().data(line).data


def without_forgotten(client: str, data: bytes, tombstones: Tombstones) -> tuple[bytes, list[tuple[int, int]]]:
    """A list of sessions with markers in place of forgotten ones, and their places: starts and lengths."""
    marked = bytearray(data)
    blanks = []
    for session_id, start, end in client_of(client).listed_sessions(data):
        if tombstones.has(SESSION, client, session_id):
            marked[start:end] = blank(data[start:end], ONLY_KEYS)
            blanks.append((start, end - start))
    return bytes(marked), blanks


def _lines(data: bytes) -> Iterator[bytes]:
    """Lines that end with a line feed, and nothing else."""
    place = 0
    while place < len(data):
        end = data.find(b"\n", place) + 1 or len(data)
        yield data[place:end]
        place = end
