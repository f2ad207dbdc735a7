"""Search bytes for secrets: lines and files of any length, and texts of a transcript that follow each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from hansard.guard.redaction import fingerprint
from hansard.secrets.store import Found

if TYPE_CHECKING:
    from hansard.guard.detection import Secret
    from hansard.secrets.chains import Chain, Part

_WINDOW = 1 << 20  # bytes of a line or file that are searched at once
_OVERLAP = 64 << 10  # of two windows: a longer secret is not found
_REMEMBERED = 1_000


class Located(NamedTuple):
    """A secret, and its place in bytes."""

    secret: Secret
    start: int
    end: int
    is_encoded: bool
    """Those bytes are not the secret itself, but an encoding or a part of it."""


class SplitFound(NamedTuple):
    """A secret that is split over texts, and the offset of the line in which it begins.

    `wrong` are parts that look like whole secrets by themselves: offsets of lines and fingerprints.
    """

    offset: int
    found: Found
    wrong: list[tuple[int, str]]


class Search:
    """Finds secrets in bytes, and gives their fingerprints and places instead of the secrets."""

    def __init__(self, find: Callable[[str], list[Secret]], key: bytes) -> None:
        self._find = find
        self._key = key
        self._bare: dict[str, bool] = {}  # secrets, and whether nothing but what is around them reveals them

    def data(self, data: bytes) -> list[Found]:
        """The secrets in a line or a file, each once."""
        return self._once(map(self._found, self.located(data)))

    def pieces(self, pieces: Iterable[bytes]) -> list[Found]:
        """The secrets in a line that is too long to be in memory."""
        return self._once(map(self._found, self._windows(_windows(pieces), None)))

    def located(self, data: bytes) -> Iterable[Located]:
        """Every place of a secret in a line or a file."""
        if len(data) <= _WINDOW:
            return self._here(data, 0)
        step = _WINDOW - _OVERLAP
        windows = (data[at : at + _WINDOW] for at in range(0, len(data) - _OVERLAP, step))
        return self._windows(windows, len(data))

    def _windows(self, windows: Iterable[bytes], size: int | None) -> Iterator[Located]:
        """The secrets in overlapping windows; each belongs to the window that has it whole."""
        step = _WINDOW - _OVERLAP
        half = _OVERLAP // 2
        for number, data in enumerate(windows):
            base = number * step
            is_last = len(data) < _WINDOW or (size is not None and base + len(data) >= size)
            first = half if number else 0
            last = len(data) if is_last else _WINDOW - half
            yield from (one for one in self._here(data, base) if first <= one.start - base < last)

    def split(self, chains: Iterable[Chain]) -> Iterator[SplitFound]:
        """The secrets that are split over texts."""
        for secret, parts in self.parts(chains):
            begun = [
                (part.offset, fingerprint(self._key, one.value))
                for part in parts
                for one in self._find(part.text)
                if part.start <= one.start and one.end <= part.end
            ]
            yield SplitFound(parts[0].offset, self._found(Located(secret, 0, 0, is_encoded=True)), begun)

    def parts(self, chains: Iterable[Chain]) -> Iterator[tuple[Secret, list[Part]]]:
        """The secrets that are split over texts, each with what every text has of it."""
        for chain in chains:
            yield from chain.split(self._find)

    def _here(self, data: bytes, base: int) -> list[Located]:
        text = data.decode("utf-8", "surrogateescape")
        is_ascii = len(text) == len(data)
        found = []
        for secret in self._find(text):
            start, end = secret.start, secret.end
            is_encoded = text[start:end] != secret.value
            if not is_ascii:
                end = start + len(text[start:end].encode("utf-8", "surrogateescape"))
                before = len(text[:start].encode("utf-8", "surrogateescape"))
                start, end = before, before + end - start
            found.append(Located(secret, base + start, base + end, is_encoded))
        return found

    def _found(self, located: Located) -> Found:
        secret, start, end, is_encoded = located
        value = secret.value
        if value not in self._bare:
            if len(self._bare) > _REMEMBERED:
                self._bare.clear()
            self._bare[value] = not any(one.value == value for one in self._find(value))
        return Found(
            fingerprint(self._key, value),
            secret.rule,
            secret.confidence,
            start,
            end - start,
            is_encoded,
            self._bare[value],
            1,
        )

    @staticmethod
    def _once(found: Iterable[Found]) -> list[Found]:
        """Each secret once, at its first place that is not encoded, with the rule that is most certain."""
        by_secret: dict[str, list[Found]] = {}
        for one in found:
            by_secret.setdefault(one.fingerprint, []).append(one)
        once = []
        for places in by_secret.values():
            first = min(places, key=lambda one: (one.is_encoded, one.start))
            rule = min(places, key=lambda one: (one.confidence, one.rule))
            once.append(first._replace(rule=rule.rule, confidence=rule.confidence, times=len(places)))
        return once


def _windows(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Overlapping windows of bytes that come in pieces."""
    held = bytearray()
    for piece in pieces:
        held += piece
        while len(held) >= _WINDOW:
            yield bytes(held[:_WINDOW])
            del held[: _WINDOW - _OVERLAP]
    yield bytes(held)
