"""Which recorded edit wrote which line: blocks of edits are aligned with a file wherever they share a stretch of lines.

A line is claimed for an edit when it is in such a stretch and the whole stretch is sufficient evidence: lines with letters count,
rare ones more, and the lines around an edit count too, so that neighbours identify a bracket or an empty line. Each added
line of an edit is used for only one line of the file, so that a person's copy of it, or the same words elsewhere, are not claimed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import NamedTuple

from msgspec import Struct

_COMMON = 24  # a line that occurs more often does not start a match
_ENOUGH = 3  # evidence for an edit of the same file
_ENOUGH_ELSEWHERE = 6  # for an edit of another file
_LONG = 26  # letters of a line that nobody writes twice by chance
_ALIKE = 0.7  # similarity of a partly changed line
_LONGEST_GAP = 80  # lines between two stretches of one block
_SHORT_GAP = 8  # in which a line may count as a changed one
_REFLOWED = 16  # letters of lines of an edit that were broken or joined
_HEAD = 8  # characters by which these are looked up
_LONGEST_RUN = 20_000  # characters of lines that are compared at once


class FileLine(NamedTuple):
    """A line to be explained."""

    text: str
    until: int  # edits after this time, ms, cannot have written it
    is_open: bool = True  # False: only context
    commit: str = ""  # that introduced it


class Candidate(NamedTuple):
    """A block of an edit."""

    edit: int  # the index of the edit
    ts: int
    is_same_file: bool
    block: Block
    still: frozenset[int] = frozenset()  # lines of the block that are still in the file it was written to: no evidence


class Claim(NamedTuple):
    """The edit that wrote a line, and how certain that is."""

    edit: int
    certainty: str  # exact, moved, partial


class _Stretch(NamedTuple):
    evidence: int
    is_whole: bool  # it covers the whole block
    ts: int
    candidate: int
    first: int  # line in the file
    start: int  # line in the block
    length: int
    has_context: bool  # it includes a line that existed before the edit


class Matcher:
    """Aligns blocks with the lines of one file."""

    def __init__(self, lines: Sequence[FileLine]) -> None:
        self._lines = lines
        self._keys = [key_of(line.text) for line in lines]
        self._places: dict[str, list[int]] = {}
        for place, key in enumerate(self._keys):
            self._places.setdefault(key, []).append(place)
        self._weights = [self._weight(key) for key in self._keys]

    @property
    def keys(self) -> list[str]:
        """The lines in the form in which they are compared."""
        return self._keys

    def _weight(self, key: str) -> int:
        letters = letters_in(key)
        weight = 0 if letters < 2 else 1 if letters < 8 else 2 if letters < 18 else 3
        return min(weight, 1) if len(self._places[key]) > 4 else weight

    def claims(self, candidates: Sequence[Candidate]) -> list[Claim | None]:
        """The edit that wrote each line, or None."""
        found = [
            stretch for number, candidate in enumerate(candidates) for stretch in self._stretches(number, candidate)
        ]
        # Blocks found whole: the latest wins. Otherwise the longest stretch is the most likely.
        found.sort(
            key=lambda item: (item.is_whole, item.ts if item.is_whole else item.evidence, item.evidence, item.ts),
            reverse=True,
        )
        claims: list[Claim | None] = [None] * len(self._lines)
        used: set[tuple[int, int]] = set()
        laid: dict[int, list[_Stretch]] = {}
        for item in found:
            if self._lay(item, candidates[item.candidate], claims, used):
                laid.setdefault(item.candidate, []).append(item)
        self._find_reflowed(candidates, claims, used)
        for number, items in laid.items():
            self._fill_gaps(candidates[number], number, sorted(items, key=lambda item: item.first), claims, used)
        return claims

    def _stretches(self, number: int, candidate: Candidate) -> Iterator[_Stretch]:
        """Every stretch that the block and the file share, starting from lines that are not too common."""
        block = candidate.block
        keys = [key_of(line) for line in block.lines]
        reached: dict[int, int] = {}  # diagonal -> the first line of the block after what is covered
        enough = _ENOUGH if candidate.is_same_file else _ENOUGH_ELSEWHERE
        is_file = candidate.is_same_file and all(block.added)
        for start, key in enumerate(keys):
            places = self._places.get(key)
            if places is None or len(places) > _COMMON or not letters_in(key):
                continue
            for place in places:
                if start < reached.get(place - start, 0):
                    continue
                low = 0
                while start - low and place - low and keys[start - low - 1] == self._keys[place - low - 1]:
                    low += 1
                high = 1
                while (
                    start + high < len(keys)
                    and place + high < len(self._keys)
                    and keys[start + high] == self._keys[place + high]
                ):
                    high += 1
                reached[place - start] = start + high
                first, begin, length = place - low, start - low, low + high
                evidence = self._evidence(first, length)
                evidence -= sum(
                    self._weights[first + at - begin] for at in candidate.still if begin <= at < begin + length
                )
                if is_file:  # a line at the beginning or end of both is in its original place
                    evidence += (first == begin == 0) + (
                        begin + length == len(keys) and first + length == len(self._keys)
                    )
                if evidence >= enough:
                    span = block.added[begin : begin + length]
                    yield _Stretch(
                        evidence, length == len(keys), candidate.ts, number, first, begin, length, not all(span)
                    )

    def _evidence(self, first: int, length: int) -> int:
        """How strongly these equal lines count; a single one counts little, unless it is long."""
        weights = self._weights[first : first + length]
        weight_sum = sum(weights)
        if weight_sum > 2 and sum(weight > 0 for weight in weights) == 1:
            longest = max(letters_in(self._keys[place]) for place in range(first, first + length))
            return weight_sum if longest >= _LONG else 2
        return weight_sum

    def _lay(
        self, item: _Stretch, candidate: Candidate, claims: list[Claim | None], used: set[tuple[int, int]]
    ) -> bool:
        """Claim the unclaimed added lines of a stretch; False if the stretch is of no further use."""
        block = candidate.block
        wanted = [
            (item.first + step, item.start + step)
            for step in range(item.length)
            if block.added[item.start + step] and (item.candidate, item.start + step) not in used
        ]
        free = [
            (place, start)
            for place, start in wanted
            if claims[place] is None and self._lines[place].is_open and candidate.ts <= self._lines[place].until
        ]
        free = self._without_edges(item, free)
        if not free:
            return item.has_context
        # The rest of a stretch whose better part belongs elsewhere must be sufficient evidence by itself.
        kept = {place for place, _ in free}
        gone = sum(
            self._weights[item.first + step]
            for step in range(item.length)
            if block.added[item.start + step] and item.first + step not in kept
        )
        enough = _ENOUGH if candidate.is_same_file else _ENOUGH_ELSEWHERE
        if item.evidence - gone < enough and not item.is_whole:
            return False
        is_placed = item.has_context or item.is_whole or all(block.added)
        for place, start in free:
            is_same = self._lines[place].text.rstrip() == block.lines[start].rstrip()
            claims[place] = Claim(
                candidate.edit, "exact" if is_same and candidate.is_same_file and is_placed else "moved"
            )
            used.add((item.candidate, start))
        return True

    def _without_edges(self, item: _Stretch, free: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Drop empty lines and brackets at the ends of a stretch that come from another commit than the lines beside them."""
        telling = [place for place in range(item.first, item.first + item.length) if self._weights[place]]
        if not telling:
            return free
        top, end = self._lines[telling[0]].commit, self._lines[telling[-1]].commit
        return [
            (place, start)
            for place, start in free
            if telling[0] <= place <= telling[-1] or self._lines[place].commit == (top if place < telling[0] else end)
        ]

    # -- lines that a formatter broke or joined

    def _find_reflowed(
        self, candidates: Sequence[Candidate], claims: list[Claim | None], used: set[tuple[int, int]]
    ) -> None:
        """Claim lines that have the characters of an edit's lines, on more or fewer lines than the edit."""
        free = [claim is None and line.is_open for claim, line in zip(claims, self._lines, strict=True)]
        heads: dict[str, list[tuple[_Stream, int]]] = {}
        for stream in _streams(range(len(free)), free.__getitem__, lambda place: self._lines[place].text):
            for index in range(len(stream.numbers)):
                heads.setdefault(stream.head(index), []).append((stream, index))
        heads.pop("", None)
        for number in sorted(range(len(candidates)), key=lambda number: candidates[number].ts, reverse=True):
            candidate = candidates[number]
            block = candidate.block
            unused = [added and (number, start) not in used for start, added in enumerate(block.added)]
            for written in _streams(range(len(unused)), unused.__getitem__, block.lines.__getitem__):
                self._claim_reflowed(number, candidate, written, heads, claims, used)

    def _claim_reflowed(
        self,
        number: int,
        candidate: Candidate,
        written: _Stream,
        heads: dict[str, list[tuple[_Stream, int]]],
        claims: list[Claim | None],
        used: set[tuple[int, int]],
    ) -> None:
        begin = 0
        while begin < len(written.numbers):
            step = 1
            for stream, index in heads.get(written.head(begin), ()):
                size, count = stream.shared(index, written, begin)
                places, starts = stream.numbers[index : index + size], written.numbers[begin : begin + count]
                said = "".join(_bare(candidate.block.lines[start]) for start in starts if start not in candidate.still)
                if (
                    letters_in(said) < (_REFLOWED if candidate.is_same_file else _LONG)
                    or [self._keys[place] for place in places]
                    == [key_of(candidate.block.lines[start]) for start in starts]
                    or any(claims[place] is not None or candidate.ts > self._lines[place].until for place in places)
                ):
                    continue
                for place in places:
                    claims[place] = Claim(candidate.edit, "moved")
                used.update((number, start) for start in starts)
                step = count
                break
            begin += step

    # -- between two stretches of one block: changed in part

    def _fill_gaps(
        self,
        candidate: Candidate,
        number: int,
        items: list[_Stretch],
        claims: list[Claim | None],
        used: set[tuple[int, int]],
    ) -> None:
        for before, after in pairwise(items):
            first, begin = before.first + before.length, before.start + before.length
            places, starts = range(first, after.first), range(begin, after.start)
            if not (0 < len(places) <= _LONGEST_GAP and 0 < len(starts) <= _LONGEST_GAP):
                continue
            free = [
                place
                for place in places
                if claims[place] is None and self._lines[place].is_open and candidate.ts <= self._lines[place].until
            ]
            written = [start for start in starts if candidate.block.added[start] and (number, start) not in used]
            if free and written and len(places) <= _SHORT_GAP and len(starts) <= _SHORT_GAP:
                self._changed(candidate, number, free, written, claims, used)

    def _changed(
        self,
        candidate: Candidate,
        number: int,
        free: list[int],
        written: list[int],
        claims: list[Claim | None],
        used: set[tuple[int, int]],
    ) -> None:
        left = [start for start in written if letters_in(key_of(candidate.block.lines[start])) >= 10]
        for place in free:
            mine = self._keys[place]
            if claims[place] is not None or letters_in(mine) < 10:
                continue
            for index, start in enumerate(left):
                theirs = key_of(candidate.block.lines[start])
                matcher = SequenceMatcher(None, theirs, mine, autojunk=False)
                if matcher.real_quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE:
                    claims[place] = Claim(candidate.edit, "partial")
                    used.add((number, start))
                    del left[: index + 1]
                    break


