"""What the fold of a transcript gives to the index: plain tuples in the order of the tables' columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from hansard.clients.usage import Stated


class AgentRef(NamedTuple):
    """One hint that a tool call made a subagent; the lowest rank is believed."""

    base: int
    tool_use_id: str
    agent_id: str
    rank: int


IssueRow = tuple[int, int, str, str, int]
"""A row of `issues`: id, length, reason, detail, count."""


class Rows(msgspec.Struct, array_like=True):
    """Rows that came out of a stretch of one transcript."""

    records: list[tuple[Any, ...]] = []
    blocks: list[tuple[Any, ...]] = []
    messages: list[tuple[Any, ...]] = []
    calls: dict[int, list[Any]] = {}
    call_results: list[tuple[Any, ...]] = []
    result_tools: list[tuple[str, int]] = []  # of results that stand before their calls
    prompts: list[tuple[Any, ...]] = []
    turn_durations: list[tuple[int, int]] = []
    compactions: list[tuple[Any, ...]] = []
    summaries: list[tuple[Any, ...]] = []
    sidechains: list[tuple[Any, ...]] = []
    issues: dict[int, IssueRow] = {}
    agent_refs: set[AgentRef] = set()
    progress_answers: list[tuple[Any, ...]] = []
    usage: dict[str, Stated] = {}
