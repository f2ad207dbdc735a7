"""A session as OpenTelemetry spans in OTLP/JSON, from the ledger: turns, calls of models, calls of tools, subagents.

Each line is a complete export request (`TracesData`) with the spans of one turn, as collectors read them from files and take
them at `/v1/traces`. Attributes follow the GenAI semantic conventions of `SCHEMA`, the last release that contains them.
Ids are hashes of what identifies a call, so that a repeated export has the same ids. Times are those of the recorded lines.
"""

from __future__ import annotations

from bisect import bisect_right
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hansard.model.gate import replaced
from hansard.model.serialize import json_bytes, money
from hansard.render.document import REDACTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from hansard.model.threads import Agent
    from hansard.thread.calls import ModelCall, ThreadCalls, ToolTimes
    from hansard.thread.structure import OutlineTurn
    from hansard.thread.thread import Thread

SCHEMA = "https://opentelemetry.io/schemas/1.41.1"
NOT_INCLUDED = (
    "texts: prompts, replies, thinking, inputs and results of tools",
    "when requests were sent: a span of a model call lasts from the first line of its answer to the last",
    "the lifetime of cache writes",
    "turns and subagents without calls, and what other sessions began and this one copied",
    "notes, tags and pins",
)
_INTERNAL, _CLIENT, _ERROR = 1, 3, 2
_TIMES = ("startTimeUnixNano", "endTimeUnixNano")
_AT_ONCE = 200  # turns that are read together
_DEEPEST = 30  # subagents inside each other; what is deeper has traces of its own
_PROVIDERS = (
    ("claude", "anthropic"), ("gpt", "openai"), ("o1", "openai"), ("o3", "openai"), ("o4", "openai"), ("codex", "openai"),
    ("gemini", "gcp.gemini"), ("grok", "x_ai"), ("deepseek", "deepseek"), ("mistral", "mistral_ai"), ("command", "cohere"),
)  # fmt: skip


def lines(thread: Thread) -> Iterator[bytes]:
    """The spans of a session, a line for each turn of its own thread, and for each subagent that no call started."""
    yield from _Spans(thread).requests()


