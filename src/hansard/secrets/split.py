"""Secrets that are split over texts, read from the record again: their values, and the parts that are redacted by themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.clients import client_of
from hansard.clients.lines import LongLine
from hansard.errors import HansardError
from hansard.guard.redaction import KnownPart
from hansard.secrets import counts
from hansard.secrets.chains import NOWHERE, Chains
from hansard.secrets.store import LOG

if TYPE_CHECKING:
    import apsw

    from hansard.guard.detection import Secret
    from hansard.record.store import Record
    from hansard.secrets.chains import Chain, Part

    Find = Callable[[str], list[Secret]]
    Split = tuple[Secret, list[Part]]

_MOST = 1_000  # places of split secrets that are read again
_READ = 8 << 20  # bytes of a log in which a chain ends that begins there
_SHORTEST = 8  # characters; a shorter part may be a word elsewhere
_WORD = re.compile(r"[A-Za-z0-9_+/=.:-]+")


class _Looked(NamedTuple):
    """A log as far as it was searched in this process, and what was found."""

    start: int
    size: int
    before: int
    parts: frozenset[KnownPart]


_looked: dict[tuple[str, int], _Looked] = {}
"""Logs that no scan has searched, by the path of the record and their ids."""
_read: dict[tuple[str, str, int, int], frozenset[KnownPart]] = {}
"""Parts that were read again, by the path of the record, the secret and its place."""


def split_at(record: Record, find: Find, transcript: int, offset: int) -> Iterator[Split]:
    """The secrets that are split over the texts from a line on."""
    end = min(record.size(transcript), offset + _READ)
    for chain in _Reading(record, transcript).read(offset, end):
        for secret, parts in chain.split(find):
            if parts[0].offset == offset:
                yield secret, parts
        if chain.pieces[0].offset > offset:
            return


def known_parts(
    record: Record, find: Find, findings: apsw.Connection | None
) -> tuple[set[KnownPart], dict[int, tuple[int, int]]]:
    """The parts of split secrets, of those that a scan found and of those in the newest bytes that were not scanned.

    Also how far each log was scanned: its size then, and where a chain begins that may go on.
    """
    found: set[KnownPart] = set()
    scanned: dict[int, tuple[int, int]] = {}
    if findings is not None:
        sql = "SELECT fingerprint, ref, offset FROM findings WHERE source = ? AND length = 0 ORDER BY id DESC LIMIT ?"
        rows: list[Any] = findings.execute(sql, (LOG, _MOST)).fetchall()
        for place in rows:
            key = (record.path, *place)
            if key not in _read:
                _read[key] = _parts_at(record, find, *place[1:])
            found |= _read[key]
        scanned = {row[0]: row[1:] for row in findings.execute("SELECT transcript, size, before FROM scanned")}
    return found | _unsearched(record, find, scanned), scanned


def _parts_at(record: Record, find: Find, transcript: int, offset: int) -> frozenset[KnownPart]:
    try:
        return frozenset(part for split in split_at(record, find, transcript, offset) for part in _known(*split))
    except HansardError:  # it was erased, or cannot be read
        return frozenset()


def _unsearched(record: Record, find: Find, scanned: dict[int, tuple[int, int]]) -> set[KnownPart]:
    found: set[KnownPart] = set()
    left = counts.NEWEST
    for transcript, size in sorted(record.sizes().items(), reverse=True):
        done, before = scanned.get(transcript, (0, 0))
        if size == done:
            continue
        if left <= 0:
            break
        found |= parts_of(record, find, transcript, max(before, size - left))
        left -= size - before
    return found


def parts_of(record: Record, find: Find, transcript: int, start: int = 0) -> frozenset[KnownPart]:
    """The parts of the secrets that are split over texts of a log, from an offset on."""
    key = record.path, transcript
    known = _looked.get(key)
    if known is None or known.start > start:
        known = _Looked(start, 0, start, frozenset())
    if known.size != record.size(transcript):
        known = _looked[key] = _look(record, find, transcript, known)
    return known.parts


def _look(record: Record, find: Find, transcript: int, known: _Looked) -> _Looked:
    size = record.size(transcript)
    parts = set(known.parts)
    try:
        reading = _Reading(record, transcript)
        for chain in reading.read(known.before, size):
            for secret, pieces in chain.split(find):
                parts.update(_known(secret, pieces))
        return _Looked(known.start, size, min(reading.before, size), frozenset(parts))
    except HansardError:
        return known._replace(size=size)


class _Reading:
    """The chains of a log, from a line on."""

    def __init__(self, record: Record, transcript: int) -> None:
        generation = record.generation(transcript)
        self._client = client_of(next(root.client for root in record.roots() if root.id == generation.root_id))
        self._chains = Chains(self._client, is_aside=generation.kind == "agent")
        self._record, self._transcript = record, transcript
        self.before = NOWHERE
        """Where to go on reading when there is more."""

    def read(self, start: int, end: int) -> Iterator[Chain]:
        lines = self._client.lines(self._record.read(self._transcript, start, end, mend=True), start)
        for offset, line in lines:
            if not isinstance(line, LongLine):
                yield from self._chains.add(line, offset)
        self.before = min(self._chains.offset, lines.offset)
        if lines.rest.strip():
            yield from self._chains.add(lines.rest, lines.offset)
        yield from self._chains.rest()


def _known(secret: Secret, parts: list[Part]) -> Iterator[KnownPart]:
    """What of a split secret is looked for by itself: the lines of its parts, but for what is short or a word."""
    for number, (_, text, start, end) in enumerate(parts):
        words = _WORD.findall(text[start:end])
        for place, word in enumerate(words):
            if len(word) >= _SHORTEST and (any(map(str.isdigit, word)) or word != word.lower() != word.upper()):
                is_begun = number > 0 and not place
                is_continued = number + 1 < len(parts) and place + 1 == len(words)
                yield KnownPart(secret.rule, secret.value, word, is_begun, is_continued)
