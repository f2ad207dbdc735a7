"""Text for load: tens of thousands of words and names, drawn as language draws them, cut from one long sheet."""

from __future__ import annotations

import random
from array import array
from itertools import accumulate

SYLLABLES = (
    "ba be bi bo bra ca ce co cra da de di do dra e fa fe fi flo ga ge glo go ha he hi ho in ja ka ke ki la le li lo lu ma me mi "
    "mo mu na ne ni no o pa pe pi plo po ra re ri ro ru sa se si so sta ste ta te ti to tra tu un va ve vi vo wa we wi wo ya ze"
).split()
COMMON = (
    "the of and to in is that for it as with be on not this are or from at by if return self value import def const let "
    "function class string number type new test file error line path name data index true false null none get set list"
).split()
INDENTS = ("", "", "    ", "    ", "        ", "            ", "- ", "# ", "// ")
LENGTHS = (1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4)
TABLE = 1 << 18
STRETCH, TOPIC = 160, 28
ENDS = ("", "", "", ",", ";", ":", ".", " {", ")", " =")


def words(rng: random.Random, count: int) -> list[str]:
    """Give that many different words and identifiers, the commonest first."""
    found = dict.fromkeys(COMMON)
    while len(found) < count:
        chances = rng.randbytes(5)
        word = "".join([SYLLABLES[chance % len(SYLLABLES)] for chance in chances[: LENGTHS[chances[4] % 12]]])
        kind = rng.random()
        if kind > 0.93:
            word = f"{rng.choice(COMMON)}_{word}"
        elif kind > 0.88:
            word = f"{word}{rng.choice(COMMON).title()}"
        elif kind > 0.80:
            word = f"{rng.getrandbits(4 * rng.choice((2, 3, 4, 7))):x}"
        found.setdefault(word)
    return list(found)


def _table(known: list[str]) -> list[str]:
    """Give a table in which each word stands as often as its rank deserves, so that drawing is one look-up."""
    weights = [1 / (rank + 12) ** 1.2 for rank in range(len(known))]
    share = (TABLE - len(known)) / sum(weights)
    table: list[str] = []
    for word, weight in zip(known, weights, strict=True):
        table += [word] * (1 + int(weight * share))
    return table + known[: TABLE - len(table)]


def _topical(drawn: list[str], rng: random.Random) -> list[str]:
    """Let each stretch of words come back to a few of its own, as a file or an output does.

    In real transcripts a text of 125 words has 55 different ones; drawn independently it would have 100.
    """
    found: list[str] = []
    for start in range(0, len(drawn), STRETCH):
        own = drawn[start : start + STRETCH]
        found += [
            own[chance % TOPIC % len(own)] if chance < 180 else word
            for word, chance in zip(own, rng.randbytes(len(own)), strict=True)
        ]
    return found


class Sheet:
    """A long text, ready to stand inside JSON strings, from which runs of whole lines are cut."""

    def __init__(self, rng: random.Random, *, size: int = 6 << 20, vocabulary: int = 40_000) -> None:
        table = _table(words(rng, vocabulary))
        mask = len(table) - 1
        lines: list[str] = []
        length = 0
        while length < size:
            drawn = _topical([table[chance & mask] for chance in array("I", rng.randbytes(1 << 16))], rng)
            at = 0
            for chance in rng.randbytes(len(drawn) // 7):
                step = 2 + chance % 11
                line = f"{INDENTS[chance % 9]}{' '.join(drawn[at : at + step])}{ENDS[chance % 10]}\\n"
                lines.append(line)
                length += len(line)
                at += step
        self.text = "".join(lines).encode("ascii")
        self.starts = array("Q", accumulate((len(line) for line in lines), initial=0))
        self.mean_line = length / len(lines)
        self._rng = rng

    def cut(self, size: float) -> bytes:
        """Give a run of lines of about that many bytes, from anywhere."""
        count = int(size / self.mean_line) + 1
        last = len(self.starts) - 1
        first = int(self._rng.random() * max(1, last - count))
        return self.text[self.starts[first] : self.starts[min(last, first + count)]]
