"""What the fold of a transcript gives to the index: plain tuples in the order of the tables' columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hansard.parse.usage import Stated


class AgentRef(NamedTuple):
    """One hint that a tool call made a subagent; the lowest rank is believed."""

    base: int
    tool_use_id: str
    agent_id: str
    rank: int


@dataclass(slots=True)
class Rows:
    """Rows that came out of a stretch of one transcript."""

    records: list[tuple[Any, ...]] = field(default_factory=list)
    blocks: list[tuple[Any, ...]] = field(default_factory=list)
    messages: list[tuple[Any, ...]] = field(default_factory=list)
    calls: dict[int, list[Any]] = field(default_factory=dict)
    call_results: list[tuple[Any, ...]] = field(default_factory=list)
    result_tools: list[tuple[str, int]] = field(default_factory=list)  # of results that stand before their calls
    prompts: list[tuple[Any, ...]] = field(default_factory=list)
    turn_durations: list[tuple[int, int]] = field(default_factory=list)
    compactions: list[tuple[Any, ...]] = field(default_factory=list)
    summaries: list[tuple[Any, ...]] = field(default_factory=list)
    sidechains: list[tuple[Any, ...]] = field(default_factory=list)
    issues: list[tuple[Any, ...]] = field(default_factory=list)
    agent_refs: set[AgentRef] = field(default_factory=set)
    progress_answers: list[tuple[Any, ...]] = field(default_factory=list)
    usage: dict[str, Stated] = field(default_factory=dict)
