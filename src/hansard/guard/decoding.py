"""Text as a decoder or a terminal would read it, mapped back to its source.

Escapes, entities, joined literals and lines, base64, hexadecimal and control sequences are undone. Every step is one linear pass that
returns a `View`: the decoded text and, for each of its characters, the source it came from.
Only what can be part of a secret is decoded: printable ASCII.
"""

from __future__ import annotations

import binascii
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from hansard.lazy_regex import lazy_compile

if TYPE_CHECKING:
    import re

# Forms that NFKC maps to one ASCII character, and hyphens that word processors use for a minus sign.
_COMPATIBLE = lazy_compile(
    "[\u2010-\u2013\u2070-\u209c\u2100-\u214f\u2212\u2460-\u24ff\ufe4d-\ufe6b\uff01-\uff5e\U0001d400-\U0001d7ff\U0001f130-\U0001f169]"
)
_HYPHENS = "\u2010\u2011\u2012\u2013\u2212"
_TOKEN = r"A-Za-z0-9_+/=.:-"  # noqa: S105 - characters that secrets are made of
_HIDDEN = "\u00ad\u200b-\u200f\u2060-\u2064\ufeff"  # zero-width characters and soft hyphens
# Each starts with a plain character class, which `re` skips to quickly, and only then checks which character it is.
_INLINE = lazy_compile(
    rf"[%&\\\"'`{_HIDDEN}](?:"
    rf"(?<=[{_HIDDEN}])(?P<hidden>[{_HIDDEN}]*+)"
    r"|(?<=\\)\\{0,7}+(?P<hidden_escape>u(?:00[aA][dD]|200[b-fB-F]|206[0-4]|[fF][eE][fF][fF]))"
    r"|(?<=%)(?P<percent>[2-7][0-9A-Fa-f])"
    r"|(?<=&)(?P<entity>#[0-9]{1,8}|#[xX][0-9A-Fa-f]{1,8}|[A-Za-z]{2,8});"
    r"|(?<=\\)\\{0,7}+(?P<escape>u00[2-7][0-9A-Fa-f]|u\{0{0,6}[2-7][0-9A-Fa-f]\}|U000000[2-7][0-9A-Fa-f]|x[2-7][0-9A-Fa-f]|0?[01][0-7][0-7])"
    rf"|(?<=[{_TOKEN}][\\\"'`])(?:(?<=\\)\\{{0,3}}+[\"'`]|(?<=[\"'`]))"
    rf"(?P<joint>\s*+(?:\+|\.\.?|&|\|\||<>|~|\\)?\s*+[bBfFrRuU]{{0,2}}\\{{0,4}}+[\"'`])(?=[%&\\{_TOKEN}]))"
)
_BREAK = lazy_compile(
    rf"[\\\r\n](?<=[{_TOKEN}][\\\r\n])(?:(?<=\n)|(?<=\r)\n?|(?<=\\)(?:\r?\n|\\{{0,3}}+[nr]))[ \t]*+(?=[{_TOKEN}])"
)
# What a terminal acts on instead of showing it: colours, cursor, links, character sets; raw, or with the escape character written
# as JSON, code and shells write it. `grep` colours its match, which may be a part of a token.
_TERMINAL = lazy_compile(
    r"(?:\x1b|(?P<slash>\\{1,8}+)(?:u001[bB]|x1[bB]|0?33|e(?=[\[(\]])))"
    r"(?:\[[0-?]{0,40}+[ !#-/]{0,4}+[@-~]|[()*+][0-9A-Za-z]|[=>78]"
    r"|\][^\x07\x1b\x9c\\\r\n\"]{0,2000}+"
    r"(?:\x07|\x9c|\x1b\\|\\{1,8}+(?:u0007|x07|007|a)|(?P=slash)(?:u001[bB]|x1[bB]|0?33|e)(?P=slash){1,2}))"
    r"|\x9b[0-?]{0,40}+[ !#-/]{0,4}+[@-~]"
    r"|[\x00\x08\x7f]"
)
_TERMINAL_SIGNS = ("\x1b", "\x9b", "\x00", "\x08", "\x7f")
_WRITTEN_SIGNS = ("u001", "x1b")  # only two, because each is one more pass over every text
_SHORTEST_ENCODED = 20
_RUN = lazy_compile(
    r"(?:[^A-Za-z0-9+/_-]++|[a-z+/_-]++(?![A-Z0-9])|[A-Za-z0-9+/_-]{1,14}+(?![A-Za-z0-9+/_-]))*+([A-Za-z0-9+/_-]{15,}+)?"
)
# Twelve printable bytes in base64 and in hexadecimal, recognised by the bits common to all printable ASCII.
_LOOKS_BASE64 = lazy_compile(r"(?:[CI-Za-f][AC-HQS-Xgi-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){4}")
_LOOKS_HEX = lazy_compile(r"(?:[2-7][0-9A-Fa-f]|0[9ADad]){12}")
_HEX = lazy_compile(r"[0-9A-Fa-f]{24,}+")
_PRINTABLE = lazy_compile(rb"[\t\n\r -~]{12,}+")
_URL_SAFE = str.maketrans("-_", "+/")
_APART = " \0 "  # between decoded stretches: no rule matches across it


