"""A thread as steps: what a person said, what the client reported, and one step for each answer of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from hansard.model.threads import Entry, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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

    def add(self, entry: Entry) -> None:
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


def steps(entries: Iterable[Entry], keys: Mapping[int, str]) -> Iterator[Step]:
    """Group entries; `keys` are the keys of API messages by the offsets of their lines."""
    current: Step | None = None
    for entry in entries:
        key = keys.get(entry.offset) if entry.kind in _MODEL else None
        if current is not None and entry.kind in _MODEL and _is_same_answer(current, entry, key):
            current.add(entry)
            continue
        if current is not None:
            yield current
        source = "user" if entry.kind in _PERSON else "agent" if entry.kind in _MODEL else "system"
        current = Step(source, entry, key)
        current.add(entry)
    if current is not None:
        yield current


def _is_same_answer(step: Step, entry: Entry, key: str | None) -> bool:
    """Whether an entry belongs to the same answer: the same API message, or without one the same line."""
    if step.source != "agent" or entry.branch != step.first.branch or key != step.key:
        return False
    return key is not None or entry.offset == step.first.offset