class _Stream:
    """Consecutive lines as the characters that formatters do not change."""

    __slots__ = ("_starts", "_text", "numbers")

    def __init__(self, numbers: list[int], texts: list[str]) -> None:
        self.numbers = numbers
        self._text = "".join(texts)
        self._starts = [0, *accumulate(map(len, texts))]

    def head(self, index: int) -> str:
        """The first characters of a line and those that follow; empty for a line without any, or with too few behind it."""
        start = self._starts[index]
        head = self._text[start : start + _HEAD]
        return head if len(head) == _HEAD and self._starts[index + 1] > start else ""

    def shared(self, index: int, other: _Stream, begin: int) -> tuple[int, int]:
        """How many lines from `index` on, and of the other from `begin` on, have the same characters, both ending at the end of a line."""
        mine, theirs = self._starts[index], other._starts[begin]
        length = _shared_length(self._text[mine : mine + _LONGEST_RUN], other._text[theirs : theirs + _LONGEST_RUN])
        ends = {
            end - theirs: count for count, end in enumerate(other._starts[begin + 1 :], 1) if end - theirs <= length
        }
        best = (0, 0)
        for size, end in enumerate(self._starts[index + 1 :], 1):
            if end - mine > length:
                break
            if end - mine in ends and end > mine:
                best = size, ends[end - mine]
        return best


