"""A thread as steps: what a person said, what the client reported, and one step for each answer of the model."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hansard.model.threads import Entry, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_PERSON = frozenset({"prompt", "command", "bash"})
_MODEL = frozenset({"reply", "thinking", "tool"})


class Step(Struct):
    """Consecutive entries of one answer, or one other entry."""

    source: str  # user, agent, system
    first: Entry
    key: str | None = None  # of the API message
    replies: list[Entry] = field(default_factory=list)
    thoughts: list[Entry] = field(default_factory=list)
    tools: list[Entry] = field(default_factory=list)
    answered: int | None = None  # the offset of the first result of its calls

    def add(self, entry: Entry) -> None:
        call = entry.tool
        if call is not None and call.output is not None:
            result = entry.offset if call.result_offset is None else call.result_offset
            self.answered = result if self.answered is None else min(result, self.answered)
        place = {"thinking": self.thoughts, "tool": self.tools}.get(entry.kind, self.replies)
        place.append(entry)

    @property
    def text(self) -> str:
        """What was said, without thoughts and calls."""
        return "\n\n".join(entry.text for entry in self.replies)

    @property
    def calls(self) -> list[tuple[str, ToolCall, Entry]]:
        """The tool calls, each with an id that is unique in the step."""
        found = enumerate((entry, entry.tool) for entry in self.tools if entry.tool is not None)
        return [(call.tool_use_id or f"{entry.offset}-{number}", call, entry) for number, (entry, call) in found]

    @property
    def thinking(self) -> str:
        return "\n\n".join(entry.text for entry in self.thoughts)


def steps(entries: Iterable[Entry], keys: Mapping[int, str], borders: Sequence[int] = ()) -> Iterator[Step]:
    """Group entries; `keys` are the keys of API messages by the offsets of their lines.

    Lines that state no message of their own belong to one answer up to the results of its calls, or up to the next of the
    offsets `borders`.
    """
    current: Step | None = None
    for entry in entries:
        key = keys.get(entry.offset) if entry.kind in _MODEL else None
        if current is not None and _is_same(current, entry, key, borders):
            current.add(entry)
            continue
        if current is not None:
            yield current
        source = "user" if entry.kind in _PERSON else "agent" if entry.kind in _MODEL else "system"
        current = Step(source, entry, key)
        current.add(entry)
    if current is not None:
        yield current


def _is_same(step: Step, entry: Entry, key: str | None, borders: Sequence[int]) -> bool:
    """Whether an entry belongs to a step: to the same answer, or else to the same line."""
    first = step.first
    if step.source != "agent" or entry.kind not in _MODEL:
        return entry.offset == first.offset and entry.kind == first.kind
    if entry.branch != first.branch or key != step.key:
        return False
    if key is not None or entry.offset == first.offset:
        return True
    if entry.model != first.model or (step.answered is not None and step.answered < entry.offset):
        return False
    return bisect_right(borders, entry.offset) == bisect_right(borders, first.offset)
