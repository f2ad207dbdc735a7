"""A session as a trajectory in the Agent Trajectory Interchange Format, in pieces: a line for each step.

https://www.harborframework.com/docs/agents/trajectory-format. Version 1.7 is written, because nothing here needs 1.8 (audio).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hansard.model.gate import replaced
from hansard.model.ledger import Tokens
from hansard.model.serialize import json_bytes
from hansard.pricing.cost import total as total_of
from hansard.render.document import REDACTED
from hansard.render.steps import Step, steps
from hansard.thread.calls import ModelCall

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from decimal import Decimal

    from hansard.model.display import Picture
    from hansard.model.threads import Agent, Entry
    from hansard.thread.thread import Thread

    Address = Callable[[Picture], str | None]

VERSION = "ATIF-v1.7"
NOT_INCLUDED = (
    "records that are not shown to a reader, which `final_metrics.extra.not_shown` counts",
    "documents and pictures other than PNG, JPEG, GIF and WebP, which `final_metrics.extra.omitted_media` names",
    "the diffs that the client recorded beside the results of edits",
    "notes, tags and pins",
)
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_DEEPEST = 30  # subagents inside each other; what is deeper is listed beside them


def pieces(thread: Thread, address: Address | None = None) -> Iterator[bytes]:
    """The trajectory of a session with those of its subagents; `address` stores a picture and gives its path."""
    yield from _Writer(thread, address).trajectory(thread)
    yield b"\n"


class _Writer:
    def __init__(self, thread: Thread, address: Address | None) -> None:
        self._thread = thread
        self._session = thread.session
        self._address = address
        self._written: set[str] = set()  # API messages whose metrics are in a step
        known = {agent.agent_id: agent for agent in thread.agents}
        self._made: dict[str | None, list[Agent]] = {}
        for agent in known.values():
            self._made.setdefault(_parent(agent, known), []).append(agent)

    def trajectory(self, thread: Thread, agent: Agent | None = None) -> Generator[bytes, None, Decimal | None]:
        """A thread, and the threads of the subagents that it started; returns what all of these cost."""
        session = self._session
        yield b'{"schema_version": ' + json_bytes(VERSION) + b', "session_id": ' + json_bytes(session.session_id)
        name = session.session_id if agent is None else agent.agent_id
        yield b', "trajectory_id": ' + json_bytes(name) + b',\n"agent": ' + json_bytes(self._about(agent))
        if agent is None:
            yield b',\n"notes": ' + json_bytes(f"Exported by Hansard. Not included: {'; '.join(NOT_INCLUDED)}.")
            yield b',\n"extra": ' + json_bytes({"title": session.title})
        yield b',\n"steps": ['
        total = _Total()
        before = b"\n"
        for value in self._steps(thread, total):
            yield before + json_bytes(value)
            before = b",\n"
        if not total.steps:
            total.steps = 1
            yield before + json_bytes({"step_id": 1, "source": "system", "message": ""})
        yield b"]"
        more: dict[str, Any] = {"not_shown": thread.not_shown if thread.has_log else {}, "omitted_media": total.omitted}
        cost = yield from self._subagents(None if agent is None else agent.agent_id, total.cost)
        if agent is None:
            more[REDACTED] = len(replaced(thread.redact))
            rest = [call for call in thread.session_calls() if call.key not in self._written]
            if rest:  # of former generations, known from progress records only, or without any answer
                total.add(rest)
                more["api_messages_without_step"] = len(rest)
                more["calls"] = [_call(call) for call in rest]
        yield b',\n"final_metrics": ' + json_bytes(self._final(agent, total, cost, more)) + b"}"
        return cost

    def _subagents(self, parent: str | None, cost: Decimal | None) -> Generator[bytes, None, Decimal | None]:
        made = self._made.get(parent, ())
        if not made:
            return cost
        yield b',\n"subagent_trajectories": ['
        before = b"\n"
        for agent in made:
            yield before
            cost = _sum(cost, (yield from self.trajectory(self._thread.of(agent.agent_id), agent)))
            before = b",\n"
        yield b"]"
        return cost

    def _about(self, agent: Agent | None) -> dict[str, Any]:
        session = self._session
        about: dict[str, Any] = {"name": session.client, "version": session.version or "unknown"}
        if len(session.models) == 1:
            about["model_name"] = session.models[0]
        extra: dict[str, Any]
        if agent is None:
            extra = {"cwds": [session.cwd] if session.cwd else [], "git_branches": list(session.branches)}
        else:
            extra = {"agent_id": agent.agent_id, "agent_type": agent.agent_type, "description": agent.description}
        about["extra"] = {key: value for key, value in extra.items() if value}
        return about

    def _steps(self, thread: Thread, total: _Total) -> Iterator[dict[str, Any]]:
        """The steps of a thread; usage that the client stated in lines by themselves goes to the answers beside them.

        An answer waits for the next one, because its usage may come after prompts and notes.
        """
        if not thread.has_log:
            return
        calls = thread.calls()
        own = _by_key(calls.models)
        last = {key: offset for offset, key in calls.lines.items()}
        alone = deque(sorted(own, key=lambda key: last[key]))
        waiting: list[_Written] = []  # an answer, if there was one, and what came after it
        left: list[ModelCall] = []  # that the next answer gets
        for step in steps(thread.entries(), calls.lines, calls.borders):
            total.steps += 1
            made = _Written(self._step(thread, step, total))
            if step.source == "agent":
                while alone and last[alone[0]] < step.first.offset:
                    left += self._new(alone.popleft(), own)
                if not calls.is_usage_first and waiting and waiting[0].value["source"] == "agent":
                    waiting[0].add(left)
                    left = []
                yield from (one.finish(total) for one in waiting)
                waiting = []
                made.add(left)
                left = []
                if step.key in own:
                    made.calls += self._new(step.key, own)
                elif step.key in calls.copies:
                    made.value["is_copied_context"] = True
            waiting.append(made)
        if waiting and waiting[0].value["source"] == "agent":
            waiting[0].add([call for key in alone for call in self._new(key, own)])
        yield from (one.finish(total) for one in waiting)

    def _new(self, key: str, own: Mapping[str, list[ModelCall]]) -> list[ModelCall]:
        """The calls of a message, unless a step has them already."""
        calls = [call for call in own[key] if call.key not in self._written]
        self._written.update(call.key for call in calls)
        return calls

    def _step(self, thread: Thread, step: Step, total: _Total) -> dict[str, Any]:
        first = step.first
        value: dict[str, Any] = {"step_id": total.steps}
        if first.at is not None:
            value["timestamp"] = first.at
        value["source"] = step.source
        texts = [step.text] if step.source == "agent" else [entry.text for entry in step.replies]
        value["message"] = self._content(texts, self._media(thread, step.replies, total))
        extra: dict[str, Any] = {} if step.source == "agent" or first.kind == "prompt" else {"kind": first.kind}
        if step.source == "agent":
            self._agent_step(thread, step, total, value)
        extra |= {"uuid": first.uuid} if first.uuid else {}
        extra |= {"branch": first.branch} if first.branch else {}
        extra |= {"queued": True} if first.queued else {}
        if extra:
            value["extra"] = extra
        return value

    def _agent_step(self, thread: Thread, step: Step, total: _Total, value: dict[str, Any]) -> None:
        if step.first.model:
            value["model_name"] = step.first.model
        if step.thinking:
            value["reasoning_content"] = step.thinking
        calls, results = [], []
        for call_id, call, entry in step.calls:
            given = call.input if isinstance(call.input, dict) else {"input": call.input}
            calls.append({"tool_call_id": call_id, "function_name": call.tool, "arguments": given})
            result: dict[str, Any] = {"source_call_id": call_id}
            if call.output is not None:
                result["content"] = self._content([call.output], self._media(thread, [entry], total))
            if call.agent_id is not None:
                result["subagent_trajectory_ref"] = [
                    {"trajectory_id": call.agent_id, "session_id": self._session.session_id}
                ]
            extra: dict[str, Any] = {"is_error": True} if call.is_error else {}
            extra |= {"duration_ms": call.duration_ms} if call.duration_ms is not None else {}
            if extra:
                result["extra"] = extra
            if len(result) > 1:
                results.append(result)
        if calls:
            value["tool_calls"] = calls
        if results:
            value["observation"] = {"results": results}

    def _media(self, thread: Thread, entries: Iterable[Entry], total: _Total) -> list[dict[str, Any]]:
        found = []
        for entry in entries:
            for picture in thread.pictures(entry):
                media = picture.media_type.lower()
                path = self._address(picture) if self._address is not None and media in _IMAGES else None
                if path is None:
                    total.omitted[media] = total.omitted.get(media, 0) + 1
                else:
                    found.append({"type": "image", "source": {"media_type": media, "path": path}})
        return found

    def _content(self, texts: list[str], media: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
        if not media and len(texts) == 1:
            return texts[0]
        return [*({"type": "text", "text": text} for text in texts if text), *media]

    def _final(self, agent: Agent | None, total: _Total, cost: Decimal | None, more: dict[str, Any]) -> dict[str, Any]:
        """The tokens of a trajectory's own steps and the cost with subagents, as far as recorded; of a session also the ledger's."""
        extra = {name: found for name, found in more.items() if found}
        session = self._session
        if agent is None:
            cost = session.cost_usd if session.api_messages else None
        value: dict[str, Any] = _counts(total.tokens, "total_") if total.calls else {}
        if cost is not None:
            value["total_cost_usd"] = float(cost)
        value["total_steps"] = total.steps
        if agent is None:
            about = {
                "api_messages": session.api_messages,
                "input_tokens": session.input_tokens,
                "output_tokens": session.output_tokens,
                "cache_read_input_tokens": session.cache_read_tokens,
                "cache_creation_input_tokens": session.cache_write_tokens,
                "cost_usd": cost,  # exact
            }
            if missing := extra.pop("api_messages_without_step", 0):
                about["api_messages_without_step"] = missing
            extra["session"] = about
        if extra:
            value["extra"] = extra
        return value


def _parent(agent: Agent, known: Mapping[str, Agent]) -> str | None:
    """The subagent that started another; None for the session, and where parents go in a circle or too deep."""
    passed = {agent.agent_id}
    step = agent.parent_agent
    while step is not None and step in known and step not in passed and len(passed) < _DEEPEST:
        passed.add(step)
        step = known[step].parent_agent
    return agent.parent_agent if step not in known and agent.parent_agent in known else None


class _Written(Struct):
    """A step, and the API messages that are counted with it."""

    value: dict[str, Any]
    calls: list[ModelCall] = []
    is_apart: bool = False  # the client stated some of them in lines of their own

    def add(self, calls: list[ModelCall]) -> None:
        """Count messages that the client stated in lines of their own."""
        self.calls += calls
        self.is_apart |= bool(calls)

    def finish(self, total: _Total) -> dict[str, Any]:
        """The step with its metrics."""
        if self.calls:
            metrics = total.add(self.calls)
            models = {call.model for call in self.calls}
            if len(self.calls) > 1 or models != {self.value.setdefault("model_name", self.calls[0].model)}:
                metrics["extra"]["calls"] = [_call(call) for call in self.calls]
            if self.is_apart:
                metrics["extra"]["stated_apart"] = True
            self.value["metrics"] = metrics
            self.value["llm_call_count"] = len(self.calls)
        return self.value


class _Total:
    """Sums over the steps of one trajectory."""

    def __init__(self) -> None:
        self.steps = 0
        self.calls = 0
        self.tokens = Tokens()
        self.cost: Decimal | None = None
        self.omitted: dict[str, int] = {}  # by media type

    def add(self, calls: list[ModelCall]) -> dict[str, Any]:
        """Add the calls of one step; gives its metrics."""
        tokens = Tokens()
        cost: Decimal | None = None
        for call in calls:
            tokens += call.tokens
            cost = _sum(cost, call.cost_usd)
        self.calls += len(calls)
        self.tokens += tokens
        self.cost = _sum(self.cost, cost)
        metrics = _counts(tokens, "")
        if cost is not None:
            metrics["cost_usd"] = float(cost)
        return {**metrics, "extra": _classes(tokens, cost, is_lower_bound=any(call.is_lower_bound for call in calls))}


def _classes(tokens: Tokens, cost: Decimal | None, *, is_lower_bound: bool) -> dict[str, Any]:
    """The classes of tokens as the ledger has them, and the exact cost."""
    extra: dict[str, Any] = {
        "input_tokens": tokens.input,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": tokens.cache_write_5m + tokens.cache_write_1h,
        "ephemeral_5m_input_tokens": tokens.cache_write_5m,
        "ephemeral_1h_input_tokens": tokens.cache_write_1h,
        "web_search_requests": tokens.web_searches,
    }
    extra = {name: count for name, count in extra.items() if count or name == "input_tokens"}
    if cost is not None:
        extra["cost_usd"] = cost
    if is_lower_bound:
        extra["is_lower_bound"] = True
    return extra


def _call(call: ModelCall) -> dict[str, Any]:
    """One of several API messages of a step: its model and what it spent."""
    classes = _classes(call.tokens, call.cost_usd, is_lower_bound=call.is_lower_bound)
    return {"model_name": call.model, **classes, "output_tokens": call.tokens.output}


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    """The sum of what is known."""
    return one if other is None else other if one is None else total_of((one, other))


def _counts(tokens: Tokens, prefix: str) -> dict[str, Any]:
    prompt = tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h
    return {
        f"{prefix}prompt_tokens": prompt,
        f"{prefix}completion_tokens": tokens.output,
        f"{prefix}cached_tokens": tokens.cache_read,
    }


def _by_key(calls: Iterable[ModelCall]) -> dict[str, list[ModelCall]]:
    """The messages, each with what it asked advisors, whose keys begin with its own."""
    found: dict[str, list[ModelCall]] = {}
    for call in calls:
        found.setdefault(call.key.partition("#advisor")[0], []).append(call)
    return found