def _shared_length(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def _streams(numbers: Iterable[int], is_free: Callable[[int], bool], text: Callable[[int], str]) -> Iterator[_Stream]:
    """The runs of free lines, which end at empty lines."""
    run: list[int] = []
    for number in [*numbers, -1]:
        if number >= 0 and is_free(number) and text(number).strip():
            run.append(number)
        elif run:
            yield _Stream(run, [_bare(text(place)) for place in run])
            run = []


@lru_cache(maxsize=1 << 16)
def _bare(text: str) -> str:
    """The characters of a line that formatters do not change."""
    return "".join(character for character in key_of(text) if character not in ",()\\;'")


def lines_still_in(text: Sequence[str], blocks: Iterable[Sequence[str]]) -> Iterator[frozenset[int]]:
    """Of each block, the lines that a file contains, also if a formatter broke or joined them there."""
    keys = {key_of(line) for line in text}
    reflowed = "".join(map(_bare, text))
    for block in blocks:
        yield frozenset(
            number
            for number, line in enumerate(block)
            if key_of(line) in keys or (letters_in(bare := _bare(line)) >= _REFLOWED and bare in reflowed)
        )


def count(claims: Iterable[Claim | None]) -> Counter[int]:
    return Counter(claim.edit for claim in claims if claim is not None)


_NO_LETTERS = re.compile(r"[\W_]+")
_QUOTES = str.maketrans({'"': "'", "`": "'"})


class Block(Struct, frozen=True, array_like=True):
    """Some lines of a file after an edit, and which of them it added."""

    lines: tuple[str, ...]
    added: tuple[bool, ...]


@lru_cache(maxsize=1 << 16)
def key_of(line: str) -> str:
    """A line without white space, with one kind of quotes, and without a trailing comma or semicolon."""
    return "".join(line.split()).translate(_QUOTES).replace("\\n'", "'").rstrip(",;")


@lru_cache(maxsize=1 << 16)
def letters_in(key: str) -> int:
    return len(_NO_LETTERS.sub("", key))


def line_hash(key: str) -> int:
    """Hash a key to an integer that SQLite can store."""
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)
