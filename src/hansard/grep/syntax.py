"""A regular expression as people write it, read by Python's own parser and written again for the bytes of one line.

Characters outside ASCII become their UTF-8 bytes, also in sets and with a quantifier behind them; nothing in the pattern can
match a line break; both kinds of beginnings and ends are those of a line. So a search through many lines at once finds
exactly what a search through each of them would.
"""

from __future__ import annotations

import re
import string
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hansard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

NEWLINE = 0x0A
ASCII_END = 0x7F
_HIGH = range(0x80, 0x100)
_DIGIT = frozenset(string.digits.encode())
_WORD = frozenset((string.ascii_letters + string.digits + "_").encode())
_SPACE = frozenset(b" \t\n\r\f\v")
_ALL = frozenset(range(256))
_CATEGORIES = {
    "CATEGORY_DIGIT": _DIGIT,
    "CATEGORY_NOT_DIGIT": _ALL - _DIGIT,
    "CATEGORY_WORD": _WORD,
    "CATEGORY_NOT_WORD": _ALL - _WORD,
    "CATEGORY_SPACE": _SPACE,
    "CATEGORY_NOT_SPACE": _ALL - _SPACE,
}
_PLACES = {
    "AT_BEGINNING": "^",
    "AT_BEGINNING_STRING": "^",
    "AT_END": "$",
    "AT_END_STRING": "$",
    "AT_BOUNDARY": r"\b",
    "AT_NON_BOUNDARY": r"\B",
}
_REPEATS = {"MAX_REPEAT": "", "MIN_REPEAT": "?", "POSSESSIVE_REPEAT": "+"}
_NOTHING = r"[^\x00-\xff]"
_POSIX = re.compile(r"\[:\^?[a-z]+:\]")
_MOST = 8  # literals that are worth to be told one by one


def parse(pattern: str | bytes, *, fixed: bool, ignore_case: bool) -> Any:
    """The tree of a pattern; one that makes no sense is a UsageError that points at the place."""
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    shown = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    if not fixed and (posix := _POSIX.search(shown)) is not None:
        raise _wrong(rf"{posix[0]} is not supported: use \w, \d, \s or a range like a-z", shown, posix.start())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice on sets that may mean something else one day
            wanted: Any = pattern
            if fixed:
                wanted = re.escape(wanted)
            re.compile(wanted, flags)
            # Private, and the same since Python 3.11; only the parser itself knows all of the syntax.
            return import_module("re._parser").parse(wanted, flags)
    except re.error as error:
        raise _wrong(f"invalid regular expression: {error.msg}", shown, error.pos or 0) from None
    except (RecursionError, OverflowError, ValueError) as error:
        raise UsageError(f"unsupported regular expression: {error}") from None


def _wrong(what: str, pattern: str, position: int) -> UsageError:
    line = "".join(character if character.isprintable() else " " for character in pattern)
    begin = max(0, position - 60)
    return UsageError(f"{what}\n  {line[begin : begin + 100]}\n  {' ' * (position - begin)}^")


