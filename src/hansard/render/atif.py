"""A session as a trajectory in the Agent Trajectory Interchange Format, in pieces: a line for each step.

https://www.harborframework.com/docs/agents/trajectory-format. Version 1.7 is written, because nothing here needs 1.8 (audio).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.model.gate import replaced
from hansard.model.ledger import Tokens
from hansard.model.serialize import json_bytes
from hansard.pricing.cost import total as total_of
from hansard.render.document import REDACTED
from hansard.render.steps import Step, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping
    from decimal import Decimal

    from hansard.model.display import Picture
    from hansard.model.threads import Agent, Entry
    from hansard.thread.calls import ModelCall
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
        self._written: set[str] = set()  # messages whose metrics are in a step
        self._calls = 0  # API messages in these
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
        calls = thread.calls() if thread.has_log else None
        before = b"\n"
        if calls is not None:
            own = _by_key(calls.models)
            for step in steps(thread.entries(), calls.lines):
                total.steps += 1
                value = self._step(thread, step, total)
                if step.key is not None and step.key not in self._written:
                    self._usage(step.key, own, calls.copies, total, value)
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

    def _usage(
        self, key: str, own: dict[str, list[ModelCall]], copies: Container[str], total: _Total, value: dict[str, Any]
    ) -> None:
        """Give the first step of an API message its metrics, unless these count for another thread or session."""
        if key in own:
            self._written.add(key)
            self._calls += len(own[key])
            value["metrics"] = total.add(own[key])
            value["llm_call_count"] = len(own[key])
        elif key in copies:
            value["is_copied_context"] = True

    def _step(self, thread: Thread, step: Step, total: _Total) -> dict[str, Any]:
        first = step.first
        value: dict[str, Any] = {"step_id": total.steps}
        if first.at is not None:
            value["timestamp"] = first.at
        value["source"] = step.source
        value["message"] = self._content(step.text, self._media(thread, step.replies, total))
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
                result["content"] = self._content(call.output, self._media(thread, [entry], total))
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

    def _content(self, text: str, media: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
        return [*([{"type": "text", "text": text}] if text else ()), *media] if media else text

    def _final(self, agent: Agent | None, total: _Total, cost: Decimal | None, more: dict[str, Any]) -> dict[str, Any]:
        """The tokens of a trajectory's own steps, and the cost with subagents; of a session also what the ledger says."""
        extra = {name: found for name, found in more.items() if found}
        session = self._session
        cost = session.cost_usd if agent is None else cost
        value: dict[str, Any] = _counts(total.tokens, "total_")
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
            if session.api_messages > self._calls:  # of former generations, or known from progress records only
                about["api_messages_without_step"] = session.api_messages - self._calls
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


class _Total:
    """Sums over the steps of one trajectory."""

    def __init__(self) -> None:
        self.steps = 0
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
        self.tokens += tokens
        self.cost = _sum(self.cost, cost)
        metrics = _counts(tokens, "")
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
            metrics["cost_usd"] = float(cost)
            extra["cost_usd"] = cost  # exact
        if any(call.is_lower_bound for call in calls):
            extra["is_lower_bound"] = True
        return {**metrics, "extra": extra}


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
