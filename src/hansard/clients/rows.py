"""Rows that the fold of a transcript makes, plain tuples in the order of the tables' columns, and what all folds share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hansard.clients.state import MAX_EARLY_RESULTS, MAX_OPEN_CALLS, NAME_LENGTH, IssueRows, note
from hansard.clients.usage import Stated, absorb
from hansard.model.permissions import MODE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard.clients.protocol import SeenMessage
    from hansard.clients.state import OpenCall, Result, State

_MAX_DRIFT = 500


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
    result_tools: list[tuple[str, int]] = []  # of results that come before their calls
    prompts: list[tuple[Any, ...]] = []
    turn_durations: list[tuple[int, int]] = []
    compactions: list[tuple[Any, ...]] = []
    summaries: list[tuple[Any, ...]] = []
    sidechains: list[tuple[Any, ...]] = []
    permissions: list[tuple[int, int | None, str, str, str]] = []
    issues: dict[int, IssueRow] = {}
    agent_refs: set[AgentRef] = set()
    usage: dict[str, Stated] = {}


class Decision(NamedTuple):
    """Whether a call was allowed or denied, by whom (one of `model.permissions.DECIDERS`), and in which words of the client."""

    kind: str
    by: str
    words: str = ""


class RowFold:
    """Fills `rows` and `state` from the records of one transcript."""

    def __init__(
        self,
        base: int,
        *,
        path: str,
        session_id: str,
        agent_id: str,
        is_agent: bool,
        state: State,
        seen_message: SeenMessage,
    ) -> None:
        self.base = base
        self.path = path
        self.session_id = session_id or state.session_id
        self.agent_id = agent_id
        self.is_agent = is_agent
        self.state = state
        self.rows = Rows()
        self.issues = IssueRows(base, state)
        self.seen_message = seen_message
        self.messages: dict[str, int] = {}  # key -> id; may be cleared once their rows are written

    def note_mode(self, place: int, ts: int | None, mode: str, words: str) -> None:
        """Note the permission mode from a place on, in neutral terms and in the client's words."""
        if words != self.state.permission_mode:
            self.state.permission_mode = words
            self.rows.permissions.append((place, ts, MODE, mode, words))

    def note_decision(self, block_id: int, ts: int | None, decision: Decision) -> None:
        """Note who allowed or denied the call that a result answers."""
        self.rows.permissions.append((block_id, ts, *decision))

    def note_context(self, branch: str | None, version: str | None) -> None:
        """Note the branch and the client version of a record."""
        state = self.state
        if branch and branch != state.branch:
            state.branch = branch
            note(state.branches, branch)
        if version and version != state.version:
            state.version = version
            note(state.versions, version)

    def note_drift(self, version: str, kind: str, field: str, offset: int) -> None:
        """Count a kind of records, or a field of one, that is not known yet."""
        drift = self.state.drift
        key = f"{version[:40]}\t{kind[:80]}\t{field[:80]}"
        if key in drift:
            count, first = drift[key]
            drift[key] = (count + 1, first)
        elif len(drift) < _MAX_DRIFT:
            drift[key] = (1, offset)

    def message_id(
        self, key: str, record_id: int, model: str | None, ts: int | None, counts: State | None = None
    ) -> int:
        """The id of an API message, which is that of its first line; a new one gets its row, and is counted."""
        message_id = self.messages.get(key)
        if message_id is None:
            message_id = self.seen_message(key)
            if message_id is None:
                message_id = record_id
                (counts or self.state).messages += 1
                self.rows.messages.append((record_id, key, model, ts))
                if model:
                    note(self.state.models, model)
            self.messages[key] = message_id
        return message_id

    def count_usage(self, stated: Iterable[tuple[str, Stated]]) -> None:
        """Merge what a record states about API messages."""
        usage = self.rows.usage
        for key, statement in stated:
            known = usage.get(key)
            usage[key] = statement if known is None else absorb(known, statement)

    def open_call(self, tool_use_id: str, call: OpenCall) -> Result | None:
        """Remember a call until its result comes; returns the result if it came first."""
        state, key = self.state, tool_use_id[:NAME_LENGTH]
        early = state.early_results.pop(key, None)
        if early is not None:
            self.rows.result_tools.append((call.name, early.id))
            return early
        state.open_calls[key] = call
        if len(state.open_calls) > MAX_OPEN_CALLS:
            del state.open_calls[next(iter(state.open_calls))]
        return None

    def keep_early(self, tool_use_id: str, result: Result) -> None:
        """Remember a result until its call comes."""
        early = self.state.early_results
        early[tool_use_id[:NAME_LENGTH]] = result
        if len(early) > MAX_EARLY_RESULTS:
            del early[next(iter(early))]

    def put_result(self, call: OpenCall, known: tuple[Any, ...]) -> None:
        """Complete the row of a call, which may have been written before."""
        row = self.rows.calls.get(call.id)
        if row is None:
            self.rows.call_results.append((*known, call.id))
        else:
            row[6], row[7], row[8], row[9], row[10], row[11], row[12], row[5] = known