class Writer:
    """Writes a parsed pattern for bytes, in the syntax that `re` and RE2 share as far as it goes."""

    def __init__(self, *, bytewise: bool) -> None:
        self.beyond_re2: str | None = None
        self.folds = False
        self._bytewise = bytewise

    def write(self, tree: Iterable[Any], fold: bool) -> str:
        """A sequence."""
        return "".join([self._write(str(op), value, fold) for op, value in tree])

    def _write(self, op: str, value: Any, fold: bool) -> str:
        if op == "LITERAL":
            if value == NEWLINE:
                raise UsageError(
                    "a match never goes beyond a line, so a pattern with a line break finds nothing; where a message has"
                    r" one, the record has a backslash and an n: look for \\n"
                )
            return self._set([("LITERAL", value)], fold)
        if op in {"IN", "NOT_LITERAL"}:
            items = value if op == "IN" else [("NEGATE", None), ("LITERAL", value)]
            return self._set(items, fold)
        if op == "ANY":
            return "."
        if op == "AT":
            return _PLACES[str(value)]
        if op == "BRANCH":
            return f"(?:{'|'.join([self.write(item, fold) for item in value[1]])})"
        if op in _REPEATS:
            return self._repeat(op, value, fold)
        if op == "SUBPATTERN":
            group, added, removed, inner = value
            fold = (fold or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE
            self.folds |= fold
            return f"({'' if group else '?:'}{self.write(inner, fold)})"
        return self._rare(op, value, fold)

    def _repeat(self, op: str, value: tuple[int, int, Any], fold: bool) -> str:
        least, most, inner = value
        if op == "POSSESSIVE_REPEAT":
            self.beyond_re2 = "RE2 does not support possessive quantifiers"
        count = f"{{{least},{'' if most == import_module('re._constants').MAXREPEAT else most}}}"
        count = {"{0,}": "*", "{1,}": "+", "{0,1}": "?"}.get(count, count)
        return f"(?:{self.write(inner, fold)}){count}{_REPEATS[op]}"

    def _rare(self, op: str, value: Any, fold: bool) -> str:
        self.beyond_re2 = "RE2 supports neither look-around nor backreferences"
        if op in {"ASSERT", "ASSERT_NOT"}:
            direction, inner = value
            sign = "=" if op == "ASSERT" else "!"
            return f"(?{'<' if direction < 0 else ''}{sign}{self.write(inner, fold)})"
        if op == "ATOMIC_GROUP":
            return f"(?>{self.write(value, fold)})"
        if op == "GROUPREF":
            return rf"(?{'i' if fold else ''}:\{value})"
        if op == "GROUPREF_EXISTS":
            group, yes, no = value
            return f"(?({group}){self.write(yes, fold)}{'|' + self.write(no, fold) if no is not None else ''})"
        if op == "FAILURE":
            return "(?!)"
        raise UsageError(f"the pattern uses an unsupported construct ({op.lower()})")

    # -- sets

    def _set(self, items: Sequence[Any], fold: bool) -> str:
        """One character out of several: a set of bytes, and sequences of sets for characters of several bytes."""
        singles, spans = self._members(items, fold)
        sequences = [
            "".join(_bytes(set(range(low, high + 1))) for low, high in zip(*pair, strict=True))
            for span in spans
            for pair in _utf8(*span)
        ]
        singles.discard(NEWLINE)
        if singles or not sequences:
            sequences.append(_bytes(singles))
        return sequences[0] if len(sequences) == 1 else f"(?:{'|'.join(sequences)})"

    def _members(self, items: Sequence[Any], fold: bool) -> tuple[set[int], list[tuple[int, int]]]:
        """The single bytes and the spans of characters beyond ASCII that a set stands for."""
        singles: set[int] = set()
        spans: list[tuple[int, int]] = []
        negated = False
        for op, value in items:
            name = str(op)
            if name == "NEGATE":
                negated = True
            elif name == "CATEGORY":
                singles |= _CATEGORIES[str(value)]
            else:
                low, high = (value, value) if name == "LITERAL" else value
                self._add(low, high, singles, spans)
                if fold:
                    self._add_cases(low, high, singles, spans)
        if not negated:
            return singles, spans
        if not spans:
            return set(_ALL - singles), []
        kept = set(_ALL - singles) - set(_HIGH)
        return kept, ([] if singles & set(_HIGH) else _others(spans))

    def _add(self, low: int, high: int, singles: set[int], spans: list[tuple[int, int]]) -> None:
        if self._bytewise:
            singles.update(range(low, high + 1))
            return
        if low <= ASCII_END:
            singles.update(range(low, min(high, ASCII_END) + 1))
            low = ASCII_END + 1
        if 0xDC80 <= low <= high <= 0xDCFF:
            singles.update(range(low - 0xDC00, high - 0xDC00 + 1))  # a byte that is no UTF-8, as Python passes it on
        elif low <= high:
            spans.append((low, high))

    def _add_cases(self, low: int, high: int, singles: set[int], spans: list[tuple[int, int]]) -> None:
        self.folds = True
        for code in range(low, high + 1):
            if code <= ASCII_END or self._bytewise:
                singles.update(_cases(code) if code <= ASCII_END else ())
            else:
                for other in _cases(code):
                    self._add(other, other, singles, spans)

    # -- what a match must contain

    def worded(self, tree: Any, fold: bool, *, last: bool) -> bool:
        """Whether every match begins (or ends) with a letter, a digit or an underscore."""
        items = list(tree)
        if not items:
            return False
        op, value = items[-1 if last else 0]
        name = str(op)
        if name in {"LITERAL", "IN"}:
            singles, spans = self._members([(op, value)] if name == "LITERAL" else value, fold)
            return not spans and singles <= _WORD
        if name == "SUBPATTERN":
            return self.worded(value[3], fold, last=last)
        if name in _REPEATS:
            return value[0] > 0 and self.worded(value[2], fold, last=last)
        return name == "BRANCH" and all(self.worded(item, fold, last=last) for item in value[1])

    def literals(self, tree: Any, fold: bool) -> tuple[bytes, ...]:
        """All that the pattern can match, in the order in which it is tried, where that is little; else nothing."""
        whole = [b""]
        for op, value in tree:
            name = str(op)
            parts: Sequence[bytes] = ()
            if name == "LITERAL" and (not fold or value <= ASCII_END):
                parts = (self._encoded(value),)
            elif name == "IN" and all(
                str(kind) == "LITERAL" and (not fold or code <= ASCII_END) for kind, code in value
            ):
                parts = [self._encoded(code) for _, code in value if code != NEWLINE]
            elif name == "SUBPATTERN" and not (value[1] | value[2]) & re.IGNORECASE:
                parts = self.literals(value[3], fold)
            elif name == "BRANCH":
                inner = [self.literals(item, fold) for item in value[1]]
                parts = [literal for part in inner for literal in part] if all(inner) else ()
            whole = [before + part for before in whole for part in parts]
            if not whole or len(whole) > _MOST:
                return ()
        return tuple(whole) if all(whole) else ()

    def needles(self, tree: Any, fold: bool) -> tuple[bytes, ...]:
        """Byte strings of which every match contains at least one, as long ones as can be told."""
        best: tuple[bytes, ...] = ()
        run = b""
        for op, value in [*tree, ("END", None)]:
            name = str(op)
            if name == "LITERAL" and (not fold or value <= ASCII_END):
                run += self._encoded(value)
                continue
            best, run = _better(best, (run,)), b""
            if name == "SUBPATTERN":
                inner = (fold or bool(value[1] & re.IGNORECASE)) and not value[2] & re.IGNORECASE
                best = _better(best, self.needles(value[3], inner))
            elif name in _REPEATS and value[0] > 0:
                best = _better(best, self.needles(value[2], fold))
            elif name == "ATOMIC_GROUP":
                best = _better(best, self.needles(value, fold))
            elif name == "BRANCH":
                parts = [self.needles(item, fold) for item in value[1]]
                if all(parts):
                    best = _better(best, tuple(dict.fromkeys(needle for part in parts for needle in part)))
        return best

    def _encoded(self, code: int) -> bytes:
        return bytes([code]) if self._bytewise else chr(code).encode("utf-8", "surrogateescape")


def _better(one: tuple[bytes, ...], other: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The needles that say more: the shortest of them counts."""
    return other if min(map(len, other), default=0) > min(map(len, one), default=0) else one


def _cases(code: int) -> set[int]:
    character = chr(code)
    forms = {character.lower(), character.upper()}
    forms |= {form.lower() for form in forms} | {form.upper() for form in forms}
    codes = {ord(form) for form in forms if len(form) == 1}
    return {value for value in codes if (value <= ASCII_END) == (code <= ASCII_END)}


def _others(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The characters beyond ASCII that are in none of the spans."""
    result, begin = [], ASCII_END + 1
    for low, high in sorted(spans):
        if low > begin:
            result.append((begin, low - 1))
        begin = max(begin, high + 1)
    return [*result, (begin, 0x10FFFF)] if begin <= 0x10FFFF else result


def _utf8(low: int, high: int) -> Iterator[tuple[bytes, bytes]]:
    """Spans of characters as pairs of equally long byte strings: the lowest and the highest value of each byte."""
    if low > high:
        return
    for border in (0x7FF, 0xD7FF, 0xDFFF, 0xFFFF):
        if low <= border < high:
            yield from _utf8(low, border)
            yield from _utf8(border + 1, high)
            return
    if 0xD800 <= low <= 0xDFFF:
        return  # halves of characters have no bytes
    for bits in (6, 12, 18):
        mask = (1 << bits) - 1
        if low & ~mask != high & ~mask:
            if low & mask:
                yield from _utf8(low, low | mask)
                yield from _utf8((low | mask) + 1, high)
                return
            if high & mask != mask:
                yield from _utf8(low, (high & ~mask) - 1)
                yield from _utf8(high & ~mask, high)
                return
    yield chr(low).encode(), chr(high).encode()


def byte(value: int) -> str:
    """A byte as it stands in a pattern."""
    return chr(value) if value in _WORD else f"\\x{value:02x}"


def either(value: int) -> str:
    """A letter in both cases."""
    return _bytes({value, *_cases(value)})


def _bytes(values: set[int]) -> str:
    """A set of bytes."""
    if len(values) == 1:
        return byte(*values)
    if not values:
        return _NOTHING
    spans: list[list[int]] = []
    for value in sorted(values):
        if spans and spans[-1][1] == value - 1:
            spans[-1][1] = value
        else:
            spans.append([value, value])
    return f"[{''.join(byte(low) if low == high else f'{byte(low)}-{byte(high)}' for low, high in spans)}]"
