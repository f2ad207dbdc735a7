"""Windows: a piece of a text with what was said before and after it, as passages that answer questions.

A message is often short, and the answer in the next one. Thoughts, calls and what subagents said stay alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from hansard.query.recall.passages import SIZE, cut
from hansard.query.search.blocks import TextBlock, describe
from hansard.storage import OFFSET_BITS

if TYPE_CHECKING:
    from hansard.query.reader import Reader

_AROUND = 4  # messages on each side at most
_SAID = frozenset({"prompt", "reply"})

Piece = tuple[TextBlock, int, str]
"""A block, the number of a piece of its text, and the piece."""

Window = list[Piece]
"""Pieces that follow each other."""


def make_windows(
    reader: Reader, blocks: Sequence[TextBlock], read: Callable[[TextBlock], str], is_match: Callable[[Piece], bool]
) -> Iterator[Window]:
    """A window around each piece of these blocks that matches; `read` gives the text of a block.

    A piece that matches only in text that is not shown has none: what is around it would tell that it matches.
    """
    known: dict[int, list[Piece]] = {}

    def pieces(block: TextBlock) -> list[Piece]:
        if block.id not in known:
            known[block.id] = [(block, number, text) for number, text in enumerate(cut(read(block)))]
        return known[block.id]

    around = _around(reader, [block for block in blocks if block.kind in _SAID and not block.is_aside])
    for block in sorted(blocks, key=lambda block: -block.id):  # the last line of a chunk makes the others available
        own = pieces(block)
        before, after = around.get(block.id, ((), ()))
        for number, piece in enumerate(own):
            if not is_match(piece):
                continue
            if block.id not in around:
                yield [piece]
                continue
            yield _grown(
                piece,
                chain(reversed(own[:number]), (one for other in before for one in reversed(pieces(other)))),
                chain(own[number + 1 :], (one for other in after for one in pieces(other))),
            )


def _grown(piece: Piece, before: Iterable[Piece], after: Iterable[Piece]) -> Window:
    """The piece with those around it that fit, taken from both sides in turn, nearest first."""
    window = [piece]
    room = SIZE - len(piece[2])
    sides = [iter(after), iter(before)]
    while sides:
        for side in tuple(sides):
            one = next(side, None)
            if one is None or len(one[2]) >= room:
                sides.remove(side)
                continue
            room -= len(one[2]) + 1
            window.append(one)
    return sorted(window, key=lambda one: (one[0].id, one[1]))


def _around(reader: Reader, blocks: Sequence[TextBlock]) -> dict[int, tuple[list[TextBlock], list[TextBlock]]]:
    """For each block the messages before it, nearest first, and those after it."""
    near: dict[int, tuple[list[int], list[int]]] = {}
    for block in blocks:
        low, high = block.id >> OFFSET_BITS << OFFSET_BITS, (block.id >> OFFSET_BITS) + 1 << OFFSET_BITS
        before = reader.rows(
            "SELECT id FROM full.talk_docsize WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?",
            (low, block.id - 1, _AROUND),
        )
        after = reader.rows(
            "SELECT id FROM full.talk_docsize WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
            (block.id + 1, high - 1, _AROUND),
        )
        near[block.id] = [row[0] for row in before], [row[0] for row in after]
    others = describe(reader, {id_ for sides in near.values() for side in sides for id_ in side})
    said = {id_: block for id_, block in others.items() if block.kind in _SAID}
    return {
        id_: ([said[one] for one in before if one in said], [said[one] for one in after if one in said])
        for id_, (before, after) in near.items()
    }
