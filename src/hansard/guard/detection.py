"""Find secrets in text: the kept rules where they are installed, our own always, on the text as it is and as a decoder would read it.

Our rules see the text as it is, then decoded: without escapes and entities, with string literals joined, and with base64 and hexadecimal
runs decoded. Rules for tokens, which have a distinctive prefix, also see it with line breaks removed. The kept rules see it decoded.
What programs wrote for a terminal is searched twice: as it is, and without control sequences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from hansard.guard.decoding import (
    View,
    around_runs,
    decode_runs,
    find_runs,
    fold,
    join_lines,
    unescape,
    without_sequences,
)
from hansard.guard.kept_rules import KeptRules, kept_version, load_kept_rules
from hansard.guard.plausible import is_example
from hansard.guard.prefilter import make_prefilter
from hansard.guard.rules import RANDOM_RUN, RULES, STRICT_RULES, Confidence, Rule, is_unknown_key
from hansard.guard.values import Value
from hansard.model.placeholders import PLACEHOLDER

VERSION = 5
"""Raised when the same text may give other secrets: findings are made again."""


class Secret(NamedTuple):
    """A secret that was found: the rule that matched, where, and the secret itself, decoded."""

    rule: str
    start: int
    end: int
    value: str
    confidence: Confidence


def _by_first_letters(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """Rules by the first two characters of their words."""
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        for letters in sorted({word[:2] for word in rule.words}):
            found.setdefault(letters, []).append(rule)
    return found


def _any_word(words: Iterable[str]) -> str:
    """A pattern for the first letter of any of these words; matches do not hide overlapping words."""
    rest: dict[str, list[str]] = {}
    for word in words:
        rest.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"{re.escape(letter)}(?={'|'.join(some)})" for letter, some in rest.items())


_OTHER_RULES = tuple(rule for rule in RULES if not rule.is_token)
_TOKEN_RULES = _by_first_letters(rule for rule in RULES if rule.is_token)
_TOKEN_WORDS = re.compile(_any_word(sorted({word for rule in RULES if rule.is_token for word in rule.words})))
# How tokens begin: a word with a sign at its end or soon after it, or one that is long enough.
_TOKEN_BEGUN = re.compile(
    "(?i)(?:"
    + "|".join(
        re.escape(word) if len(word) > 3 or not word[-1].isalnum() else f"{re.escape(word)}[a-z0-9]{{0,6}}[-_.]"
        for word in sorted({word for rule in RULES if rule.is_token for word in rule.words}, key=len, reverse=True)
    )
    + "|eyj)"
)
_LAST_RUN = re.compile(r"(?<![A-Za-z0-9_.=+/-])[A-Za-z0-9_.=+/-]{8,}\Z")
_ORDER = {rule.name: place for place, rule in enumerate((*RULES, *STRICT_RULES))}
_DEPTH = 3  # levels of nested encodings
_BEFORE_RUN = 24  # characters of a prefix outside the run: hooks.slack.com, SharedAccessKey=
_LONGEST = 4_000  # characters of a match that begins before its word
_ESCAPES = (("\\n", " \n"), ("\\r", " \r"), ("\\t", " \t"), ('\\"', ' "'), ("\\'", " '"), ("\\\\", " \\"))
_BESIDE = 8  # characters that a rule may take beside a secret that has a form of its own
_STRING_END = re.compile(r"\"\s*+[}:]")  # in JSON: what follows is another text
_BLOB = re.compile(r"[A-Za-z0-9+/_-]{49,}[A-Za-z0-9+_-]\Z")


class Detector:
    """Finds secrets; `kept` are the kept rules, or None."""

    def __init__(self, kept: KeptRules | None) -> None:
        self._kept = kept
        self._may_have = make_prefilter()

    def find(self, text: str, *, strict: bool = False) -> list[Secret]:
        """Every secret in a text, in order; where several rules overlap, the most specific one names it.

        With `strict` also what is only random, or only named like a secret.
        """
        if len(text) < 8:
            return []
        found = self._find_once(text, strict=strict)
        if (shown := without_sequences(text)) is not None:
            found += [
                secret._replace(start=start, end=end)
                for secret in self._find_once(shown.text, strict=strict)
                for start, end in (shown.span(secret.start, secret.end),)
            ]
        return _without_overlaps(text, found) if found else found

    def _find_once(self, text: str, *, strict: bool) -> list[Secret]:
        if strict or self._may_have is None or self._may_have(text.encode("utf-8", "surrogatepass")):
            return list(self._find(text, _DEPTH, strict=strict))
        if self._kept is None:
            return []
        return [
            secret for secret in self._find_kept(self._kept, _unquote(text)) if not _is_inside_blob(text, secret.start)
        ]

    def _find(self, text: str, depth: int, *, strict: bool) -> Iterator[Secret]:
        layers = _Layers(text, depth)
        for secret in self._find_here(layers, strict=strict):
            if secret.confidence != "high" or not _is_inside_blob(text, secret.start):
                yield secret
        for decoded, source in layers.decodings() if depth else ():
            for secret in self._find(decoded.text, depth - 1, strict=strict):
                start, end = source(*decoded.span(secret.start, secret.end))
                yield secret._replace(start=start, end=end)

    def _find_here(self, layers: _Layers, *, strict: bool) -> Iterator[Secret]:
        for rule in (*_OTHER_RULES, *STRICT_RULES) if strict else _OTHER_RULES:
            if places := layers.occurrences(rule):
                yield from layers.matches(rule, places)
        if not layers.runs:
            return
        for rule, places in layers.token_places().items():
            yield from layers.matches(rule, places)
        if self._kept is not None:
            for secret in self._find_kept(self._kept, layers.decoded):
                start, end = layers.source_of_decoded(secret.start, secret.end)
                yield secret._replace(start=start, end=end)
        if strict:
            for found in RANDOM_RUN.finditer(layers.joined):
                if is_unknown_key(found[0]):
                    yield Secret("random", *layers.source(*found.span()), found[0], "low")

    def _find_kept(self, kept: KeptRules, text: str) -> Iterator[Secret]:
        for name, confidence, start, end in kept.find(text):
            value = text[start:end]
            if not is_example(value) and not (value.startswith("-----") and _STRING_END.search(value)):
                yield Secret(name, start, end, value, confidence)


@cache
def detector() -> Detector:
    """The detector of this process, with the kept rules if they are installed."""
    return Detector(load_kept_rules())


def rules_version() -> str:
    """A version of everything that findings depend on beside the text."""
    kept = kept_version()
    return f"{VERSION}" if kept is None else f"{VERSION}+kingfisher-{kept}"


def cut_token(text: str) -> Secret | None:
    """A token that begins near the end of a text and was cut off with it: its first characters alone, which no rule accepts."""
    run = _LAST_RUN.search(text)
    found = None if run is None else _TOKEN_BEGUN.match(run[0])
    if run is None or found is None:
        return None
    rest = run[0][found.end() :]
    is_random = (rest != rest.lower() and rest != rest.upper()) or sum(map(str.isdigit, rest)) > 1
    return Secret("token", run.start(), len(text), run[0], "high") if is_random else None


class _Layers:
    """A text as it is, unescaped once or more, and then without line breaks.

    Words are searched in the last layer only: decoding and joining can complete a word but never remove one.
    """

    def __init__(self, text: str, depth: int) -> None:
        self._texts = [fold(text)]
        self._views: list[View | None] = []  # from each layer back to the previous one; None: places are the same
        while len(self._views) < depth and (view := unescape(self._texts[-1])) is not None:
            self._views.append(view)
            self._texts.append(view.text)
        self._lines = join_lines(self._texts[-1])
        self.joined = self._texts[-1] if self._lines is None else self._lines.text
        self.runs = find_runs(self.joined)
        self._lowered = _lower(self.joined)
        self._places: dict[str, list[int]] = {}
        self._last = len(self._views)
        self.decoded = _unquote(self._texts[-1])
        if self.decoded is not self._texts[-1]:
            self._views.append(None)
            self._texts.append(self.decoded)

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of the joined text back to the original text."""
        if self._lines is not None:
            start, end = self._lines.span(start, end)
        return self._source(self._last, start, end)

    def source_of_decoded(self, start: int, end: int) -> tuple[int, int]:
        return self._source(self._last, start, end)

    def _source(self, layer: int, start: int, end: int) -> tuple[int, int]:
        for view in reversed(self._views[:layer]):
            if view is not None:
                start, end = view.span(start, end)
        return start, end

    def decodings(self) -> Iterator[tuple[View, Callable[[int, int], tuple[int, int]]]]:
        """Decoded runs, and how they lead back to the original text: of the joined lines, and of the lines by themselves.

        A run that ends with its line may be followed by a word on the next one.
        """
        if self.runs and (view := decode_runs(self.joined, self.runs)) is not None:
            yield view, self.source
            unjoined = self._texts[self._last]
            if self._lines is not None and (view := decode_runs(unjoined, find_runs(unjoined))) is not None:
                yield view, self.source_of_decoded

    def occurrences(self, rule: Rule) -> list[int]:
        """The places of a rule's words in the joined text, in order."""
        places = [place for word in rule.words for place in self._places_of(word)]
        return sorted(places) if len(rule.words) > 1 and places else places

    def _places_of(self, word: str) -> list[int]:
        if (places := self._places.get(word)) is None:
            places = self._places[word] = []
            find = self._lowered.find
            place = find(word)
            while place >= 0:
                places.append(place)
                place = find(word, place + 1)
        return places

    def token_places(self) -> dict[Rule, list[int]]:
        """The places of token words in a run or right before it, in order."""
        view = around_runs(self._lowered, self.runs, _BEFORE_RUN)
        places: dict[Rule, list[int]] = {}
        for found in _TOKEN_WORDS.finditer(view.text):
            place = found.start()
            for rule in _TOKEN_RULES[view.text[place : place + 2]]:
                places.setdefault(rule, []).append(view.start(place))
        return places

    def matches(self, rule: Rule, places: list[int]) -> Iterator[Secret]:
        """Secrets that a rule finds at these places, in any layer."""
        done = [0] * len(self._texts)
        done_joined = 0
        # Escapes say where quoted values end, so those are not replaced before.
        deepest = len(self._texts) - 1 if rule.value is None else self._last
        group = 1 if rule.pattern.groups else 0
        for joined_place in places:
            place = joined_place if self._lines is None else self._lines.start(joined_place)
            if self._lines is not None and rule.is_token and joined_place >= done_joined:
                match = self._split_token(rule, self._lines, joined_place)
                if match is not None:
                    done_joined = match.end()
                if match is not None and (rule.accepts is None or rule.accepts(match[group])):
                    yield Secret(rule.name, *self.source(*match.span(group)), match[group], rule.confidence)
            found: list[Secret] = []
            for layer in range(deepest, -1, -1):
                text = self._texts[layer]
                match = _match(rule, text, place) if place >= done[layer] else None
                if match is not None:
                    value = _value(rule, match, group)
                    done[layer] = match.end() if value is None else max(match.end(), value.end)
                    if value is not None:
                        start, end = self._source(layer, value.start, value.end)
                        found.append(Secret(rule.name, start, end, value.text, rule.confidence))
                if layer and (view := self._views[layer - 1]) is not None:
                    place = view.start(place)
            yield from found if rule.value is None else _whole(found)

    def _split_token(self, rule: Rule, lines: View, place: int) -> re.Match[str] | None:
        """Match a token in the joined text, including later lines only as far as they look like part of it."""
        match = _match(rule, self.joined, place)
        breaks = [] if match is None else lines.breaks(place, match.end())
        if match is None or not breaks:
            return match
        end = breaks[0]
        for start, stop in pairwise([*breaks, match.end()]):
            if not continues_token(self.joined[start:stop], self.joined[stop : stop + 1]):
                break
            end = stop
        return _match(rule, self.joined, place, end) if end > breaks[0] else None


