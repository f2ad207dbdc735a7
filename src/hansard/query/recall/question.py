"""The words of a question that say what it is about, and the forms in which each may be written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from hansard.index.tokens import tokens
from hansard.lazy_regex import lazy_compile
from hansard.query.search.spellings import STOP_WORDS, Spelling, Vocabulary, inflections, spellings

MOST_WORDS = 24
_GUESSED = 0.7
_AROUND_NAMES = " .,;:!?\"'`()[]{}<>"
_CLITIC = lazy_compile(r"(?<=\w)(?:n['\u2019]t|['\u2019](?:s|t|d|m|ll|re|ve))(?!\w)", re.IGNORECASE)
# Words of questions themselves, beside the stop words of every search.
_ASKING = frozenset(
    """a ago all already am an as at be become became by do doing done ever get gets getting go goes going gone got had has he her how i
    if in is it last let made make makes me my no of on or our please previous previously remember session sessions so tell time to up us
    use used using want wanted wants was we went were what work worked""".split()
)


class Asked(Struct):
    """A word of the question: how it may be written, and what it is worth when a passage has it."""

    typed: str  # the word or name that it is part of
    rows: tuple[Spelling, ...]
    share: float = 1.0  # of its worth that counts; less for words that were only guessed
    worth: float = 0.0

    @property
    def match(self) -> str:
        """The full-text expression for any of its forms."""
        return " OR ".join(f'body : "{" ".join(row)}"' for row in self.rows)


def asked_words(question: str, vocabulary: Vocabulary, also: str = "") -> list[Asked]:
    """The words of a question and then other words for the same thing, each with its forms that occur in the history."""
    own = words_of(question)
    others = words_of(also, known=own)
    return [
        Asked(typed, tuple(spellings(word, vocabulary)), share)
        for words, share in ((own, 1.0), (others, _GUESSED))
        for word, typed in words.items()
    ]


def words_of(question: str, known: Iterable[str] = ()) -> dict[str, str]:
    """The words that say what a question is about, each in its first form, and the name that each is part of; `known` words are left out."""
    found: dict[str, str] = {}
    known = {form for word in known for form in (word, *inflections(word))}
    for typed in _CLITIC.sub("", question).split():
        for token in tokens(typed):
            word = token.text
            if is_content(word) and word not in known and len(found) < MOST_WORDS:
                known.update((word, *inflections(word)))
                found[word] = typed.strip(_AROUND_NAMES)
    return found


def is_content(word: str) -> bool:
    """Whether a word says what a text is about."""
    return word not in STOP_WORDS and word not in _ASKING and (len(word) > 1 or not word.isascii() or word.isdigit())


class Finder:
    """Counts the words of a question in texts; forms of one token are looked up, longer ones are compared."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._words: dict[str, list[int]] = {}
        self._rows: dict[str, list[tuple[Spelling, int]]] = {}
        for number, one in enumerate(asked):
            for row in one.rows:
                if len(row) == 1:
                    self._words.setdefault(row[0], []).append(number)
                else:
                    self._rows.setdefault(row[0], []).append((row, number))

    def count(self, words: Sequence[str]) -> dict[int, int]:
        """How often each word of the question occurs, by its number."""
        found: dict[int, int] = {}
        for place, word in enumerate(words):
            for number in self._words.get(word, ()):
                found[number] = found.get(number, 0) + 1
            for row, number in self._rows.get(word, ()):
                if tuple(words[place : place + len(row)]) == row:
                    found[number] = found.get(number, 0) + 1
        return found
