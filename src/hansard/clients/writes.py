"""What a tool call wrote to a file, in the words of no client."""

from __future__ import annotations

from typing import NamedTuple


class Hunk(NamedTuple):
    """A hunk of a unified diff: each line with its sign before it."""

    lines: list[str]


class Replacement(NamedTuple):
    """A text in place of another; of a new file, in place of nothing."""

    old: str
    new: str


class Content(NamedTuple):
    """Lines of which all are new."""

    lines: list[str]


Change = Hunk | Replacement | Content


def lines_of(text: str) -> list[str]:
    """The lines of a text, as git counts them."""
    if not text:
        return []
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
