"""The redactor of a store: its key, the user's false alarms, and the passwords that are redacted wherever they are."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.errors import HansardError, UsageError
from hansard.guard import redaction
from hansard.guard.detection import detector, rules_version
from hansard.guard.redaction import MODES, KnownPart, Mode, Redactor, fingerprint
from hansard.model.secrets import FALSE_ALARM
from hansard.record.store import Record
from hansard.secrets.split import known_parts, parts_of, split_at
from hansard.secrets.store import FILE, LOG, NAME, NAMED, open_findings

if TYPE_CHECKING:
    from hansard.guard.detection import Secret

_SHORTEST_KNOWN = 8  # characters: a shorter password may be a word elsewhere
_MOST_KNOWN = 1_000
_LONGEST_LINE = 8 << 20
_CHECK_SECONDS = 1.0  # how often a long-lived process looks for new decisions and findings
_FILES = ("record.db", "record.db-wal", NAME, f"{NAME}-wal")
_known: dict[str, tuple[object, list[tuple[str, str]]]] = {}
"""Passwords by data directory, with the state of the findings that they were read from; only in memory."""


class StoreRedactor:
    """Redacts as the store's user decided; what it needs is read when the first text comes."""

    def __init__(self, home: str, mode: Mode) -> None:
        self._home = home
        self.mode = mode
        self.replaced: set[str] = set()
        """The fingerprints of the secrets that were replaced; empty it to count those of another text."""
        self._made: Redactor | None = None
        self._scanned: dict[int, tuple[int, int]] = {}
        self._more: set[KnownPart] = set()  # found in logs that were read and not scanned before
        self._state: object = None
        self._checked = 0.0

    @property
    def _redactor(self) -> Redactor:
        if self._made is None or time.monotonic() - self._checked > _CHECK_SECONDS:
            self._checked = time.monotonic()
            state = [_stat(os.path.join(self._home, name)) for name in _FILES]
            if self._made is None or state != self._state:
                self._state = state
                self._made, self._scanned = _make(self._home, self.mode)
                self._made.replaced = self.replaced
                self._made.add_parts(self._more)
        return self._made

    def __call__(self, text: str, before: str = "", after: str = "") -> str:
        return self._redactor(text, before, after)

    def many(self, texts: Sequence[str], before: str = "", after: str = "") -> list[str]:
        return self._redactor.many(texts, before, after)

    def cut(self, text: str, places: Sequence[int]) -> list[str]:
        return self._redactor.cut(text, places)

    def find(self, text: str) -> list[Secret]:
        return self._redactor.find(text)

    def look_at(self, record: Record, transcript: int) -> None:
        """Find the secrets that are split over texts of a log which is about to be read, if no scan has searched it."""
        redactor = self._redactor
        if self._scanned.get(transcript, (0, 0))[0] != record.size(transcript):
            more = parts_of(record, detector().find, transcript) - self._more
            self._more |= more
            redactor.add_parts(more)

    @property
    def version(self) -> str:
        """A version of rules and decisions: an export made with another one is made again."""
        return f"{self.mode} {rules_version()} {self._redactor.decisions}"


