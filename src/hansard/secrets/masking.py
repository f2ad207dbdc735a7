"""Placeholders in place of secrets, as long as these: lines keep their lengths, and JSON stays JSON.

A placeholder is the one of redacted texts, `[github-pat:3f2a]`, filled up with stars; where it does not fit there are stars only, and where
a secret is within base64 or hexadecimal digits there are zeros. Of JSON only the insides of strings are replaced, and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from itertools import chain
from re import DOTALL
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hansard.clients.blanking import TOKEN
from hansard.clients.lines import LongLine, length_of
from hansard.guard.redaction import fingerprint
from hansard.lazy_regex import lazy_compile
from hansard.model.placeholders import placeholder
from hansard.record.erase import Patch
from hansard.secrets.chains import NOWHERE, Chains
from hansard.secrets.search import Search

if TYPE_CHECKING:
    from hansard.clients.lines import Lines
    from hansard.clients.protocol import Client
    from hansard.guard.detection import Secret
    from hansard.secrets.chains import Chain, Part
    from hansard.secrets.values import Value

_ROUNDS = 4  # what is decoded once a secret is gone may hold another one; the last round takes whole strings
_DIGITS = lazy_compile(rb"[A-Za-z0-9+/_=-]++")
_RUN = lazy_compile(rb"[^\r\n]++")
# One character or escape in a JSON string.
_UNIT = lazy_compile(
    rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u.{4}|\\.|[\xc0-\xff][\x80-\xbf]*+|.",
    DOTALL,
)
_BEFORE = 64  # bytes before a place in a string, from which on its characters are told apart
_SHORTEST_PART = 4  # characters of a part of a secret that is split over texts; less says nothing
_LONG_PART = 12  # characters that are no part of anything else by chance
_GAP = 32  # equal bytes between two stretches that count as one
_BLOCK = 4096


def is_text(data: bytes) -> bool:
    """Whether a file is text: no NUL byte at its beginning."""
    return b"\0" not in data[:_BLOCK]


class Masked(NamedTuple):
    """A line or a file with placeholders, and the ids of the secrets that they stand for."""

    data: bytes
    secrets: frozenset[str]


class MaskedLine(NamedTuple):
    """A line of a log that holds secrets; one that is too long to be read has no bytes."""

    offset: int
    line: bytes
    data: bytes
    secrets: frozenset[str]


class _Place(NamedTuple):
    start: int
    end: int
    label: bytes
    secret_id: str
    is_encoded: bool


class _Open:
    """A line that is in a chain which further lines may continue."""

    def __init__(self, line: bytes, masked: Masked) -> None:
        self.line = line
        self.data, self.secrets = bytearray(masked.data), set(masked.secrets)

    def hide(self, part: Part, label: bytes, secret_id: str) -> None:
        for start, end in _written(self.line, part):
            _fill(self.data, start, end, label)
            self.secrets.add(secret_id)


class Masker:
    """Puts placeholders in place of the secrets that `find` gives, and of some values."""

    def __init__(self, find: Callable[[str], list[Secret]], key: bytes, values: Collection[Value] = ()) -> None:
        self._key = key
        self._search = Search(find, key)
        self._values = [(value.pattern(), value) for value in values]
        self.texts: dict[str, str] = {value.secret_id: value.text for value in values}
        """The secrets that were found, by their ids."""

    def data(self, data: bytes) -> Masked:
        """A line or a whole file; the same bytes if it holds no secret."""
        found: set[str] = set()
        for number in range(_ROUNDS):
            places = _apart(self._places(data))
            if not places:
                break
            found.update(place.secret_id for place in places)
            data = _cover(data, places, whole=number == _ROUNDS - 1)
        return Masked(data, frozenset(found))

    def log(
        self, client: Client, pieces: Iterable[bytes], *, is_aside: bool, offsets: Container[int] | None = None
    ) -> Iterator[MaskedLine]:
        """The lines of a log that hold a secret, or a part of one that is split over texts; with `offsets` only some lines, each by itself."""
        chains = Chains(client, is_aside=is_aside)
        opened: dict[int, _Open] = {}
        lines = client.lines(pieces, 0)
        for offset, line in chain(lines, _rest(lines)):
            if offsets is not None and offset not in offsets:
                continue
            if isinstance(line, LongLine):
                yield MaskedLine(offset, line, b"", frozenset())
                continue
            opened[offset] = _Open(line, self.data(line))
            if offsets is None:
                self._hide(chains.add(line, offset), opened)
            yield from _done(opened, chains.offset)
        self._hide(chains.rest(), opened)
        yield from _done(opened, NOWHERE)

    def _hide(self, chains: Iterable[Chain], opened: dict[int, _Open]) -> None:
        for secret, parts in self._search.parts(chains):
            secret_id = fingerprint(self._key, secret.value)
            self.texts.setdefault(secret_id, secret.value)
            for part in parts:
                opened[part.offset].hide(part, placeholder(secret.rule, secret_id).encode(), secret_id)

    def _places(self, data: bytes) -> Iterator[_Place]:
        for secret, start, end, is_encoded in self._search.located(data):
            secret_id = fingerprint(self._key, secret.value)
            self.texts.setdefault(secret_id, secret.value)
            yield _Place(start, end, placeholder(secret.rule, secret_id).encode(), secret_id, is_encoded)
        for pattern, value in self._values:
            label = placeholder(value.rule, value.secret_id).encode()
            for found in pattern.finditer(data):
                yield _Place(*found.span(), label, value.secret_id, found.lastgroup is not None)


def stretches(before: bytes, after: bytes) -> Iterator[tuple[int, int]]:
    """The ranges in which two texts of the same length differ."""
    begun = last = -1
    for block in range(0, len(before), _BLOCK):
        one, other = before[block : block + _BLOCK], after[block : block + _BLOCK]
        if one == other:
            continue
        for place, (a, b) in enumerate(zip(one, other, strict=True), block):
            if a == b:
                continue
            if begun >= 0 and place - last > _GAP:
                yield begun, last + 1
                begun = place
            elif begun < 0:
                begun = place
            last = place
    if begun >= 0:
        yield begun, last + 1


def patches(before: bytes, after: bytes, offset: int = 0) -> list[Patch]:
    """Patches that turn one text into another of the same length, at an offset in a file."""
    return [Patch(offset + start, after[start:end]) for start, end in stretches(before, after)]


def _rest(lines: Lines) -> Iterator[tuple[int, bytes]]:
    """The bytes after the last line break; available once the lines are read."""
    if length_of(lines.rest):
        yield lines.offset, lines.rest


def _apart(places: Iterable[_Place]) -> list[_Place]:
    """Places in order, those joined that overlap."""
    found: list[_Place] = []
    for place in sorted(places):
        if found and place.start < found[-1].end:
            last = found[-1]
            found[-1] = last._replace(end=max(last.end, place.end), is_encoded=last.is_encoded and place.is_encoded)
        else:
            found.append(place)
    return found


def _cover(data: bytes, places: list[_Place], *, whole: bool) -> bytes:
    """Put placeholders at some places; with `whole` over all of the strings that they are in."""
    result = bytearray(data)
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        for place in places:
            start, end = (0, len(data)) if whole else place[:2]
            _fill(result, start, end, place.label, is_encoded=place.is_encoded)
        return bytes(result)
    number = 0
    for token in TOKEN.finditer(data):
        start, end = token.span()
        while number < len(places) and places[number].end <= start:
            number += 1
        if number == len(places):
            break
        at = number
        while at < len(places) and places[at].start < end:
            _cover_token(result, data, (start, end), places[at], whole=whole)
            at += 1
    return bytes(result)


def _cover_token(result: bytearray, data: bytes, token: tuple[int, int], place: _Place, *, whole: bool) -> None:
    first, last = token
    if data[first] == ord('"'):
        first, last = first + 1, last - 1
        start, end = (first, last) if whole else (max(place.start, first), min(place.end, last))
        if start < end:
            start, end = _around_units(data, first, start, end)
            _fill(result, start, end, place.label, is_encoded=place.is_encoded and not whole)
    elif data[first : first + 1] not in b"{}[],:":
        result[first:last] = b"0".ljust(last - first)


def _fill(result: bytearray, start: int, end: int, label: bytes, *, is_encoded: bool = False) -> None:
    if is_encoded and _DIGITS.fullmatch(result, start, end):
        result[start:end] = b"0" * (end - start)
        return
    for run in list(_RUN.finditer(bytes(result[start:end]))):
        size = len(run[0])
        fits = len(label) <= size
        result[start + run.start() : start + run.end()] = (label if fits else b"").ljust(size, b"*")
        label = b"" if fits else label


def _around_units(data: bytes, first: int, start: int, end: int) -> tuple[int, int]:
    """A stretch of a JSON string, widened so that it holds whole characters and escapes; `first` is where the string begins."""
    # Escapes can only be told apart from the start of a run of backslashes.
    sync = first + len(data[first : max(first, start - _BEFORE)].rstrip(b"\\"))
    begin = start
    for unit in _UNIT.finditer(data, sync):
        if unit.start() <= start:
            begin = unit.start()
        if unit.end() >= end:
            return begin, unit.end()
    return begin, end


def _done(opened: dict[int, _Open], offset: int) -> Iterator[MaskedLine]:
    """Lines before an offset that hold a secret or a part of one; they are no longer open."""
    for done in [one for one in opened if one < offset]:
        one = opened.pop(done)
        if one.secrets:
            yield MaskedLine(done, one.line, bytes(one.data), frozenset(one.secrets))


def _written(line: bytes, part: Part) -> Iterator[tuple[int, int]]:
    """Where a part of a secret is in a line: in strings that are the text, or hold it, or only the part."""
    _offset, text, start, end = part
    wanted = text[start:end]
    strings = []
    for token in TOKEN.finditer(line):
        if token[0][:1] == b'"':
            try:
                value = msgspec.json.decode(token[0], type=str)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            if (place := value.find(text)) >= 0:
                strings.append((value.strip() != text, token.span(), place + start))
            elif len(wanted) >= _SHORTEST_PART and (place := _edge(value, wanted)) >= 0:
                strings.append((True, token.span(), place))
    is_exact = any(not is_other for is_other, _, _ in strings)
    for is_other, (first, last), place in strings:
        if not (is_exact and is_other):
            units = [unit.span() for unit in _UNIT.finditer(line, first + 1, last - 1)][place : place + end - start]
            yield units[0][0], units[-1][1]


def _edge(value: str, part: str) -> int:
    """Where a part begins a string, ends it, or is in it if it is too long to be there by chance; -1 if it does not."""
    if value.lstrip().startswith(part):
        return len(value) - len(value.lstrip())
    if value.rstrip().endswith(part):
        return len(value.rstrip()) - len(part)
    return value.find(part) if len(part) >= _LONG_PART else -1