class View:
    """Text decoded from another: `text`, and where its characters come from."""

    __slots__ = ("_starts", "_stretches", "text")

    def __init__(self) -> None:
        self.text = ""
        # By the first character of each stretch: where its source begins and ends, how many characters form one unit,
        # and how many source characters each unit takes.
        self._starts: list[int] = []
        self._stretches: list[tuple[int, int, int, int]] = []

    def add(self, start: int, source: int, end: int, unit: int = 1, step: int = 1) -> None:
        self._starts.append(start)
        self._stretches.append((source, end, unit, step))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The source span of a non-empty part of the text."""
        return self._unit(start)[0], self._unit(end - 1)[1]

    def start(self, place: int) -> int:
        return self._unit(place)[0]

    def breaks(self, start: int, end: int) -> list[int]:
        """The starts of stretches within a part of the text."""
        return self._starts[bisect_right(self._starts, start) : bisect_left(self._starts, end)]

    def _unit(self, place: int) -> tuple[int, int]:
        at = bisect_right(self._starts, place) - 1
        source, end, unit, step = self._stretches[at]
        source += (place - self._starts[at]) // unit * step
        return source, min(source + step, end)


def fold(text: str) -> str:
    """Map full-width and other compatibility forms to ASCII; the length stays the same."""
    if text.isascii():
        return text
    return _COMPATIBLE.sub(_folded, text)


def _folded(found: re.Match[str]) -> str:
    character = found[0]
    plain = "-" if character in _HYPHENS else unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 and plain.isascii() else character


def unescape(text: str) -> View | None:
    """Decode percent-encoding, entities and escapes, join string literals, remove what is invisible; None if nothing changes."""
    return _replaced(text, _decoded_pieces(text))


def join_lines(text: str) -> View | None:
    """Remove line breaks and indentation within a possible token; None if nothing changes."""
    return _replaced(text, _line_breaks(text))


def without_sequences(text: str) -> View | None:
    """Remove terminal control sequences, also where they are written as escapes; None if nothing changes."""
    if any(sign in text for sign in _TERMINAL_SIGNS) or ("\\" in text and any(sign in text for sign in _WRITTEN_SIGNS)):
        return _replaced(text, ((*found.span(), "") for found in _TERMINAL.finditer(text)))
    return None


_Piece = tuple[int, int, str]
"""Start and end of a source span, and the character it becomes, or an empty string."""


def _replaced(text: str, pieces: Iterator[_Piece]) -> View | None:
    view = None
    parts: list[str] = []
    done = length = 0
    for start, end, character in pieces:
        if view is None:
            view = View()
        if start > done:
            view.add(length, done, start)
            parts.append(text[done:start])
            length += start - done
        if character:
            view.add(length, start, end, 1, end - start)
            parts.append(character)
            length += 1
        done = end
    if view is None:
        return None
    view.add(length, done, len(text))
    parts.append(text[done:])
    view.text = "".join(parts)
    return view


def _decoded_pieces(text: str) -> Iterator[_Piece]:
    if text.isascii() and not any(sign in text for sign in "%&\\\"'"):
        return
    for found in _INLINE.finditer(text):
        start, end = found.span()
        kind = found.lastgroup
        if kind in ("joint", "hidden", "hidden_escape"):
            yield start, end, ""
        elif character := _entity(found[0]) if kind == "entity" else _character(found[kind or 0]):
            yield start, end, character


def _entity(source: str) -> str:
    from html import unescape as unescape_html

    character = unescape_html(source)
    return character if len(character) == 1 and character.isascii() and character.isprintable() else ""


def _character(digits: str) -> str:
    """The character of a percent-encoding or backslash escape, given without its first character."""
    code = int(digits.strip("uUx{}"), 8 if digits[0] in "01" else 16)
    return chr(code) if 32 <= code < 127 else ""


def _line_breaks(text: str) -> Iterator[_Piece]:
    if "\n" in text or "\r" in text or "\\" in text:
        for found in _BREAK.finditer(text):
            yield *found.span(), ""


def find_runs(text: str) -> list[tuple[int, int]]:
    """Runs of 15 or more letters, digits and base64 symbols, not all of them lowercase letters and symbols.

    Every token contains such a run; ordinary text has few.
    """
    runs = []
    place = 0
    while (found := _RUN.match(text, place)) is not None and found[1] is not None:
        runs.append(found.span(1))
        place = found.end()
    return runs


def around_runs(text: str, runs: list[tuple[int, int]], before: int) -> View:
    """Only the runs of a text, each with up to `before` preceding characters."""
    view = View()
    parts: list[str] = []
    length = done = 0
    for start, end in runs:
        source = max(done, start - before)
        view.add(length, source, end)
        parts.append(text[source:end])
        length += end - source
        done = end
    view.text = "".join(parts)
    return view


def decode_runs(text: str, runs: list[tuple[int, int]]) -> View | None:
    """Decode base64 and hexadecimal runs into one text, omitting what is between them; None if nothing is decoded."""
    view = View()
    parts: list[str] = []
    length = 0
    for start, end in runs:
        if end - start < _SHORTEST_ENCODED:
            continue
        padded = end + 2 if text.startswith("==", end) else end + text.startswith("=", end)
        for decoded, source, unit, step in _stretches(text[start:end]):
            view.add(length, start + source, padded if unit > 1 else end, unit, step)
            parts += decoded, _APART
            length += len(decoded) + len(_APART)
    if not parts:
        return None
    view.text = "".join(parts)
    return view


def _stretches(run: str) -> Iterator[tuple[str, int, int, int]]:
    """Printable stretches of a decoded run, each with its source, unit and step as `View.add` expects them."""
    for digits in _HEX.finditer(run) if _LOOKS_HEX.search(run) else ():
        for shift in (0, 1):
            data = digits[0][shift:]
            for piece, at in _printable(data[: len(data) // 2 * 2], bytes.fromhex):
                yield piece, digits.start() + shift + at * 2, 1, 2
    if not _LOOKS_BASE64.search(run):
        return
    run = run.translate(_URL_SAFE)
    for shift in range(4):
        data = run[shift:-1] if (len(run) - shift) % 4 == 1 else run[shift:]
        for piece, at in _printable(data + "=" * (-len(data) % 4), binascii.a2b_base64):
            # A unit is three bytes from four characters: begin at the first character.
            yield " " * (at % 3) + piece, shift + at // 3 * 4, 3, 4


def _printable(data: str, decode: Callable[[str], bytes]) -> Iterator[tuple[str, int]]:
    decoded = decode(data)
    for found in _PRINTABLE.finditer(decoded):
        yield found[0].decode("ascii"), found.start()
