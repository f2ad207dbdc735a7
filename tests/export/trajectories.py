"""The rules of the Agent Trajectory Interchange Format 1.7, as its published validator checks them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

_TRAJECTORY = "schema_version session_id trajectory_id agent steps notes final_metrics continued_trajectory_ref extra subagent_trajectories"
_STEP = (
    "step_id timestamp source model_name reasoning_effort message reasoning_content tool_calls observation metrics"
    " is_copied_context llm_call_count extra"
)
_METRICS = "prompt_tokens completion_tokens cached_tokens cost_usd prompt_token_ids completion_token_ids logprobs extra"
_FINAL = "total_prompt_tokens total_completion_tokens total_cached_tokens total_cost_usd total_steps extra"
_OF_AGENTS = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"}
_IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}


def check_trajectory(value: dict[str, Any], *, is_embedded: bool = False) -> None:
    """Assert that a document keeps every rule."""
    _only(value, _TRAJECTORY, "schema_version agent steps")
    assert value["schema_version"] == "ATIF-v1.7"
    _only(value["agent"], "name version model_name tool_definitions extra", "name version")
    assert not is_embedded or isinstance(value["trajectory_id"], str)
    assert [step["step_id"] for step in value["steps"]] == list(range(1, len(value["steps"]) + 1))
    assert value["steps"]
    _only(value["final_metrics"], _FINAL, "")
    assert value["final_metrics"]["total_steps"] == len(value["steps"])
    inside = value.get("subagent_trajectories", [])
    names = {one["trajectory_id"] for one in inside}
    assert len(names) == len(inside)
    for step in value["steps"]:
        _check_step(step)
    for one in inside:
        check_trajectory(one, is_embedded=True)


def check_references(value: dict[str, Any]) -> int:
    """Assert that each reference to a subagent can be resolved in its own document; gives their number."""
    names = {one["trajectory_id"] for one in value.get("subagent_trajectories", [])}
    found = 0
    for step in value["steps"]:
        for result in step.get("observation", {}).get("results", []):
            for reference in result.get("subagent_trajectory_ref", []):
                assert reference["trajectory_id"] in names
                found += 1
    return found + sum(check_references(one) for one in value.get("subagent_trajectories", []))


def trajectories(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A document and all that are embedded in it."""
    yield value
    for one in value.get("subagent_trajectories", []):
        yield from trajectories(one)


def _check_step(step: dict[str, Any]) -> None:
    _only(step, _STEP, "step_id source message")
    assert step["source"] in ("system", "user", "agent")
    assert step["source"] == "agent" or not _OF_AGENTS & set(step)
    if "timestamp" in step:
        datetime.fromisoformat(step["timestamp"])
    _check_content(step["message"])
    if "metrics" in step:
        _only(step["metrics"], _METRICS, "")
        assert step["llm_call_count"] >= 1
    calls = set()
    for call in step.get("tool_calls", []):
        _only(call, "tool_call_id function_name arguments extra", "tool_call_id function_name arguments")
        assert isinstance(call["arguments"], dict)
        calls.add(call["tool_call_id"])
    for result in step.get("observation", {"results": []})["results"]:
        _only(result, "source_call_id content subagent_trajectory_ref extra", "")
        assert result["source_call_id"] in calls
        if "content" in result:
            _check_content(result["content"])


def _check_content(content: Any) -> None:
    for part in content if isinstance(content, list) else ():
        if part["type"] == "text":
            assert set(part) == {"type", "text"}
        else:
            assert set(part) == {"type", "source"}
            assert part["source"]["media_type"] in _IMAGES
    assert isinstance(content, (str, list))


def _only(value: dict[str, Any], allowed: str, required: str) -> None:
    assert set(required.split()) <= set(value) <= set(allowed.split()), set(value)
    assert None not in value.values()
