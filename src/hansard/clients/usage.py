"""How what many lines state about the tokens of one API message is merged.

The merge is commutative, associative and idempotent (field-wise maxima, and a minimum for the owner), so lines may come in
any order, in any split and more than once.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hansard.storage import OFFSET_MASK

MOST_TOKENS = 1 << 40
"""No answer has as many; sums of a history of smaller counts fit into 63 bits."""
SIDECHAIN = "sidechain"
"""Who owns the messages of subagents that the oldest clients wrote into the main file without a name."""

REPEATED_LINE = "agent_progress"
"""`records.sub` of a subagent's line that a record of its session repeats: a copy, where the subagent's own transcript is there."""


FIRST_OF_ANSWER = "answer"
"""`records.sub` of the first record of an answer, of clients that may not state the usage of each."""


class Stated(msgspec.Struct, gc=False):
    """Everything said about one API message so far; its owner is the original's earliest line.

    A line of the original comes before all copies in forks; then time, transcript path and offset decide.
    """

    ts: int
    path: str
    record_id: int
    model: str
    session_id: str
    agent_id: str
    input: int
    output: int
    cache_read: int
    cache_write: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    final_output: int  # the greatest output_tokens of a line with a stop_reason, -1 if no line has one
    service_tier: str
    speed: str
    inference_geo: str
    branch: str = ""
    tool: str = ""  # the first tool it calls, and when
    tool_ts: int = 0
    recorded: int = -1  # what the client says it cost, in billionths of a dollar; -1: it does not say
    is_progress: bool = False  # a progress record of the parent repeats it: counts only where no line of its own does
    is_copy: bool = False  # the transcript tells that it copied the line; known only when all of it was read

    @property
    def is_lower_bound(self) -> bool:
        """Whether the output tokens are only a lower bound: no line that knows the end of the answer states this many."""
        return self.final_output < self.output

    def owner(self) -> tuple[int | str, ...]:
        """The order by which a line wins the message; one that states no time is later than any that does."""
        place = (self.is_copy, self.ts or NEVER, self.path, self.record_id & OFFSET_MASK, self.record_id)
        return (*place, self.model, self.session_id, self.agent_id, self.branch)

    def first_call(self) -> tuple[bool, int, str]:
        """The order by which the first tool call is found."""
        return (not self.tool, self.tool_ts or NEVER, self.tool)


NEVER = 1 << 62
"""When a line was written that states no time, where lines are ordered."""
_FIRST = 172_800_000  # 3 January 1970
_LAST = 4_102_444_800_000  # 1 January 2100


def dated(ts: int | None) -> int:
    """A line's time, or 0 if it has none or one of a clock that was never set or was wrong.

    A report looks up every change of the clocks between its first and its last time: one line must not make that thousands.
    """
    return ts if ts is not None and _FIRST <= ts < _LAST else 0


def merge(one: Stated, other: Stated) -> Stated:
    """Both statements in one; the order of the arguments does not matter."""
    return absorb(msgspec.structs.replace(one), other)


def absorb(one: Stated, other: Stated) -> Stated:
    """`merge` into the first of the two, which is given back unless a line of its own replaces what progress records said."""
    if one.is_progress != other.is_progress:
        return other if one.is_progress else one
    if other.owner() < one.owner():
        one.ts, one.path, one.record_id = other.ts, other.path, other.record_id
        one.model, one.session_id, one.agent_id = other.model, other.session_id, other.agent_id
        one.branch, one.is_copy = other.branch, other.is_copy
    if (other.tool or other.tool_ts) and other.first_call() < one.first_call():
        one.tool, one.tool_ts = other.tool, other.tool_ts
    one.input = max(one.input, other.input)
    one.output = max(one.output, other.output)
    one.cache_read = max(one.cache_read, other.cache_read)
    one.cache_write = max(one.cache_write, other.cache_write)
    one.cache_write_5m = max(one.cache_write_5m, other.cache_write_5m)
    one.cache_write_1h = max(one.cache_write_1h, other.cache_write_1h)
    one.web_searches = max(one.web_searches, other.web_searches)
    one.final_output = max(one.final_output, other.final_output)
    one.service_tier = max(one.service_tier, other.service_tier)
    one.speed = max(one.speed, other.speed)
    one.inference_geo = max(one.inference_geo, other.inference_geo)
    one.recorded = max(one.recorded, other.recorded)
    return one


class Answer(msgspec.Struct, frozen=True):
    """An answer of the model as one record has it."""

    uuid: str | None
    ts: int  # 0: none is stated
    stop_reason: str | None
    agent_id: str  # empty where the record does not name one
    is_aside: bool  # it belongs to a subagent
    stated: Callable[[str, int, int, str, str, str], list[tuple[str, Stated]]]
    """What it states, by key: of the message's key, record id, time, sort path, session and agent."""


def token_count(value: int | None) -> int:
    """A token count; what is missing, negative or beyond anything an answer can have counts as nothing.

    Sums of a history of such counts still fit into 63 bits.
    """
    return value if value is not None and 0 < value < MOST_TOKENS else 0