def _stat(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def use_store(home: str, mode: str) -> None:
    """Redact texts for agents, handoffs and commits as this store does; `off` leaves them as they are."""
    redaction.use(store_redactor(home, mode) or _plain)


def _plain(text: str, before: str = "", after: str = "") -> str:  # noqa: ARG001 - a redactor's signature
    return text


def store_redactor(home: str, mode: str) -> StoreRedactor | None:
    """The redactor of a store, None for the mode `off`."""
    match mode:
        case "off":
            return None
        case "on" | "strict":
            return StoreRedactor(home, mode)
    raise UsageError(f"{mode!r} is not a way to redact; choose one of {', '.join(MODES)}")


def _make(home: str, mode: Mode) -> tuple[Redactor, dict[int, tuple[int, int]]]:
    key, ignored, known = secrets.token_bytes(32), frozenset[str](), list[tuple[str, str]]()
    parts: set[KnownPart] = set()
    scanned: dict[int, tuple[int, int]] = {}
    path = os.path.join(home, "record.db")
    # A store that cannot be read says so where it is asked; its texts are redacted by the rules alone.
    with suppress(HansardError):
        if os.path.exists(path):
            record = Record.open(path, readonly=True)
            try:
                key = record.secret_key()
                states = record.secret_states()
                ignored = frozenset(one for one, state in states.items() if state.state == FALSE_ALARM)
                known = _known_values(home, record, key)
                parts, scanned = _known_parts(home, record)
            finally:
                record.close()
    values = [(rule, value) for rule, value in known if fingerprint(key, value) not in ignored]
    redactor = Redactor(detector(), key, strict=mode == "strict", ignored=ignored, known=values, parts=parts)
    return redactor, scanned


def _known_values(home: str, record: Record, key: bytes) -> list[tuple[str, str]]:
    """Secrets that only the words before them reveal, with their rules; read from the record again."""
    with suppress(OSError):
        stat = os.stat(os.path.join(home, NAME))
        state = (stat.st_ino, stat.st_mtime_ns, stat.st_size, key)
        if home in _known and _known[home][0] == state:
            return _known[home][1]
        values = list(_read_known(home, record, key))
        _known[home] = (state, values)
        return values
    return []


def _known_parts(home: str, record: Record) -> tuple[set[KnownPart], dict[int, tuple[int, int]]]:
    """Parts of secrets that are split over texts, and how far logs were scanned."""
    db = None
    with suppress(HansardError):
        db = open_findings(home)
    try:
        return known_parts(record, detector().find, db)
    finally:
        if db is not None:
            db.close()


def _read_known(home: str, record: Record, key: bytes) -> Iterable[tuple[str, str]]:
    db = open_findings(home)
    if db is None:
        return
    try:
        sql = (
            "SELECT fingerprint, rule, source, ref, offset + start, length FROM findings WHERE id IN (SELECT max(id) FROM findings"
            " WHERE is_bare AND NOT is_encoded GROUP BY fingerprint)"
            f" AND length >= {_SHORTEST_KNOWN} ORDER BY id DESC LIMIT {_MOST_KNOWN}"
        )
        rows: list[Any] = db.execute(sql).fetchall()
        for secret, rule, *place in rows:
            if value := read_value(record, key, secret, *place):
                yield rule, value
    finally:
        db.close()


def read_value(record: Record, key: bytes, secret: str, source: str, ref: int, start: int, length: int) -> str | None:
    """A secret from where it is written without an encoding; None if it is not there."""
    with suppress(HansardError):
        if source == LOG:
            data = record.glimpse(ref, start, start + length)
        elif source == FILE:
            data = record.read_snapshot(ref)[start : start + length]
        elif source == NAMED:
            names = dict(record.file_names(ref - 1))
            data = names.get(ref, "").encode("utf-8", "surrogateescape")[start : start + length]
        else:
            texts = {remark.id: remark.value for remark in record.remarks()}
            data = texts.get(ref, "").encode("utf-8", "surrogateescape")[start : start + length]
        text = data.decode("utf-8", "surrogateescape")
        for _ in range(3):  # as it is, and out of JSON in JSON
            if fingerprint(key, text) == secret:
                return text
            try:
                text = msgspec.json.decode(f'"{text}"', type=str)
            except msgspec.DecodeError:
                return None
    return None


def find_value(record: Record, key: bytes, secret: str, ref: int, offset: int) -> str | None:
    """A secret from an encoding in a line, or split over the texts from there on; None if it is not there."""
    with suppress(HansardError):
        data = bytearray()
        for piece in record.read(ref, offset):
            data += piece
            if b"\n" in piece or len(data) > _LONGEST_LINE:
                break
        text = bytes(data).partition(b"\n")[0].decode("utf-8", "surrogateescape")
        split = (found for found, _ in split_at(record, detector().find, ref, offset))
        for found in chain(detector().find(text), split):
            if fingerprint(key, found.value) == secret:
                return found.value
    return None
