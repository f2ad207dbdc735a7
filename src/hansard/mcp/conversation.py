"""What a session's thread says, as passages: the items of a turn, their texts, and where to go on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import tee
from typing import TYPE_CHECKING, NamedTuple

from hansard.errors import NotFound, UsageError
from hansard.guard.passages import origin_of, safe_text, safe_texts
from hansard.mcp.answer import Packer, Passage, moment
from hansard.model.display import Checklist, Facts, Item, Part, Picture

if TYPE_CHECKING:
    from hansard.thread.thread import Thread

_CALL_LENGTH = 400  # characters of what a tool was given, in the view of a turn
_RESULT_LENGTH = 1_500
_LISTED = frozenset(
    {"prompt", "reply", "command", "bash", "output", "tool", "compaction", "summary", "error", "interruption"}
)


class Text(NamedTuple):
    """One text of an item: what was said, or what a tool gave back."""

    item: Item
    text: str
    is_result: bool
    is_shortened: bool = False


def find_turn(thread: Thread, offset: int) -> int:
    """The number of the turn that holds a byte of the thread's log; 0 before the first one."""
    return bisect_right([start.offset for start in thread.starts], offset)


def read_turn(thread: Thread, number: int) -> list[Item]:
    """All items of a turn; 0 is what stands before the first one."""
    starts = thread.starts
    if not 0 <= number <= len(starts):
        raise NotFound(f"there is no turn {number}; the session has {len(starts)}")
    first = starts[number - 1].offset if number else 0
    end = starts[number].offset if number < len(starts) else None
    return [item for turn in thread.turns(first, number, end) for item in turn.items]


def texts_of_turn(items: Iterable[Item], *, with_results: bool) -> Iterator[Text]:
    """What a turn says: prompts and replies whole, calls by their first lines, what tools gave back only where it is asked for."""
    return _safe(_drafts_of_turn(items, with_results=with_results))


def _drafts_of_turn(items: Iterable[Item], *, with_results: bool) -> Iterator[_Draft]:
    for item in items:
        if item.kind not in _LISTED:
            continue
        text = text_of(item)
        if item.kind == "output":
            if with_results and text:
                yield Text(item, text, is_result=True), _RESULT_LENGTH
        elif item.kind == "tool":
            yield Text(item, text, is_result=False), _CALL_LENGTH
            if with_results and (result := "\n".join(map(part_text, item.results))):
                yield Text(item, result, is_result=True), _RESULT_LENGTH
        elif text:
            yield Text(item, text, is_result=False), None


def texts_of_message(items: Iterable[Item], *, with_results: bool) -> Iterator[Text]:
    """All that a message says."""
    return _safe(_drafts_of_message(items, with_results=with_results))


def _drafts_of_message(items: Iterable[Item], *, with_results: bool) -> Iterator[_Draft]:
    for item in items:
        is_output = item.kind == "output"
        if (text := text_of(item)) and (with_results or not is_output):
            yield Text(item, text, is_result=is_output), None
        if with_results and (result := "\n".join(map(part_text, item.results))):
            yield Text(item, result, is_result=True), None


_Draft = tuple[Text, int | None]
"""A text as it was said, and how much of it is shown."""


def _safe(drafts: Iterator[_Draft]) -> Iterator[Text]:
    drafts, others = tee(drafts)
    for (draft, longest), text in zip(drafts, safe_texts(other.text for other, _ in others), strict=True):
        yield draft._replace(text=text[:longest], is_shortened=longest is not None and len(text) > longest)


def text_of(item: Item) -> str:
    """What was said, or what a tool was given."""
    said = "\n".join(map(part_text, item.parts))
    return f"{item.subject}\n{said}".strip() if item.subject and item.subject not in said else said


def part_text(part: Part) -> str:
    """A part of an item as plain text."""
    if isinstance(part, Facts):
        return "\n".join(f"{name}: {value}" for name, value in part.pairs)
    if isinstance(part, Checklist):
        return "\n".join(f"[{state}] {text}" for state, text in part.items)
    return "[image]" if isinstance(part, Picture) else part.text


def passage_of(text: Text, thread: Thread, packer: Packer, turn: int) -> Passage:
    """A text with where it comes from."""
    item = text.item
    tool = item.title if item.kind == "tool" else ""
    called = item.thread.agent if item.thread is not None else None
    return Passage(
        session=thread.session.session_id,
        message=item.uuid or "",
        turn=turn,
        at=moment(item.at),
        origin=origin_of(item.who, item.facts.kind, is_result=text.is_result),
        kind="call" if tool and not text.is_result else "result" if tool else item.kind,
        tool=tool,
        subagent=called.agent_id if called is not None else "",
        error=item.is_error,
        text=packer.quoter.quote(text.text),
        truncated=text.is_shortened,
    )


class Place(NamedTuple):
    """Where a reader goes on: a text by its number in a turn or message, and a character of it."""

    turn: int
    text: int = 0
    character: int = 0

    def __str__(self) -> str:
        return f"{self.turn}.{self.text}.{self.character}"

    @classmethod
    def read(cls, cursor: str) -> Place:
        """The place that a cursor names."""
        try:
            place = cls(*map(int, cursor.split(".")))
        except (TypeError, ValueError):
            raise UsageError(f"invalid cursor {cursor!r}: pass next_cursor of the previous answer unchanged") from None
        if min(place) < 0:
            raise UsageError(f"invalid cursor {cursor!r}: pass next_cursor of the previous answer unchanged")
        return place


def add_texts(
    packer: Packer, passages: list[Passage], texts: Iterable[Text], thread: Thread, place: Place
) -> Place | None:
    """Add texts from a place on, as far as there is room; where to go on, None where all is told."""
    for number, text in enumerate(texts):
        if number < place.text:
            continue
        start, grown = place.character if number == place.text else 0, 0
        if start:
            rest = text.text[start:]
            text = text._replace(text=safe_text(rest))  # noqa: PLW2901 - what is left of it
            grown = len(text.text) - len(rest)  # what begins a text can need encoding that it did not need inside of it
        count = len(passages)
        if not packer.add(passages, passage_of(text, thread, packer, place.turn)):
            if len(passages) == count:
                return Place(place.turn, number, start)
            shown = len(packer.unquoted(passages[-1].text))
            return Place(place.turn, number, start + max(1, shown - grown))
    return None


def last_reply(thread: Thread) -> str:
    """How a session ended: the last thing that the model said; empty where it said nothing."""
    for number in range(len(thread.starts), max(0, len(thread.starts) - 3), -1):
        for item in reversed(read_turn(thread, number)):
            if item.kind == "reply" and (text := text_of(item)):
                return text
    return ""
