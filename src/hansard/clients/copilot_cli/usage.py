"""Tokens of a Copilot CLI session.

Three generations state them differently, and each counts once:

- `session.usage_record` (from about 1.0.100): one per model call. Shutdown records repeat their sums.
- `session.shutdown` from 1.0.66 on: totals of the session. Up to 1.0.65: totals since the last start or resume.
- `assistant.message.outputTokens` (up to about 1.0.87): the output of one call. It is all that is known of the calls after the last
  shutdown, so it is a lower bound there.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hansard.clients.generic import Usage
from hansard.clients.values import string, table, whole

_LAST_BY_SEGMENT = (1, 0, 65)
_MOST_MODELS = 50
_MOST_CALLS = 500
_CHOSEN = "auto"  # in place of a model: the client chooses one
Counts = tuple[int, int, int, int]  # input, output, cache read, cache write, as the client states them
_NONE: Counts = (0, 0, 0, 0)


class Tokens(Struct, gc=False, omit_defaults=True):
    """What is known so far; a segment goes from a start or resume to the next one."""

    version: tuple[int, ...] = ()
    segment: int = 0
    model: str = ""  # that the main thread uses
    agent_models: dict[str, str] = {}  # of subagents, by the call that started them
    has_records: bool = False  # usage records: nothing else counts
    counted: dict[str, Counts] = {}  # by model, up to the last shutdown
    said: dict[
        str, int
    ] = {}  # output of messages by model, in the segment or in the session: whatever shutdowns sum up
    unknown: dict[str, int] = {}  # the same while the model of the main thread ("") or of a subagent is not known
    segment_output: int = 0  # of all messages
    session_output: int = 0
    last_call: str = ""  # whose output was counted, and how much that was
    calls: dict[str, int] = {}  # the last calls with records, with their numbers
    keys: dict[str, str] = {}  # of the last records, by the ids that messages name

    @property
    def is_by_segment(self) -> bool:
        """Whether shutdowns of this version state what was spent since the last start or resume."""
        return () < self.version <= _LAST_BY_SEGMENT

    def start(self, version: str) -> None:
        if version:
            self.version = tuple(int(part) for part in version.split("-", maxsplit=1)[0].split(".") if part.isdecimal())
        self.segment += 1
        self.segment_output = 0
        if self.is_by_segment:
            self.said, self.unknown = {}, {}

    def record(self, data: dict[str, Any], event_id: str) -> Usage:
        """The tokens of a usage record."""
        usage = table(data, "usage") or data
        self.has_records = True
        accounting = table(usage, "accounting")
        call = string(accounting, "usageId") or string(usage, "apiCallId") or event_id
        key = self._unique(call, whole(accounting, "sequence"))
        self.keys[string(usage, "apiCallId") or call] = key
        if len(self.keys) > _MOST_CALLS:
            del self.keys[next(iter(self.keys))]
        return _usage(key, string(usage, "model"), _counts(usage))

    def _unique(self, call: str, number: int) -> str:
        """The key of a call: a relay may give the same id to all of them."""
        known = self.calls.setdefault(call, number)
        if len(self.calls) > _MOST_CALLS:
            del self.calls[next(iter(self.calls))]
        return call if known == number else f"{call}@{number}"

    def message(self, data: dict[str, Any], agent: str) -> Usage | None:
        """The output tokens of a message, added to those of the messages before it."""
        model = string(data, "model") or (self.agent_models.get(agent, "") if agent else self.model)
        output, call = whole(data, "outputTokens"), string(data, "apiCallId")
        if self.has_records:
            return Usage(self.keys[call], model, is_final=False) if call in self.keys else None
        said = f"{call}/{output}"
        if output > 0 and (not call or self.last_call != said):
            self.last_call = said if call else ""
            self.segment_output += output
            self.session_output += output
            if agent in self.unknown or len(self.unknown) < _MOST_MODELS:
                self.unknown[agent] = self.unknown.get(agent, 0) + output
        return self.model_known(model, agent) or (self._lower_bound(model) if self.said.get(model) else None)

    def model_known(self, model: str, agent: str) -> Usage | None:
        """Note which model the main thread or a subagent uses; what it said so far becomes that model's tokens."""
        if not model or model == _CHOSEN:
            return None
        if not agent:
            self.model = model
        elif len(self.agent_models) < _MOST_MODELS or agent in self.agent_models:
            self.agent_models[agent] = model
        output = self.unknown.pop(agent, 0)
        if not output or self.has_records or (model not in self.said and len(self.said) >= _MOST_MODELS):
            return None
        self.said[model] = self.said.get(model, 0) + output
        return self._lower_bound(model)

    def shutdown(self, data: dict[str, Any]) -> list[Usage]:
        """The tokens of a segment or of the session, for each model; the model that gave the most comes first."""
        if self.has_records:
            return []
        metrics = table(data, "modelMetrics") or table(table(data, "accountingSnapshot"), "modelMetrics")
        totals = {model: _counts(table(value, "usage")) for model, value in list(metrics.items())[:_MOST_MODELS]}
        by_segment = self._is_segment(sum(counts[1] for counts in totals.values()))
        found = []
        keys = self._keys(totals)
        for model, now in totals.items():
            if model not in self.counted and len(self.counted) >= _MOST_MODELS:
                continue
            before = self.counted.get(model, _NONE)
            total = _combine(now, before, 1) if by_segment else now
            self.counted[model] = total
            counts = _combine(total, before, -1) if self.is_by_segment else total
            if any(counts):
                found.append(_usage(keys[model], model, counts))
        return sorted(found, key=lambda usage: -usage.output)

    def _keys(self, totals: dict[str, Counts]) -> dict[str, str]:
        """The keys of models; one that only a shutdown names may be what the session or its messages called otherwise."""
        other = iter([model for model in self.said if model not in totals and self.said[model]])
        names = {model: model if model in self.said else next(other, model) for model in totals}
        return {model: self._key(name) for model, name in names.items()}

    def _is_segment(self, output: int) -> bool:
        """Whether a shutdown with this output states a segment: what the messages say is surer than the version."""
        if self.segment_output != self.session_output and output in (self.segment_output, self.session_output):
            return output == self.segment_output
        return self.is_by_segment

    def _lower_bound(self, model: str) -> Usage:
        return Usage(self._key(model), model, output=self.said.get(model, 0), is_final=False)

    def _key(self, model: str) -> str:
        return f"segment-{self.segment}/{model}" if self.is_by_segment else f"session/{model}"


def _counts(usage: dict[str, Any]) -> Counts:
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    given, output, read, write = (max(0, whole(usage, name)) for name in names)
    return given, output, read, write


def _combine(one: Counts, other: Counts, sign: int) -> Counts:
    given, output, read, write = (max(0, a + sign * b) for a, b in zip(one, other, strict=True))
    return given, output, read, write


def _usage(key: str, model: str, counts: Counts) -> Usage:
    given, output, read, write = counts
    return Usage(key, model, max(0, given - read - write), output, read, write)
