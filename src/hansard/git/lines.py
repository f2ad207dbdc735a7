"""Lines as they are compared: whatever a formatter may change about a line does not count."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

from msgspec import Struct

_NO_LETTERS = re.compile(r"[\W_]+")
_QUOTES = str.maketrans({'"': "'", "`": "'"})


class Block(Struct, frozen=True, array_like=True):
    """Some lines of a file as they stood after an edit, and which of them it added."""

    lines: tuple[str, ...]
    added: tuple[bool, ...]


@lru_cache(maxsize=1 << 16)
def key_of(line: str) -> str:
    """A line without white space, with one kind of quotes, and without a comma or semicolon at its end."""
    return "".join(line.split()).translate(_QUOTES).replace("\\n'", "'").rstrip(",;")


@lru_cache(maxsize=1 << 16)
def letters_in(key: str) -> int:
    """How many letters and digits a key has."""
    return len(_NO_LETTERS.sub("", key))


def line_hash(key: str) -> int:
    """A key as a number that SQLite can hold."""
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)
