"""What lines of a rollout say about those after them, and the chain of its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.clients.state import digest

if TYPE_CHECKING:
    from hansard.clients.generic import Record

MOST_PENDING = 20


class Memory(Struct, omit_defaults=True):
    """What lines say about those after them."""

    thread: str = ""
    started: int = 0
    session: str = ""
    is_agent: bool = False
    is_automatic: bool = False  # nobody typed its prompts
    owner: str = ""  # the thread that the next line was written for
    first_ordinal: int = 0  # of a subagent: what comes before is its parent's
    base: str = ""  # the rollout that a fork or a revert goes on from instead of copying it
    is_copying: bool = False
    copied_until: int = 0
    has_dated_turns: bool = False
    model: str = ""
    cwd: str = ""
    totals: list[int] = []  # as they were stated last
    answers: int = 0
    has_usage_records: bool = False
    counted: str = ""  # the key of the last answer that a token count stated, and its tokens
    counts: list[int] = []
    tool: str = ""  # the first that the answer so far calls
    pending: list[tuple[str, str]] = []  # prompts that may come once more: item or event, and their digest
    turns: int = 0
    places: dict[str, int] = {}  # of the last records of this turn: how often each came
    before_turns: list[str] = []  # the record before each turn that can be rolled back
    last: str = ""  # the last record


def place_record(record: Record, memory: Memory, key: str) -> Record:
    """A record in the chain of those that a rollback goes back in; the same in the original and in a copy of it."""
    name = digest(f"{memory.owner or memory.thread}\n{memory.turns}\n{record.kind}\n{key}")
    times = memory.places.pop(name, 0)
    memory.places[name] = times + 1
    if len(memory.places) > MOST_PENDING:
        del memory.places[next(iter(memory.places))]
    record.uuid = digest(f"{name}\n{times}") if times else name  # the model may say the same again
    record.parent_uuid = memory.last
    record.cwd = memory.cwd
    memory.last = record.uuid
    return record


def parts_of(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
