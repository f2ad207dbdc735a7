"""What a reader sees of a transcript's records, in neutral terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients.lines import UNREAD, Issue

if TYPE_CHECKING:
    from hansard.clients.lines import Lines

_SHORT_JUNK = 64  # bytes


class Hunk(Struct, frozen=True):
    """A hunk of a unified diff: each line with its sign before it."""

    lines: list[str]


class Replacement(Struct, frozen=True):
    """A text in place of another; of a new file, in place of nothing."""

    old: str
    new: str


class Content(Struct, frozen=True):
    """Lines that are all new."""

    lines: list[str]


Change = Hunk | Replacement | Content


def lines_of(text: str) -> list[str]:
    """The lines of a text, as git counts them."""
    if not text:
        return []
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def hunks_of(diff: str) -> Iterator[Hunk]:
    """The hunks of a unified diff of one file."""
    lines: list[str] = []
    is_inside = False
    for line in diff.splitlines():
        if line.startswith("@@"):
            if lines:
                yield Hunk(lines)
            lines, is_inside = [], True
        elif is_inside and line[:1] in ("+", "-", " "):
            lines.append(line)
    if lines:
        yield Hunk(lines)


class Said(Struct, frozen=True):
    """Something that was said: one of the kinds of `model.threads.Entry`, and its text."""

    kind: str
    text: str
    images: int = 0
    queued: bool = False  # typed while the model worked
    model: str | None = None


class Called(Struct, frozen=True):
    """A tool call."""

    number: int  # of its block in the record
    id: str
    tool: str
    input: Callable[[], Any]
    model: str | None = None
    command: Callable[[], str | None] = lambda: None
    """The command line that it gives to a shell."""
    planned: Callable[[], Sequence[Change]] = tuple
    """What it said that it would write."""
    is_part: bool = False
    """One of several files that the call before it changes, and shows."""


class Answered(Struct, frozen=True):
    """The result of a call."""

    number: int
    call_id: str
    text: Callable[[], str]
    is_error: bool = False
    has_image: Callable[[], bool] = lambda: False
    patch: Callable[[], str | None] = lambda: None
    """The unified diff that it carries."""
    written: Callable[[], Sequence[Change] | None] = lambda: None
    """What it says that was written; None where it does not say."""
    saved_as: Callable[[str], str] = lambda _text: ""
    """The file with the whole output that a text names."""


class Skipped(Struct, frozen=True):
    """Something that says nothing to a reader, and is counted."""

    kind: str


class QueuedPrompt(Struct, frozen=True):
    """A step of the queue of prompts; the index knows which of them are prompts."""

    kind: str  # what it is counted as if it is not a prompt


Part = Said | Called | Answered | Skipped | QueuedPrompt


class Readable(Struct, frozen=True):
    """A record that can be shown."""

    offset: int
    length: int
    at: datetime | None
    uuid: str | None
    is_aside: bool  # it belongs to a subagent
    is_entry: bool  # it is part of the conversation
    parts: Callable[[], Iterable[Part]]
    cwd: str = ""
    aside_kind: str = "sidechain"  # what it is counted as where subagents are not shown


def read_lines(
    lines: Lines,
    fast: Callable[[bytes, int], Readable | Skipped | None],
    read: Callable[[bytes, int], Iterable[Readable | Issue]],
    read_rest: Callable[[bytes, int], Iterable[Readable | Issue]],
) -> Iterator[Readable | Skipped | Issue]:
    """The records of some lines, and what of them cannot be read; `fast` takes what is intact."""
    for offset, line in lines:
        record = fast(line, offset)
        if record is not None:
            yield record
            continue
        found = list(filter(_is_shown, read(line, offset)))
        yield from found
        if len(line) <= _SHORT_JUNK and all(isinstance(item, Issue) for item in found):
            more = lines.skip_equal(line)
            if more:  # the last of these lines tells how far they go
                yield from filter(_is_shown, read(line, offset + more * (len(line) + 1)))
    yield from filter(_is_shown, read_rest(lines.rest, lines.offset))


def _is_shown(item: Readable | Issue) -> bool:
    return not isinstance(item, Issue) or item.reason in UNREAD
