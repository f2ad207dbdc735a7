"""How a word of a query may appear in a text: as one token or several, and in its simple English forms.

A spelling is a sequence of tokens. `parseline` may appear as one token or as `parse line`, which is how `parseLine`,
`parse_line` and `parse-line` are indexed; `fix` may appear as fixes, fixed or fixing. The typed spelling always comes
first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol

from hansard.errors import UsageError
from hansard.index.tokens import tokens

Spelling = tuple[str, ...]


class Vocabulary(Protocol):
    """Knows what occurs in the texts."""

    def has(self, row: Spelling, times: int = 1) -> bool:
        """Whether these tokens occur in sequence in at least `times` texts."""

    def of(self, rows: Sequence[Spelling]) -> list[Spelling]:
        """Those of several spellings that occur at all."""

    def begun(self, beginning: str) -> list[str] | None:
        """The most frequent words with this prefix, if there are too many to search for all of them; else None."""


MAX_PIECES = 4
SHORTEST, LONGEST = 5, 32  # lengths of a word that may be divided
SHORTEST_OF_TWO = 2
SHORTEST_OF_MANY = 7
COMMON = 50  # a word that occurs in this many texts is not divided further
SHORT_WORDS = frozenset(
    "ai as at by cd ci db do fn fs go gs id if in io ip is it js kv md ml my no of ok on or os pr py qa re to ts tx ui up us ux vm".split()
)
# Words whose other forms or divisions help nobody, and which are so common that searching for them would be slow.
STOP_WORDS = frozenset(
    """
    about above after again against also although always among and another any are because been before being below between
    both but can cannot could did does doing done down during each either else ever every for from further had has have having
    here hers herself him himself his how however into its itself just least less like many may maybe might more most much must
    myself neither never nor not now off often once one only other others otherwise our ours ourselves out over own perhaps
    rather same shall she should since some something still such than that the their theirs them themselves then there
    therefore these they this those through thus too under until upon very was were what when where whether which while who
    whom whose why will with within without would yet you your yours yourself
    """.split()
)
_FEWEST_LETTERS = 3
_MOST_SPELLINGS = 48


def as_typed(text: str) -> Spelling:
    """The tokens of a text, unchanged."""
    return tuple(token.text for token in tokens(text))


def spellings(text: str, vocabulary: Vocabulary) -> list[Spelling]:
    """Every spelling of a bare word that occurs in any text."""
    typed = as_typed(text)
    if not typed:
        return []
    joined = "".join(typed)
    if len(typed) > MAX_PIECES or not joined.isascii():
        return [typed]
    if joined in STOP_WORDS:
        return list(dict.fromkeys((typed, (joined,))))
    found: list[Spelling] = [(joined,)]
    if len(typed) == 1:
        found += [(form,) for form in inflections(joined)]
    if SHORTEST <= len(joined) <= LONGEST:
        found += divisions(joined, vocabulary)
    others = list(dict.fromkeys(row for row in found if row != typed))
    return [typed, *vocabulary.of(others)][:_MOST_SPELLINGS]


def begun_spellings(text: str, vocabulary: Vocabulary, *, divided: bool = True) -> tuple[list[Spelling], bool]:
    """The same for a prefix search, and whether the last token of each spelling is itself a prefix.

    If too many words have the prefix, these are the most frequent ones, as whole words.
    """
    typed = as_typed(text)
    if not typed:
        return [], True
    words = vocabulary.begun(typed[-1])
    if words is not None:
        return list(dict.fromkeys([typed, *((*typed[:-1], word) for word in words)])), False
    found = [typed]
    if divided and len(typed) == 1 and typed[0].isascii():
        word = typed[0]
        found += [
            (word[:border], word[border:])
            for border in range(SHORTEST_OF_TWO, len(word) - _FEWEST_LETTERS + 1)
            if vocabulary.has((word[:border],)) and vocabulary.begun(word[border:]) is None
        ]
    for row in _continued(text):
        if row not in found and (len(row) == 1 or vocabulary.of([row[:-1]])):
            with contextlib.suppress(UsageError):  # too many words: those that the typed spelling finds will do
                words = vocabulary.begun(row[-1])
                found += [row] if words is None else [(*row[:-1], word) for word in words if len(row[-1]) > 1]
    return found, True


def _continued(text: str) -> Iterator[Spelling]:
    """How the beginning of an identifier is divided if letters or digits follow, as `URLSe` is in URLSearch."""
    for more in ("aa", "1"):
        row = as_typed(text + more)
        last = row[-1].removesuffix(more) if row else ""
        if last:
            yield *row[:-1], last


def divisions(word: str, vocabulary: Vocabulary) -> list[Spelling]:
    """A word as two tokens, and if it is not common undivided, also as three or four."""
    found: list[Spelling] = [
        (word[:border], word[border:])
        for border in range(1, len(word))
        if _is_piece(word[:border], SHORTEST_OF_TWO) and _is_piece(word[border:], SHORTEST_OF_TWO)
    ]
    if len(word) >= SHORTEST_OF_MANY and not vocabulary.has((word,), COMMON):
        found += [pieces for pieces in _divided(word, MAX_PIECES, vocabulary) if len(pieces) > 2]
    return found


def _divided(word: str, pieces: int, vocabulary: Vocabulary) -> list[Spelling]:
    found: list[Spelling] = [(word,)] if is_part(word) and vocabulary.has((word,)) else []
    if pieces > 1:
        for border in range(1, len(word)):
            piece = word[:border]
            if is_part(piece) and vocabulary.has((piece,)):
                found += [(piece, *rest) for rest in _divided(word[border:], pieces - 1, vocabulary)]
    return found


def _is_piece(text: str, shortest: int) -> bool:
    return len(text) >= shortest or text.isdigit()


def is_part(text: str) -> bool:
    """Whether a token may be one of three or more in a word: long enough, a number, or a short programming word."""
    return _is_piece(text, _FEWEST_LETTERS) or text in SHORT_WORDS


_VOWELS = frozenset("aeiou")
_HISSING = ("s", "x", "z", "ch", "sh")


def inflections(word: str) -> list[str]:
    """Other simple English forms of a word: plural, third person, past and -ing; the index says which of them exist."""
    if len(word) < _FEWEST_LETTERS or not (word.isascii() and word.isalpha()):
        return []
    found: dict[str, None] = {}
    for base in filter(_is_word, _bases(word)):
        found.update(dict.fromkeys((base, _with_s(base), *_past(base), *_ing(base))))
    found.pop(word, None)
    return list(found)


def _is_word(base: str) -> bool:
    """Whether the rest of a word can itself be a word: the first letter of `ses` cannot."""
    return len(base) > 1


def _bases(word: str) -> list[str]:
    """The word, or words it may be a form of."""
    if word.endswith("ies") and len(word) > 4:
        return [word[:-3] + "y"]
    if word.endswith("es") and word[:-2].endswith(_HISSING):
        return [word[:-2], word[:-1]]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return [word[:-1]]
    if word.endswith("ied") and len(word) > 4:
        return [word[:-3] + "y"]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 3:
            return _stems(stem)
    return [word]


def _stems(stem: str) -> list[str]:
    """`stopp` was stop, `add` was add, `cach` was cache: the spelling alone does not say which."""
    return [stem[:-1], stem] if stem[-1] == stem[-2] else [stem, stem + "e"]


def _with_s(base: str) -> str:
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(_HISSING) else "s")


def _endings(base: str, ending: str) -> list[str]:
    """With or without a doubled consonant: stop, stopped; open, opened; in a longer word it depends on the stress."""
    doubled = base + base[-1] + ending
    if base[-1] in _VOWELS or base[-1] in "wxy" or base[-2] not in _VOWELS or base[-3:-2] in _VOWELS:
        return [base + ending]
    return [base + ending, doubled] if _VOWELS & set(base[:-2]) else [doubled]


def _past(base: str) -> list[str]:
    if base.endswith("e"):
        return [base + "d"]
    if base.endswith("y") and base[-2] not in _VOWELS:
        return [base[:-1] + "ied"]
    return _endings(base, "ed")


def _ing(base: str) -> list[str]:
    if base.endswith("e") and not base.endswith("ee"):
        return [base[:-1] + "ing"]
    return _endings(base, "ing")
