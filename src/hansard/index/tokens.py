"""The definition of a word, for the full-text index and for searches.

Tokens are runs of letters and digits, with case and accents folded. In addition:

- an identifier is its parts: `parseLine`, `parse_line` and `HTTPServer2` are parse line, parse line, http server 2;
- a number is separate from its unit or its name: `100ms` and `sha256` are 100 ms, sha 256. Other mixtures of letters and
  digits (hashes, ids, `k8s`, `v2`) stay whole;
- in scripts written without spaces every character is a token, so any part of a text can be found;
- an emoji is a token, and so are the names of languages that only punctuation tells apart: `C++`, `C#`, `F#`.

`searchable()` prepares a text so that FTS5's unicode61 tokenizer splits it into these tokens; it runs over every indexed
text, so it works on bytes with the few operations that are fast there, and in C (`_searchable.c`) where that was built. `words()` gives
them to an index other than FTS5. `tokens()` does the same in plain Python, with the places in the original text; tests compare the three.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from msgspec import Struct

from hansard.index.native import load_native
from hansard.lazy_regex import lazy_compile

_EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff"
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\ua960-\ua97f\uac00-\ud7ff\U00020000-\U0003ffff"
)
_ACCENTED = "\u0386-\u0390\u03aa-\u03b0\u03ca-\u03ce\u1f00-\u1fff\u0401\u0451"  # Greek and Cyrillic, which unicode61 leaves alone
_PRIVATE = 0xF0000  # unicode61 treats private-use characters as letters, but not emoji
_LANGUAGE = lazy_compile(rb"(?<![A-Za-z0-9\x80-\xff])([CFcf])#(?![A-Za-z0-9])")


def _table(classes: dict[bytes, bytes]) -> bytes:
    """A table for bytes.translate that maps bytes to classes; all others to spaces."""
    table = bytearray(b" " * 256)
    for name, members in classes.items():
        for member in members:
            table[member] = name[0]
    return bytes(table)


_LOWER = bytes(range(0x61, 0x7B))
_UPPER = bytes(range(0x41, 0x5B))
_DIGITS = bytes(range(0x30, 0x3A))
# First bytes of characters that are tokens of their own, or that unicode61 does not fold.
_LEADS = bytes((*range(0xCE, 0xD2), 0xE0, 0xE1, *range(0xE3, 0xEE), 0xEF, 0xF0))
_CASES = _table({b"a": _LOWER, b"A": _UPPER, b"0": _DIGITS, b"#": b"#", b"z": _LEADS})
_LETTERS = _table({b"a": _LOWER + _UPPER, b"0": _DIGITS})
_has_dingbat = re.compile(rb"\xe2[\x98-\x9e]").search
_PIECE = 1 << 18  # characters; what is noted of every border in a text takes many times its size


_native = load_native()


def is_native() -> bool:
    return _native is not None


def searchable(text: str) -> bytes:
    """The text with spaces where FTS5 must split it."""
    return _prepared(text) if len(text) <= _PIECE else b"".join(map(_prepared, _pieces(text)))


def _prepared(text: str) -> bytes:
    found = _native(text) if _native is not None else None
    return found if found is not None else _searchable(text)


def _pieces(text: str) -> Iterator[str]:
    """A long text in pieces, split at spaces if there are any."""
    start = 0
    while len(text) - start > _PIECE:
        border = max(text.rfind(space, start, start + _PIECE) for space in " \n")
        end = border if border > start else start + _PIECE
        yield text[start:end]
        start = end
    yield text[start:]


def _searchable(text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    classes = data.translate(_CASES)
    unusual = not text.isascii() and (b"z" in classes or _has_dingbat(data))
    has_plus, has_sharp = b"++" in data, b"a#" in classes or b"A#" in classes
    if has_plus:
        data = data.replace(b"++", b" plusplus ")
    if has_sharp:
        data = _LANGUAGE.sub(rb"\1 sharp ", data)
    if unusual:
        data = _unusual().sub(_usual, data.decode()).encode()
    if unusual or has_plus or has_sharp:
        classes = data.translate(_CASES)
    return _numbers_apart(_cut(data, _camel_borders(classes)))


@cache
def _unusual() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}{_EMOJI}{_ACCENTED}]")


def _usual(found: re.Match[str]) -> str:
    character = found[0]
    plain = fold(character)
    return plain if "\u0386" <= character <= "\u0451" or "\u1f00" <= character <= "\u1fff" else f" {plain} "


def _camel_borders(classes: bytes) -> list[int]:
    """Borders before the capital of `parseLine` and `utf8Decode`, and before the last capital of `HTTPServer`."""
    borders = []
    find = classes.find
    for border in (b"aA", b"0Aa", b"AAaa"):
        at = find(border)
        while at >= 0:
            borders.append(at + 1)
            at = find(border, at + 1)
    return borders


def _numbers_apart(data: bytes) -> bytes:
    """Split `sha256` and `100ms`: two or more letters and then digits, or digits and then letters."""
    classes = data.translate(_LETTERS)
    borders = []
    find = classes.find
    for border in (b"a0", b"0a"):
        at = find(border)
        while at >= 0:
            start = classes.rfind(b" ", 0, at) + 1
            end = find(b" ", at)
            word = classes[start : end if end >= 0 else len(classes)]
            if word.lstrip(border[:1]).strip(border[1:]) == b"" and (border == b"0a" or at > start):
                borders.append(at + 1)
            if end < 0:
                break
            at = find(border, end)
    return _cut(data, borders)


def _cut(data: bytes, borders: list[int]) -> bytes:
    if not borders:
        return data
    borders.sort()
    pieces = []
    last = 0
    for border in borders:
        pieces.append(data[last:border])
        last = border
    pieces.append(data[last:])
    return b" ".join(pieces)


def words(text: str) -> list[str]:
    """The tokens of a text, as FTS5 cuts it."""
    cut, reason = _fts5()
    found: list[str] = cut(searchable(text), reason, None, include_offsets=False, include_colocated=False)
    return found


@cache
def _fts5() -> tuple[Any, int]:
    import apsw

    # As in text.sql.
    cut = apsw.Connection(":memory:").fts5_tokenizer("unicode61", ["remove_diacritics", "2"])
    return cut, apsw.FTS5_TOKENIZE_DOCUMENT


class Token(Struct, frozen=True):
    """A token and its position in the text."""

    text: str
    start: int
    end: int


_MARKS = "\u0300-\u036f"
_PLAIN_WORD = lazy_compile(r"\+\+|(?<![A-Za-z0-9])[CFcf]#(?![A-Za-z0-9])|[A-Za-z0-9]+")


@cache
def _word() -> re.Pattern[str]:
    """Words in any script; compiling this takes milliseconds, and most texts do not need it."""
    return re.compile(
        rf"[{_EMOJI}]|\+\+|(?<![A-Za-z0-9\x80-\U0010ffff])[CFcf]#(?![A-Za-z0-9])|[{_UNSPACED}]"
        rf"|(?:(?![{_UNSPACED}{_EMOJI}])[^\W_][{_MARKS}]*+)++"
    )


_CAMEL = lazy_compile(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z][a-z])")
_NUMBERED = lazy_compile(r"(?<![A-Za-z0-9])(?:([A-Za-z]{2,})[0-9]+|([0-9]+)[A-Za-z]+)(?![A-Za-z0-9])")


def tokens(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """The tokens of a text, or of a part of it, with their places."""
    found: list[Token] = []
    pattern = _PLAIN_WORD if text.isascii() else _word()
    for match in pattern.finditer(text, start, len(text) if end is None else end):
        word = match[0]
        place = match.start()
        if word == "++":
            found.append(Token("plusplus", place, place + 2))
        elif word[-1] == "#":
            found.append(Token(word[0].lower(), place, place + 1))
            found.append(Token("sharp", place + 1, place + 2))
        elif word.islower() and word.isalpha():
            found.append(Token(fold(word), place, match.end()))
        else:
            for piece in _CAMEL.split(word):
                found += _parts(piece, place)
                place += len(piece)
    return found


def _parts(word: str, place: int) -> list[Token]:
    borders = [0, len(word)]
    if not word.isalpha():
        borders[1:1] = [numbered.start() + len(numbered[1] or numbered[2]) for numbered in _NUMBERED.finditer(word)]
    found = []
    for first, last in pairwise(borders):
        text = fold(word[first:last])
        if text:
            found.append(Token(text, place + first, place + last))
    return found


def fold(word: str) -> str:
    """A word without case and accents, as the index knows it; empty for a character that belongs to no word."""
    if word.isascii():
        return word.lower()
    if len(word) == 1:
        return _folded(word)
    return "".join(map(_folded, word))


def fold_text(text: str) -> str:
    """A text without case and accents; signs and spaces stay."""
    return "".join(fold(sign) or ("" if unicodedata.combining(sign) else sign) for sign in text)


def _folded(character: str) -> str:
    known = _FOLDED.get(character)
    if known is None:
        known = _FOLDED[character] = _fold_one(character)
    return known


_FOLDED: dict[str, str] = {"\u00b5": "\u03bc", "\u0130": "i", "\u03c2": "\u03c3"}


def _fold_one(character: str) -> str:
    code = ord(character)
    if 0x2600 <= code <= 0x27BF or 0x1F000 <= code <= 0x1FAFF:
        return chr(_PRIVATE + (code & 0xFFFF))
    if not character.isalnum():
        return ""
    plain = character.lower()
    base = unicodedata.normalize("NFD", plain)[0]
    greek = 0x370 <= code <= 0x3FF or 0x1F00 <= code <= 0x1FFF
    return base if base.isascii() or greek or plain == "\u0451" else plain
