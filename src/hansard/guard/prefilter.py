"""A fast test whether our rules could find anything in a text: most texts need no closer look.

RE2 searches for all rules at once, without what it does not know: lookarounds and possessive quantifiers only ever reject.
What decoding could complete to a secret is searched for too. Without RE2 every text is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module

from hansard.guard.rules import RULES, Rule

_TOKEN = r"[A-Za-z0-9_+/=:.-]"  # noqa: S105 - characters that secrets are made of
_ENCODED = (
    # Printable ASCII in base64 (fifteen bytes) and in hexadecimal (twelve).
    r"(?:[CI-Za-f][AC-HQS-Xgi-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){5}",
    r"(?:[2-7][0-9A-Fa-f]|0[9ADad]){12}",
    # Percent-encoding, entities and escapes.
    r"%[2-7][0-9A-Fa-f]|&#|&[A-Za-z]{2,8};|\\u(?:00[2-7aA]|\{|20[06]|[fF][eE][fF][fF])|\\U000|\\x[2-7]|\\0?[01][0-7][0-7]",
    # String literals that are joined.
    rf"{_TOKEN}\\*[\"'`]\s*(?:\+|\.\.?|&|\|\||<>|~|\\)?\s*[bBfFrRuU]{{0,2}}\\*[\"'`][%&\\]?{_TOKEN}",
    # Compatibility forms, and typographic hyphens within a word.
    "[\u2070-\u209c\u2100-\u214f\u2460-\u24ff\ufe4d-\ufe6b\uff01-\uff5e\U0001d400-\U0001d7ff\U0001f130-\U0001f169]",
    "[A-Za-z0-9][\u2010-\u2013\u2212][A-Za-z0-9]",
    # Invisible characters within a token.
    f"{_TOKEN}[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+{_TOKEN}",
)
_MEMORY = 64 << 20  # for RE2's automata
_SPACE = r"\s\p{Z}\x{85}\x{1c}-\x{1f}"  # what Python calls white space
_LOOKAROUND = re.compile(r"\(\?<?[=!]")
_LIMITED = re.compile(r"\{([0-9]+),[0-9]{2,}\}")
_QUANTIFIED = re.compile(r"[*+?]|\{[0-9,]+\}")


@cache
def make_prefilter() -> Callable[[bytes], object] | None:
    """A search in UTF-8 that finds something wherever our rules might; None without RE2."""
    try:
        re2 = import_module("re2")  # it has no types
    except ImportError:
        return None
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    # Three automata: together, with and without case, they would be one that is ten times as slow.
    other, encoded, token = (
        re2.compile("|".join(patterns), options).search
        for patterns in (
            relaxed(rule for rule in RULES if not rule.is_token),
            _ENCODED,
            relaxed(rule for rule in RULES if rule.is_token),
        )
    )
    return lambda data: other(data) or encoded(data) or token(_joined(data))


def _joined(data: bytes) -> bytes:
    """The lines of a text in one, for tokens that are broken over lines."""
    if b"\\" in data:
        data = data.replace(b"\\n", b"\n").replace(b"\\r", b"\n")
    if b"\r" in data:
        data = data.replace(b"\r", b"\n")
    return b"".join([line.strip(b" \t\\") for line in data.split(b"\n")]) if b"\n" in data else data


def relaxed(rules: Iterable[Rule]) -> Iterable[str]:
    """The patterns of rules for RE2; they match wherever a rule does, and in more places."""
    for rule in rules:
        flags = "(?i:" if rule.pattern.flags & re.IGNORECASE else "(?:"
        yield f"{flags}{_relax(rule.pattern.pattern.removeprefix('(?i)'))})"


def _relax(pattern: str) -> str:
    kept: list[str] = []
    place = 0
    set_start = -1  # within a set, where it begins
    while place < len(pattern):
        character = pattern[place]
        if character == "\\":
            piece = pattern[place : place + 2]
            is_negated = set_start >= 0 and pattern.startswith("[^", set_start)
            if piece == r"\s" and not is_negated:
                piece = _SPACE if set_start >= 0 else f"[{_SPACE}]"
            kept.append(piece)
            place += 2
        elif set_start >= 0:
            set_start = -1 if character == "]" else set_start
            kept.append(character)
            place += 1
        elif character == "[":
            set_start = place
            kept.append(character)
            place += 1
        elif _LOOKAROUND.match(pattern, place):
            end = _end_of_group(pattern, place)
            if pattern.startswith("(?=", place) and _is_last(pattern, end):  # what follows a match may be a part of it
                kept.append(f"(?:{_relax(pattern[place + 3 : end - 1])})")
            place = end
        elif quantifier := _QUANTIFIED.match(pattern, place):
            # Without upper limits, which make large automata.
            kept.append(_LIMITED.sub(r"{\1,}", quantifier[0]))
            place = quantifier.end()
            if pattern.startswith("+", place):  # possessive
                place += 1
        else:
            kept.append(character)
            place += 1
    return "".join(kept)


def _is_last(pattern: str, place: int) -> bool:
    """Whether nothing is matched after a place, other than by further alternatives."""
    while place < len(pattern):
        if pattern[place] == "|":
            end = place
            while end < len(pattern) and pattern[end] != ")":
                end = _end_of_group(pattern, end)
            place = end
        elif pattern[place] == ")":
            place += 1
        else:
            return False
    return True


def _end_of_group(pattern: str, place: int) -> int:
    """The end of the group, the set or the character that begins at a place."""
    depth = 0
    in_set = False
    while True:
        character = pattern[place]
        if character == "\\":
            place += 1
        elif in_set:
            in_set = character != "]"
        elif character == "[":
            in_set = True
        elif character in "()":
            depth += 1 if character == "(" else -1
        place += 1
        if not depth and not in_set:
            return place
