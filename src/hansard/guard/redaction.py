"""Replace secrets in text by stable placeholders, such as `[github-pat:3f2a]`: the rule, and a short keyed hash of the secret."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib import import_module
from itertools import pairwise
from typing import Literal, NamedTuple

from hansard.guard.detection import Detector, Secret, cut_token, detector
from hansard.model.gate import PREVIEW
from hansard.model.placeholders import placeholder

Mode = Literal["off", "on", "strict"]
MODES: tuple[Mode, ...] = ("off", "on", "strict")

_SHORTEST = 8
_AROUND = 400  # characters of a neighbouring text in which the other part of a secret may be
_BESIDE = 4_000  # characters on each side of an excerpt in which a secret may begin or end
_BESIDE_KEY = 16_000  # the same for keys in several lines
_KEY = ("PRIVATE KEY", "LS0tLS1")  # as it is, and in base64
_BATCH = 128 << 10  # characters of texts that are redacted together
_CACHED_TEXT, _CACHED_TEXTS = 200, 4_096
_NOT_KEY = re.compile(r"-----[^-]*-----|\\+[nrt]|[^A-Za-z0-9+/=]+")


class KnownPart(NamedTuple):
    """A part of a secret that is redacted wherever it is written: what a text before it began, or one after it continues."""

    rule: str
    value: str
    text: str
    is_begun: bool
    is_continued: bool

    @property
    def pattern(self) -> str:
        """It ends with a word where the text ended that it was found in, and begins with one where that began."""
        before = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))" if self.is_begun else ""
        return f"{before}{re.escape(self.text)}{'(?![A-Za-z0-9])' if self.is_continued else ''}"


def fingerprint(key: bytes, value: str) -> str:
    """A keyed hash of a secret, however its line breaks are written: 32 hexadecimal digits."""
    if "PRIVATE KEY" in value:
        value = _NOT_KEY.sub("", value)
    return blake2b(value.encode("utf-8", "surrogatepass"), key=key, digest_size=16).hexdigest()


class Redactor:
    """Redacts texts with one key: the same secret gets the same placeholder.

    `ignored` are fingerprints of false alarms. `known` are secrets that are redacted wherever they are written, even where no
    rule would recognise them, such as a password that was printed by itself; `parts` are those of secrets that are split over texts.
    """

    def __init__(
        self,
        find: Detector,
        key: bytes,
        *,
        strict: bool = False,
        ignored: Collection[str] = (),
        known: Iterable[tuple[str, str]] = (),
        parts: Iterable[KnownPart] = (),
    ) -> None:
        self._detector = find
        self._key = key
        self._strict = strict
        self._ignored = frozenset(ignored)
        self._known = {value: (rule, value) for rule, value in known}
        self._patterns = {value: re.escape(value) for value in self._known}
        self._find_known: Callable[[str], Iterable[re.Match[str]]] | None = None
        self._short: dict[str, tuple[str, frozenset[str]]] = {}
        self.add_parts(parts)
        self.decisions = blake2b(
            repr((sorted(self._ignored), sorted(self._known))).encode(), key=key, digest_size=8
        ).hexdigest()
        """A keyed hash of the false alarms and the known secrets."""
        self.replaced: set[str] = set()
        """The fingerprints of the secrets that were replaced; empty it to count those of another text."""

    def __call__(self, text: str, before: str = "", after: str = "") -> str:
        """Redact a text, including secrets that begin or end in the surrounding texts."""
        if len(text) + len(before) + len(after) < _SHORTEST:
            return text
        is_short = not before and not after and len(text) <= _CACHED_TEXT
        if is_short and (known := self._short.get(text)) is not None:
            self.replaced.update(known[1])
            return known[0]
        found: set[str] = set()
        shown = self._redact(text, before, after, found)
        self.replaced |= found
        if is_short:
            if len(self._short) >= _CACHED_TEXTS:
                self._short.clear()
            self._short[text] = shown, frozenset(found)
        return shown

    def add_parts(self, parts: Iterable[KnownPart]) -> None:
        """Redact parts of secrets wherever they are written, but for those of false alarms."""
        known = len(self._known)
        for part in sorted(parts):
            if part.text not in self._known and fingerprint(self._key, part.value) not in self._ignored:
                self._known[part.text] = part.rule, part.value
                self._patterns[part.text] = part.pattern
        if len(self._known) > known or self._find_known is None:
            self._find_known = _search_for(self._patterns) if self._patterns else None
            self._short.clear()

    def cut(self, text: str, places: Sequence[int]) -> list[str]:
        """The parts of a text between ascending places, redacted before they are cut.

        A secret that goes over a place has its placeholder in the first of the parts that have a piece of it.
        """
        low = max(0, places[0] - _BESIDE_KEY)
        near = text[low : places[-1] + _BESIDE_KEY]
        if not any(sign in near for sign in _KEY):
            low = max(0, places[0] - _BESIDE)
            near = text[low : places[-1] + _BESIDE]
        found = self.find(near)
        parts, done = [], 0
        for start, end in pairwise(place - low for place in places):
            inside = [one for one in found if one.start < end and start < one.end and start < end]
            # What a former part had a piece of is replaced there.
            begun = [one for one in inside if one.start < start and done > start]
            rest = max([start, *(min(one.end, end) for one in begun)])
            parts.append(self._cut(near, (one for one in inside if one not in begun), rest, end, self.replaced))
            done = max([done, *(one.end for one in inside)])
        return parts

    def many(self, texts: Sequence[str], before: str = "", after: str = "") -> list[str]:
        """Redact texts that follow each other, between two others; a secret that is split over several goes from all of them.

        Where texts meet only what has the form of a secret counts: a word at the end of one says nothing about the next.
        """
        shown: list[str] = []
        batch: list[str] = []
        size = 0
        for number, text in enumerate(texts):
            batch.append(text)
            size += len(text)
            if size > _BATCH:
                following = texts[number + 1] if number + 1 < len(texts) else after
                shown += self._batch(batch, before, following[:_AROUND])
                before, batch, size = text[-_AROUND:], [], 0
        return shown + self._batch(batch, before, after) if batch else shown

    def _batch(self, texts: Sequence[str], before: str, after: str) -> list[str]:
        if len(texts) == 1 and not before and not after:
            return [self(texts[0])]
        joined = "\n".join([before, *texts, after])
        found = self.find(joined)
        if not found and not any(len(text) == PREVIEW for text in texts):
            return list(texts)
        shown = []
        low = len(before) + 1
        for text in texts:
            high = low + len(text)
            inside = [one for one in found if one.start < high and low < one.end]
            if len(text) == PREVIEW:
                inside += _cut_off(joined[:high], inside)
            if any(one.confidence != "high" and (one.start < low or high < one.end) for one in inside):
                shown.append(self(text))
            elif inside:
                shown.append(self._cut(joined, inside, low, high, self.replaced))
            else:
                shown.append(text)
            low = high + 1
        return shown

    def find(self, text: str) -> list[Secret]:
        """The secrets that are redacted in a text."""
        found = self._detector.find(text, strict=self._strict)
        if len(text) == PREVIEW:
            found += _cut_off(text, found)
        if self._ignored:
            found = [secret for secret in found if fingerprint(self._key, secret.value) not in self._ignored]
        return found if self._find_known is None else self._with_known(self._find_known, text, found)

    def _with_known(
        self, search: Callable[[str], Iterable[re.Match[str]]], text: str, found: list[Secret]
    ) -> list[Secret]:
        extra = []
        for match in search(text):
            rule, value = self._known[match[0]]
            inside = [one for one in found if one.start < match.end() and match.start() < one.end]
            if all(match.start() <= one.start and one.end <= match.end() for one in inside):
                found = [one for one in found if one not in inside]  # the beginning of a token looks like a whole one
                extra.append(Secret(rule, *match.span(), value, "high"))
        return sorted([*found, *extra], key=lambda secret: secret.start) if extra else found

    def _redact(self, text: str, before: str, after: str, replaced: set[str]) -> str:
        joined = f"{before}\n{text}\n{after}" if before or after else text
        low = len(before) + 1 if before or after else 0
        high = low + len(text)
        return self._cut(joined, found, low, high, replaced) if (found := self.find(joined)) else text

    def _cut(self, joined: str, found: Iterable[Secret], low: int, high: int, replaced: set[str]) -> str:
        """A part of a text with placeholders for the secrets in it, whose fingerprints are added to `replaced`."""
        pieces, done = [], low
        for secret in found:
            start, end = max(secret.start, low), min(secret.end, high)
            if start < end:
                secret_id = fingerprint(self._key, secret.value)
                pieces += [joined[done:start], placeholder(secret.rule, secret_id)]
                replaced.add(secret_id)
                done = end
        return "".join([*pieces, joined[done:high]])


def _cut_off(text: str, found: Iterable[Secret]) -> list[Secret]:
    """The beginning of a token with which a text that may have been cut ends."""
    begun = cut_token(text)
    return [] if begun is None or any(one.end > begun.start for one in found) else [begun]


def _search_for(patterns: Mapping[str, str]) -> Callable[[str], Iterable[re.Match[str]]]:
    """A search for any of some texts, each with its pattern, the longest first."""
    ordered = sorted(patterns, key=len, reverse=True)
    exact = re.compile("|".join(patterns[value] for value in ordered))
    try:
        re2 = import_module("re2")
    except ImportError:
        return exact.finditer
    options = re2.Options()
    options.max_mem = 64 << 20
    is_in = re2.compile("|".join(map(re.escape, ordered)), options).search  # linear, however many there are
    return lambda text: exact.finditer(text) if is_in(text.encode("utf-8", "replace")) else ()


_default: Callable[[str, str, str], str] | None = None


@cache
def _own() -> Redactor:
    """Without a store, placeholders are stable within a process only."""
    return Redactor(detector(), secrets.token_bytes(16))


def use(redactor: Callable[[str, str, str], str] | None) -> None:
    """Set the redactor of `redact`: that of the store that this process serves."""
    global _default  # noqa: PLW0603 - a process serves one store
    _default = redactor


def redact(text: str, before: str = "", after: str = "") -> str:
    """Redact a text as the store's redactor does, or with the rules alone if no store is open."""
    return (_default or _own())(text, before, after)