def _match(rule: Rule, text: str, place: int, end: int | None = None) -> re.Match[str] | None:
    """Match a rule whose word is at a place."""
    if not rule.before:
        return rule.pattern.match(text, place) if end is None else rule.pattern.match(text, place, end)
    match = rule.pattern.search(
        text, max(0, place - rule.before), min(len(text) if end is None else end, place + _LONGEST)
    )
    return match if match is not None and match.start() <= place < match.end() else None


def _whole(found: list[Secret]) -> Iterator[Secret]:
    """Without what is a part of another: a quote that was decoded ends a value too early."""
    for one in found:
        if not any(
            other.start <= one.start and one.end <= other.end and other.end - other.start > one.end - one.start
            for other in found
        ):
            yield one


def _value(rule: Rule, match: re.Match[str], group: int) -> Value | None:
    """The secret of a match, if it is one."""
    if rule.value is not None:
        return rule.value(match)
    return Value(*match.span(group), match[group]) if rule.accepts is None or rule.accepts(match[group]) else None


def continues_token(line: str, after: str) -> bool:
    """Whether the beginning of a line looks like the rest of a random token rather than a word or a variable name."""
    has_both_cases = not line.islower() and not line.isupper() and not line[1:].islower()
    has_digit = any(character.isdigit() for character in line)
    has_letter = any(character.isalpha() for character in line)
    return after not in ("=", ":", "(") and has_letter and (has_both_cases or has_digit)


