"""Which turns of a thread are drawn: all of them, some by their numbers, or the last ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from hansard.errors import NotFound

if TYPE_CHECKING:
    from hansard.model.display import Turn
    from hansard.thread.tree import ThreadTree


class Extract(NamedTuple):
    """Turns of a thread, and how many stand around them."""

    thread: ThreadTree
    turns: Iterator[Turn]
    branch: int | None = None  # None: what the session went on with, and a word about the rest
    earlier: int = 0
    later: int = 0


def extract(
    thread: ThreadTree, *, branch: int | None = None, first: int = 1, last: int | None = None, newest: int = 0
) -> Extract:
    """The turns from number `first` to number `last`, or the `newest` so many, without reading what stands around them."""
    if branch is not None and branch not in thread.branches:
        raise NotFound(f"there is no branch {branch}; this conversation has {', '.join(map(str, thread.branches))}")
    if first == 1 and last is None and not newest:
        return Extract(thread, thread.turns(), branch)
    starts = thread.starts()
    if newest:
        on_line = [number for number, start in enumerate(starts, 1) if start.branch == (branch or 0)]
        chosen = on_line or list(range(1, len(starts) + 1))
        first = chosen[-newest:][0] if chosen else 1
    end = len(starts) if last is None else min(last, len(starts))
    if first > len(starts):
        if newest:
            return Extract(thread, iter(()), branch)
        raise NotFound(f"there is no turn {first}; this conversation has {len(starts)}")
    if branch is None and {start.branch for start in starts[first - 1 : end]} != {0} and first == end:
        branch = starts[first - 1].branch
    until = starts[end].offset if end < len(starts) else None
    turns = thread.turns(starts[first - 1].offset, first, until)
    return Extract(thread, turns, branch, first - 1, len(starts) - end)


def on_branch(turn: Turn, branch: int) -> Turn:
    """What of a turn is on a branch."""
    if all(item.branch == branch for item in turn.items):
        return turn
    return replace(turn, items=tuple(item for item in turn.items if item.branch == branch))