class _Spans:
    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._session = thread.session
        self._left = {agent.agent_id: agent for agent in thread.agents}
        self._made: dict[str, list[Agent]] = {}  # by the calls that started them
        for agent in thread.agents:
            if agent.tool_use_id and agent.depth <= _DEEPEST:
                self._made.setdefault(agent.tool_use_id, []).append(agent)
        self._done: set[str] = set()  # keys of API messages

    def requests(self) -> Iterator[bytes]:
        thread = self._thread
        if thread.has_log:
            calls = thread.calls()
            starts = [start.offset for start in thread.starts]
            models, tools = _by_turn(calls.models, starts), _by_turn(calls.tools, starts)
            for first in range(0, max(1, len(starts)), _AT_ONCE):
                turns: Sequence[OutlineTurn | None] = thread.outline(first + 1, first + _AT_ONCE) or (None,)
                for number, turn in enumerate(turns, first):
                    own = models.get(number, []), tools.get(number, [])
                    if any(own):
                        yield self._request(self._turn(turn, calls, *own))
        while self._left:
            agent = next(iter(self._left.values()))
            spans = self._agent(agent, self._trace(f"agent {agent.agent_id}"), "")
            if len(spans) > 1:
                yield self._request(spans)
        rest = [call for call in thread.session_calls() if call.key not in self._done]
        if rest:  # of former generations of a file, or known from progress records only
            yield self._request(self._turn(None, None, rest, []))

    def _turn(
        self, turn: OutlineTurn | None, calls: ThreadCalls | None, models: list[ModelCall], tools: list[ToolTimes]
    ) -> list[dict[str, Any]]:
        key = "other" if turn is None else f"turn {turn.offset}"
        trace = self._trace(key)
        spans = self._invocation(trace, "", _hash(trace, key), self._session.client, calls, models, tools, {})
        if turn is not None and turn.started_at is not None:  # with its prompt
            spans[0]["startTimeUnixNano"] = min(spans[0]["startTimeUnixNano"], _nanoseconds(turn.started_at), key=int)
        return spans

    def _agent(self, agent: Agent, trace: str, parent: str) -> list[dict[str, Any]]:
        """The spans of a subagent, and of those that it started."""
        del self._left[agent.agent_id]
        thread = self._thread.of(agent.agent_id)
        calls = thread.calls()
        about = {"gen_ai.agent.id": agent.agent_id}
        span = _hash(trace, f"agent {agent.agent_id}")
        name = agent.agent_type or "subagent"
        return self._invocation(trace, parent, span, name, calls, calls.models, calls.tools, about)

    def _invocation(
        self,
        trace: str,
        parent: str,
        span: str,
        name: str,
        calls: ThreadCalls | None,
        models: list[ModelCall],
        tools: list[ToolTimes],
        about: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """A span for a turn or a subagent, with those of its calls inside."""
        inside = [self._model(trace, span, call, calls) for call in models]
        for tool in tools:
            inside.append(self._tool(trace, span, tool))
            parent_call = inside[-1]["spanId"]
            for agent in self._made.get(tool.tool_use_id, ()):
                if agent.agent_id in self._left:
                    inside += self._agent(agent, trace, parent_call)
        times = [int(one[end]) for one in inside for end in _TIMES if one[end] != "0"]
        unknown = int(_nanoseconds(self._session.started_at))
        start, stop = min(times, default=unknown), max(times, default=unknown)
        for one in inside:
            if one["startTimeUnixNano"] == "0":  # not recorded
                one["startTimeUnixNano"] = one["endTimeUnixNano"] = str(start)
        model = models[0].model if models else ""
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": self._provider(model),
            "gen_ai.agent.name": name,
            "gen_ai.agent.version": self._session.version,
            "gen_ai.conversation.id": self._session.session_id,
            **about,
        }
        own = _span(trace, span, parent, f"invoke_agent {name}", _INTERNAL, attributes)
        own["startTimeUnixNano"], own["endTimeUnixNano"] = str(start), str(stop)
        return [own, *inside]

    def _model(self, trace: str, parent: str, call: ModelCall, calls: ThreadCalls | None) -> dict[str, Any]:
        self._done.add(call.key)
        tokens = call.tokens
        written = tokens.cache_write_5m + tokens.cache_write_1h
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._provider(call.model),
            "gen_ai.response.model": call.model,
            "gen_ai.response.id": call.key,
            "gen_ai.conversation.id": self._session.session_id,
            "gen_ai.usage.input_tokens": tokens.input + tokens.cache_read + written,
            "gen_ai.usage.output_tokens": tokens.output,
            "gen_ai.usage.cache_read.input_tokens": tokens.cache_read,
            "gen_ai.usage.cache_creation.input_tokens": written,
            "hansard.cost_usd": None if call.cost_usd is None else money(call.cost_usd),
            "hansard.is_lower_bound": call.is_lower_bound or None,
        }
        known = calls.times.get(call.key) if calls is not None else None
        first, last = (known.first, known.last) if known is not None else (call.at, call.at)
        name = f"chat {call.model}"
        return _span(trace, _hash(trace, call.key), parent, name, _CLIENT, attributes, first, last)

    def _tool(self, trace: str, parent: str, call: ToolTimes) -> dict[str, Any]:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.call.id": call.tool_use_id,
            "gen_ai.tool.type": "function",
            "gen_ai.conversation.id": self._session.session_id,
            "error.type": "_OTHER" if call.is_error else None,
        }
        key = _hash(trace, f"{parent} tool {call.offset} {call.block}")
        name = f"execute_tool {call.tool}"
        span = _span(trace, key, parent, name, _INTERNAL, attributes, call.called_at, call.returned_at)
        return span | ({"status": {"code": _ERROR}} if call.is_error else {})

    def _provider(self, model: str) -> str:
        name = model.rpartition("/")[2].lower()
        return next((provider for start, provider in _PROVIDERS if name.startswith(start)), self._session.client)

    def _trace(self, key: str) -> str:
        return sha256(f"hansard\0{self._session.client}\0{self._session.session_id}\0{key}".encode()).hexdigest()[:32]

    def _request(self, spans: list[dict[str, Any]]) -> bytes:
        about: dict[str, Any] = {"service.name": self._session.client, "service.version": self._session.version}
        if count := len(replaced(self._thread.redact)):
            about[f"hansard.{REDACTED}"] = count
        resource = _attributes(about)
        scoped = {"scope": {"name": "hansard"}, "spans": spans, "schemaUrl": SCHEMA}
        whole = {"resource": {"attributes": resource}, "scopeSpans": [scoped], "schemaUrl": SCHEMA}
        return json_bytes({"resourceSpans": [whole]}) + b"\n"


def _by_turn(calls: Iterable[Any], starts: list[int]) -> dict[int, list[Any]]:
    """Calls by the number of their turn, from 0; what comes before the first belongs to it."""
    found: dict[int, list[Any]] = {}
    for call in calls:
        found.setdefault(max(0, bisect_right(starts, call.offset) - 1), []).append(call)
    return found


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _span(
    trace: str,
    span: str,
    parent: str,
    name: str,
    kind: int,
    attributes: dict[str, Any],
    start: datetime | None = None,
    end: datetime | None = None,
) -> dict[str, Any]:
    start, end = start or end, end or start
    return {
        "traceId": trace,
        "spanId": span,
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": _nanoseconds(start),
        "endTimeUnixNano": _nanoseconds(end),
        "attributes": _attributes(attributes),
    }


def _nanoseconds(at: datetime | None) -> str:
    return "0" if at is None else str(round(at.timestamp() * 1000) * 1_000_000)


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes in the order given; those without a value are left out."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None and value != ""]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}