def _is_inside_blob(text: str, start: int) -> bool:
    """Whether a token begins inside of a long random run, such as an encrypted or signed message: it is there by chance."""
    run = _BLOB.search(text, max(0, start - 60), start) if start >= 50 else None
    return run is not None and all(sum(map(test, run[0])) > 3 for test in (str.isdigit, str.islower, str.isupper))


def _unquote(text: str) -> str:
    """Decode line breaks and quotes as JSON writes them, at any depth; the length stays the same."""
    if "\\" in text:
        for escape, plain in _ESCAPES:
            text = text.replace(escape, plain)
    return text


def _lower(text: str) -> str:
    """Lowercase a text without changing its length."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)  # a few letters would become two


def _rank(secret: Secret, length: int) -> tuple[int, bool, bool, int]:
    """Choose which of two overlapping secrets, together of this length, names both.

    Forms before words, the whole before a part of it, kept rules before ours, the first rule before others.
    """
    own = _ORDER.get(secret.rule)
    is_part = secret.end - secret.start < length - (_BESIDE if secret.confidence == "high" else 0)
    return ("high", "medium", "low").index(secret.confidence), is_part, own is not None, own or 0


def _without_overlaps(text: str, found: list[Secret]) -> list[Secret]:
    merged: list[Secret] = []
    shown = [match.span() for match in PLACEHOLDER.finditer(text)]
    for one in sorted(found, key=lambda secret: (secret.start, secret.end)):
        if any(start < one.end and one.start < end for start, end in shown):
            continue  # redacted before
        last = merged[-1] if merged else None
        if last is None or one.start >= last.end:
            merged.append(one)
        else:
            best = min(
                last, one, key=lambda secret: (*_rank(secret, max(last.end, one.end) - last.start), secret.start)
            )
            merged[-1] = best._replace(start=last.start, end=max(last.end, one.end))
    return merged
