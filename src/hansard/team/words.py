"""The words of a text as the team's database indexes them: the tokens of the local full text, and names of several words as one word.

A row has its tokens in order, each between spaces, so that a phrase is a part of that string; and its marks, words that no text can
have: `=kindprompt`, `=toolbash` and `=iserror` as in the local index, and `~parseline` where the text says `parseLine`. The index
prefixes all of them with the row's scope.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from hansard.index.tokens import words
from hansard.query.search.spellings import LONGEST, MAX_PIECES, SHORTEST

PART = 1 << 17
"""Characters of a text in one row: its words must fit into one tsvector, which holds a mebibyte."""
LONGEST_WORD = 400  # characters; a lexeme holds 2 KB
_MOST_JOINED = 200_000  # characters of joined names in a row
_LONGEST_NAME = 64
_IN_NAMES = bytes(code if code < 128 and (chr(code).isalnum() or chr(code) in "_-") else 0x20 for code in range(256))


def parts(text: str) -> Iterator[str]:
    """A long text in pieces that begin at a space, where there are any near."""
    start = 0
    while len(text) - start > PART:
        border = max(text.rfind(space, start + PART // 2, start + PART) for space in "\n ")
        end = border if border > start else start + PART
        yield text[start:end]
        start = end
    yield text[start:]


def tokens_of(text: str) -> list[str]:
    """The tokens of a text or a query, without the ends of very long ones."""
    found = words(text)
    return [word[:LONGEST_WORD] for word in found] if max(map(len, found), default=0) > LONGEST_WORD else found


def joined_names(text: str) -> list[str]:
    """Names of several words, and parts of them, as one word: of `getUserId` getuser, userid and getuserid."""
    found: set[str] = set()
    for joined in map(_joined, set(text.encode("utf-8", "replace").translate(_IN_NAMES).split())):
        found.update(joined)
    names = sorted(found)
    while sum(map(len, names)) > _MOST_JOINED:
        del names[len(names) // 2 :]
    return names


def names_written_as(word: str, texts: Iterable[str]) -> list[tuple[str, ...]]:
    """The words of names in some texts that are this word if they are written as one."""
    pattern = re.compile(f"(?i){'[_-]?'.join(map(re.escape, word))}")
    names = {name for text in texts for name in pattern.findall(text)} if SHORTEST <= len(word) <= LONGEST else set()
    return sorted({pieces for name in names if len(pieces := tuple(words(name))) > 1})


@lru_cache(maxsize=50_000)
def _joined(name: bytes) -> tuple[str, ...]:
    rest = name[1:]
    if len(name) > _LONGEST_NAME or not (b"_" in rest or b"-" in rest or rest.lower() != rest):
        return ()
    pieces = words(name.decode())
    runs = (
        "".join(pieces[first : first + count])
        for first in range(len(pieces))
        for count in range(2, min(MAX_PIECES, len(pieces) - first) + 1)
    )
    return tuple(run for run in runs if SHORTEST <= len(run) <= LONGEST)
