"""Texts that are hard for a pattern, made of its own literals and classes."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from re import _constants as code
from re import _parser as parser
from typing import Any

_SPOILERS = "\x00!\n\n"
_PROBES = "a0 \n\t-_<>/\"'`*[]{}()#:.,;=\x1b\\Zé語😀"


def texts(pattern: re.Pattern[Any], size: int, times: int = 1) -> Iterator[Any]:
    """Texts of about so many characters, or that many times as long, in which something stands again and again."""
    for before, unit, after in _kinds(pattern):
        text = before + unit * (max(3, size // len(unit)) * times) + after
        yield text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text


@functools.lru_cache(maxsize=1)
def _kinds(pattern: re.Pattern[Any]) -> list[tuple[str, str, str]]:
    tree = parser.parse(pattern.pattern, pattern.flags)
    pieces = list(dict.fromkeys(itertools.chain.from_iterable(_paths(tree))))
    heads = {"".join(path[:end]) for path in _sequences(tree) for end in range(len(path) + 1)}
    # What may begin a match again and again, and what may go on in more than one way behind such a beginning.
    kinds = [("", head, tail) for head in heads if head for tail in ("", _SPOILERS)]
    few = sorted(heads, key=lambda head: (len(head), head))[:: max(1, len(heads) // 5)]
    pairs = [one + other for one, other in itertools.permutations(pieces[:5], 2)]
    kinds += [(head, unit, tail) for unit in (*pieces, *pairs) for head in few for tail in ("", _SPOILERS)]
    return sorted(set(kinds))


def _sequences(tree: Any, depth: int = 0) -> list[list[str]]:
    """Examples of what the tree matches, piece by piece: one for each alternative."""
    ways: list[list[str]] = [[]]
    for item in tree:
        more = _examples(item, depth)
        ways = [way + example for way in ways for example in more][:24]
    return ways


def _examples(item: Any, depth: int) -> list[list[str]]:
    op, argument = item
    if op in (code.LITERAL, code.NOT_LITERAL, code.ANY, code.IN):
        return [[character] for character in _characters(item)[:2]]
    if op is code.BRANCH:
        return [way for branch in argument[1] for way in _sequences(branch, depth + 1)][:8]
    if op is code.SUBPATTERN:
        return _sequences(argument[3], depth + 1)[:8]
    if op is code.ATOMIC_GROUP:
        return _sequences(argument, depth + 1)[:8]
    if op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
        least, _, inner = argument
        once = _sequences(inner, depth + 1)[:4]
        times = min(max(least, 1), 64)
        return [["".join(way)] * 1 if times == 1 else ["".join(way) * times] for way in once]
    if op is code.GROUPREF:
        return [["x"]]
    return [[]]


def _paths(tree: Any) -> Iterator[list[str]]:
    """The single pieces that occur anywhere in the tree."""
    for op, argument in tree:
        if op in (code.LITERAL, code.NOT_LITERAL, code.ANY, code.IN):
            yield _characters((op, argument))[:3]
        elif op is code.BRANCH:
            for branch in argument[1]:
                yield from _paths(branch)
        elif op is code.SUBPATTERN:
            yield from _paths(argument[3])
        elif op is code.ATOMIC_GROUP:
            yield from _paths(argument)
        elif op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            yield from _paths(argument[2])
        elif op in (code.ASSERT, code.ASSERT_NOT):
            yield from _paths(argument[1])


def _characters(item: Any) -> list[str]:
    """Some that an item matches."""
    op, argument = item
    if op is code.LITERAL:
        return [chr(argument)]
    if op is code.ANY:
        return ["x", " "]
    if op is code.NOT_LITERAL:
        return [probe for probe in _PROBES if ord(probe) != argument]
    members = []
    negated = False
    for kind, value in argument:
        if kind is code.NEGATE:
            negated = True
        elif kind is code.LITERAL:
            members.append(chr(value))
        elif kind is code.RANGE:
            members.append(chr(value[0]))
        else:
            members += [probe for probe in _PROBES if re.match(_CATEGORY[value], probe)]
    if not negated:
        return members
    inside = [kind for kind in argument if kind[0] is not code.NEGATE]
    return [probe for probe in _PROBES if not _has(inside, probe)] or ["\x7f"]


_CATEGORY = {
    code.CATEGORY_DIGIT: r"\d", code.CATEGORY_NOT_DIGIT: r"\D", code.CATEGORY_SPACE: r"\s", code.CATEGORY_NOT_SPACE: r"\S",
    code.CATEGORY_WORD: r"\w", code.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _has(members: list[Any], probe: str) -> bool:
    return any(
        (kind is code.LITERAL and value == ord(probe))
        or (kind is code.RANGE and value[0] <= ord(probe) <= value[1])
        or (kind is code.CATEGORY and re.match(_CATEGORY[value], probe) is not None)
        for kind, value in members
    )
