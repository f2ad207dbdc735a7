"""Translates a regular expression of Python's syntax into one that RE2 and `re` read alike, for text without line breaks.

`re` itself checks the pattern, so the translation needs only its pieces, not its grammar. It replaces what RE2 writes or
reads differently (escapes, classes, `{,n}`, flags, verbose layout); the rest of the syntax RE2 either shares or rejects.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable
from typing import NamedTuple

from hansard.errors import UsageError

_POSIX = re.compile(r"\[:\^?[a-z]+:\]")
_SET = r"(?P<set>\[\^?\]?(?:\\.|[^\]\\])*+\]?)"
_ESCAPE = r"(?P<escape>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^{}]*+\}|0[0-7]{0,2}|[1-3][0-7]{2}|.))"
_COMMENT = r"(?P<comment>\(\?#[^)]*+\)?)"
_ESCAPES = re.compile(_ESCAPE, re.DOTALL)
_LAYOUT = re.compile(rf"({_SET}|{_ESCAPE}|{_COMMENT})|\s|#[^\n]*+", re.DOTALL)  # of verbose patterns
_TOKENS = re.compile(
    rf"{_SET}|{_ESCAPE}|{_COMMENT}|(?P<flags>\(\?[aiLmsux-]++[:)])|(?P<count>\{{\d*+(?:,\d*+)?\}})|.", re.DOTALL
)
# In ASCII only. The classes of RE2 would do but for \s, which lacks \v there.
_CLASSES = {r"\d": "0-9", r"\w": "0-9A-Z_a-z", r"\s": r"\t-\r "}
_NEGATED = {r"\D": r"\x00-/:-", r"\W": r"\x00-/:-@\[-\^`{-", r"\S": r"\x00-\x08\x0e-\x1f!-"}
# Ignoring case, the long s and the Kelvin sign are an s and a k, which \W must not match.
_LAST = {r"\D": "\U0010ffff", r"\W": "\u017e\u0180-\u2129\u212b-\U0010ffff", r"\S": "\U0010ffff"}
_ANCHORS = {r"\A": "^", r"\Z": "$", r"\z": "$"}
_LINE_BREAKS = {"\n", "\\\n", r"\n", r"\x0a"}
_ASCII_END = 0x7F


class Syntax(NamedTuple):
    """A translated pattern; the sets and classes of a text pattern match characters, otherwise bytes."""

    source: str
    ignore_case: bool
    is_text: bool


def translate(pattern: str | bytes, *, fixed: bool, ignore_case: bool) -> Syntax:
    """Check and translate a pattern; an invalid one is a UsageError that points at the position."""
    wanted = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    if not fixed and (posix := _POSIX.search(wanted)) is not None:
        raise _invalid(rf"{posix[0]} is not supported: use \w, \d, \s or a range like a-z", wanted, posix.start())
    wanted = re.escape(wanted) if fixed else wanted
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about sets that may get another meaning in a later Python
            flags = re.compile(
                wanted if isinstance(pattern, str) else wanted.encode("latin-1"),
                re.IGNORECASE if ignore_case else re.NOFLAG,
            ).flags
    except re.error as error:
        raise _invalid(f"invalid regular expression: {error.msg}", wanted, error.pos or 0) from None
    except (RecursionError, OverflowError, ValueError) as error:
        raise UsageError(f"unsupported regular expression: {error}") from None
    literal = _ESCAPES.sub(lambda escape: _literal(escape[0], is_text=True), wanted)
    is_text = isinstance(pattern, str) and not literal.isascii()
    if flags & re.VERBOSE:
        wanted = _LAYOUT.sub(lambda found: found[1] or "", wanted)
    source = _TOKENS.sub(_translator(is_text=is_text), wanted)
    return Syntax(source, bool(flags & re.IGNORECASE), is_text)


def _invalid(problem: str, pattern: str, position: int) -> UsageError:
    line = "".join(character if character.isprintable() else " " for character in pattern)
    begin = max(0, position - 60)
    return UsageError(f"{problem}\n  {line[begin : begin + 100]}\n  {' ' * (position - begin)}^")


def _translator(*, is_text: bool) -> Callable[[re.Match[str]], str]:
    def members(escape: str) -> str | None:
        if escape in _NEGATED:
            return _NEGATED[escape] + (_LAST[escape] if is_text else r"\xff")
        return _CLASSES.get(escape)

    def in_set(found: re.Match[str]) -> str:
        escape = found[0]
        return members(escape) or (r"\x08" if escape == r"\b" else _literal(escape, is_text=is_text))

    def translated(found: re.Match[str]) -> str:
        piece = found[0]
        if found["set"]:
            return piece[0] + _ESCAPES.sub(in_set, piece[1:])
        if found["comment"]:
            return ""
        if found["flags"]:
            # Those of the whole pattern are flags of what `re` compiled; within a line only i makes a difference.
            return "" if piece.endswith(")") else re.sub("[aLmsu]", "", piece).replace("-:", ":")
        if found["escape"]:
            if (inside := members(piece)) is not None:
                return f"[{inside}]"
            piece = _ANCHORS.get(piece) or _literal(piece, is_text=is_text)
        if piece in _LINE_BREAKS:
            raise UsageError(
                "a match never spans lines, so a pattern with a line break finds nothing; where a message has"
                r" one, the record has a backslash and an n: look for \\n"
            )
        return piece.replace("{,", "{0,") if found["count"] else piece

    return translated


def _code(escape: str) -> int | None:
    """The code point that an escape gives by number or name."""
    if escape[1] in "xuU":
        return int("0x" + escape[2:], 0)
    if escape[1] == "N":
        return ord(unicodedata.lookup(escape[3:-1]))
    return int(escape[1:], 8) if escape[1] == "0" or len(escape) == len(r"\377") else None


def _literal(escape: str, *, is_text: bool) -> str:
    """An escape as RE2 reads it; characters beyond ASCII become literal, since by number they would be bytes."""
    code = _code(escape)
    return escape if code is None else chr(code) if is_text and code > _ASCII_END else f"\\x{code:02x}"


def ascii_boundaries(source: str) -> str:
    r"""The source of a text pattern for `re`, where \b and \B know other letters than those of ASCII."""
    return _TOKENS.sub(lambda found: f"(?a:{found[0]})" if found[0] in {r"\b", r"\B"} else found[0], source)


def required_literal(source: str) -> str:
    """The longest literal, as a pattern, that every match of a translated pattern contains; "" if none is known."""
    best: list[str] = []
    run: list[str] = []
    depth = 0
    for found in _TOKENS.finditer(source + "$"):
        piece = found[0]
        if piece == "|" and not depth:
            return ""
        depth += (piece[0] == "(") - (piece == ")")
        is_escaped = len(piece) > 1 and piece[0] == "\\" and (piece[1] == "x" or not piece[1].isalnum())
        if not depth and (is_escaped or (len(piece) == 1 and piece not in ".^$*+?{})")):
            run.append(piece)
            continue
        if piece in {"*", "?"} or found["count"]:
            del run[-1:]
        best, run = max(best, run, key=len), []
    return "".join(best)
