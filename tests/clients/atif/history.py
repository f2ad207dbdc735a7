"""Invented trajectories, as evaluation tools write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "atif-run-7"
CHILD = "run-7-sub-1"


def agent_step(number: int, message: str, prompt: int, output: int, cached: int = 0, **more: Any) -> dict[str, Any]:
    metrics = {"prompt_tokens": prompt, "completion_tokens": output, "cached_tokens": cached, "cost_usd": 0.001}
    return {
        "step_id": number,
        "timestamp": f"2026-10-01T12:00:{number:02}Z",
        "source": "agent",
        "model_name": "claude-sonnet-4-5",
        "message": message,
        "metrics": metrics,
        **more,
    }


def call(name: str, tool: str, **given: Any) -> dict[str, Any]:
    return {"tool_call_id": name, "function_name": tool, "arguments": given}


def trajectory() -> dict[str, Any]:
    """A run with a subagent, pictures, a failure, and results without calls."""
    person = {"source": "user", "timestamp": "2026-10-01T12:00:02Z"}
    asked = [
        {"type": "text", "text": "When is high water in Emden?"},
        {"type": "image", "source": {"media_type": "image/png", "path": "images/map.png"}},
    ]
    looked = {"source_call_id": "c1", "content": "05:12 17:40"}
    failed = {
        "source_call_id": "c2",
        "content": [{"type": "text", "text": "no such file"}],
        "extra": {"is_error": True},
    }
    sent = {
        "source_call_id": "c3",
        "content": "It is Thursday.",
        "subagent_trajectory_ref": [{"trajectory_id": CHILD, "session_id": "run-7"}],
    }
    child = {
        "schema_version": "ATIF-v1.7",
        "trajectory_id": CHILD,
        "agent": {"name": "helper", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "user", "message": 'Which day is it? {"steps": [}'},
            agent_step(2, "It is Thursday.", 50, 5),
        ],
    }
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "run-7",
        "agent": {
            "name": "terminus",
            "version": "2.0",
            "model_name": "claude-sonnet-4-5",
            "extra": {"cwds": ["/srv/tides"], "git_branches": ["main"]},
        },
        "steps": [
            {"step_id": 1, "source": "system", "message": "You are an agent.", "timestamp": "2026-10-01T12:00:01Z"},
            {"step_id": 2, **person, "message": asked},
            agent_step(
                3,
                "I look.",
                100,
                20,
                cached=60,
                reasoning_content="An almanac?",
                tool_calls=[call("c1", "bash", command="cat tides.txt"), call("c2", "read_file", path="/srv/tides/x")],
                observation={"results": [looked, failed]},
            ),
            agent_step(4, "", 120, 10, 100, tool_calls=[call("c3", "delegate")], observation={"results": [sent]}),
            {"step_id": 5, "source": "system", "message": "", "observation": {"results": [{"content": "a warning"}]}},
            agent_step(6, "At 17:40.", 0, 0, is_copied_context=True),
            {"step_id": 7, **person, "timestamp": "2026-10-01T12:00:07Z", "message": "Thank you."},
        ],
        "final_metrics": {"total_steps": 7},
        "subagent_trajectories": [child],
    }


def write(root: Path) -> None:
    """Two trajectories: one indented, one whose agent comes after its steps."""
    folder = root / "atif-conversations"
    folder.mkdir(parents=True)
    (folder / f"{SESSION}.json").write_text(json.dumps(trajectory(), indent=2))
    other = {
        "schema_version": "ATIF-v1.8",
        "steps": [{"step_id": 1, "source": "user", "message": "Begin."}, agent_step(2, "Begun.", 7, 3)],
        "agent": {"name": "other", "version": "1"},
    }
    (folder / "atif-run-8.json").write_text(json.dumps(other))
