"""Texts of a transcript that follow each other, joined where a secret may be split over them.

A chain is the end of one text, the whole of short ones after it, and the beginning of the next long one, without the white space
where they meet. Whatever their kinds are: a thought and the reply after it, a reply and the input of a tool, blocks of one result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from hansard.errors import HansardError
from hansard.guard.detection import continues_token

if TYPE_CHECKING:
    from hansard.clients.protocol import Client
    from hansard.guard.detection import Secret

_REACH = 400  # characters of a text that belong to a chain
_KEY, _KEY_REACH = "-----BEGIN ", 8_000  # of a text within which a key in several lines begins
_SHORTEST = 16  # characters of a secret
_LONGEST = 16_000  # characters of a chain
_TOKEN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=.-")
NOWHERE = 1 << 62
"""An offset after all others."""


class Piece(NamedTuple):
    """A text's share of a chain: the offset of its line, and where it is in the chain."""

    offset: int
    start: int
    end: int


class Part(NamedTuple):
    """What one text has of a split secret, `text[start:end]`; `text` is the text's share of the chain."""

    offset: int
    text: str
    start: int
    end: int


class Chain(NamedTuple):
    """Texts that follow each other, as one text."""

    text: str
    pieces: tuple[Piece, ...]

    def split(self, find: Callable[[str], list[Secret]]) -> Iterator[tuple[Secret, list[Part]]]:
        """The secrets that are split over texts, each with its parts.

        Only what has the form of a secret counts: a word at the end of one text says nothing about the next one.
        """
        for secret in find(self.text):
            if secret.confidence != "high":
                continue
            parts = [
                Part(offset, self.text[start:end], max(secret.start - start, 0), min(secret.end, end) - start)
                for offset, start, end in self.pieces
                if start < secret.end and secret.start < end
            ]
            is_key = "PRIVATE KEY" in secret.value
            if len(parts) > 1 and (is_key or all(continues_token(*_beginning(part)) for part in parts[1:])):
                yield secret, parts


def _beginning(part: Part) -> tuple[str, str]:
    """What a text has of a secret from its beginning on, and the character after it."""
    return part.text[: part.end], part.text[part.end : part.end + 1]


def _may_be_split(text: str, place: int) -> bool:
    """Whether a place is within as many characters without a space as the shortest secrets have."""
    before, after = text[max(0, place - _SHORTEST) : place], text[place : place + _SHORTEST]
    return len(before.split()[-1]) + len(after.split()[0]) >= _SHORTEST


class Chains:
    """Makes chains of the texts of one log, line by line."""

    def __init__(self, client: Client, *, is_aside: bool) -> None:
        self._client, self._is_aside = client, is_aside
        self._text = ""
        self._pieces: list[Piece] = []

    @property
    def offset(self) -> int:
        """Where the first line begins that is in a chain which further lines may continue."""
        return self._pieces[0].offset if self._pieces else NOWHERE

    def add(self, line: bytes, offset: int) -> list[Chain]:
        """The chains that end with a line."""
        try:
            records = self._client.texts(line, offset, is_aside=self._is_aside)
        except (ValueError, RecursionError, HansardError):
            return []
        ended: list[Chain] = []
        for record in records:
            for text in record.texts:
                # Clients give the blocks of a result as one text.
                is_several = text.kind == "result" and "\n" in text.text and line.count(b'"text"') > 1
                for one in text.text.split("\n") if is_several else (text.text,):
                    if plain := one.strip():
                        ended += self._take(plain, offset)
        return ended

    def rest(self) -> list[Chain]:
        """The chain that nothing continues so far."""
        text, pieces = self._text, self._pieces
        if (len(pieces) > 1 and _KEY in text) or any(_may_be_split(text, piece.start) for piece in pieces[1:]):
            return [Chain(text, tuple(pieces))]
        return []

    def _take(self, text: str, offset: int) -> list[Chain]:
        ended: list[Chain] = []
        if self._pieces and text[0] in _TOKEN and self._text[-1] in _TOKEN:
            reach = _KEY_REACH if _KEY in self._text[-_KEY_REACH:] else _REACH
            self._append(text[:reach], offset)
            if len(text) <= reach and len(self._text) < _LONGEST:
                return ended
        ended = self.rest()
        key = text.rfind(_KEY, -_KEY_REACH)
        self._text, self._pieces = "", []
        self._append(text[key:] if key >= 0 else text[-_REACH:], offset)
        return ended

    def _append(self, text: str, offset: int) -> None:
        start = len(self._text)
        self._text += text
        self._pieces.append(Piece(offset, start, len(self._text)))
