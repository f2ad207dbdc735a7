"""An invented history of Codex: a thread with everything in it, a fork that copied it, one that refers to it, and a subagent."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
_FIRST = int(START.timestamp() * 1000)


def uuid7(seconds: float, number: int) -> str:
    """An id with a time in it."""
    text = f"{_FIRST + round(seconds * 1000):012x}7{number:03x}8{number:015x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:32]))


THREAD, FORK, CHILD, LATER = uuid7(0, 1), uuid7(600, 2), uuid7(30, 3), uuid7(900, 4)
OLDEST = "cdadf2f0-5163-4b6c-a0bf-45598dfce515"
PATCH = """*** Begin Patch
*** Add File: tides.py
+HIGH = "17:40"
+LOW = "05:12"
*** Update File: README.md
@@ intro
 # Tides
-Nothing yet.
+Times of high water in Emden.
*** Delete File: old.txt
*** End Patch"""

PATCHED = "Success. Updated the following files:\nA tides.py\nM README.md\nD old.txt\n"


class Rollout:
    """Lines of one thread."""

    def __init__(self, thread: str, seconds: float = 0) -> None:
        self.thread, self.seconds = thread, seconds
        self.lines: list[dict[str, Any]] = []
        self.totals = [0, 0, 0]

    def add(self, kind: str, payload: dict[str, Any], *, after: float = 1, **more: Any) -> None:
        self.seconds += after
        stamp = (START + timedelta(seconds=self.seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.lines.append({"timestamp": stamp, "type": kind, "payload": payload, **more})

    def meta(self, **more: Any) -> None:
        stamp = (START + timedelta(seconds=self.seconds)).isoformat().replace("+00:00", "Z")
        about = {"id": self.thread, "timestamp": stamp, "cwd": "/srv/tides", "cli_version": "0.115.0", "source": "cli"}
        self.add("session_meta", {**about, "git": {"branch": "main"}, **more}, after=0)

    def turn(self, prompt: str, number: int, model: str = "gpt-5.4") -> None:
        turn = uuid7(self.seconds + 1, number)
        self.event("task_started", turn_id=turn)
        self.add("turn_context", {"turn_id": turn, "cwd": "/srv/tides", "model": model})
        context = "<environment_context>\n  <cwd>/srv/tides</cwd>\n</environment_context>"
        self.item("message", role="user", content=[{"type": "input_text", "text": context}])
        self.item("message", role="user", content=[{"type": "input_text", "text": prompt}])
        self.event("user_message", message=prompt, images=[])

    def item(self, kind: str, **payload: Any) -> None:
        self.add("response_item", {"type": kind, **payload})

    def event(self, kind: str, **payload: Any) -> None:
        self.add("event_msg", {"type": kind, **payload})

    def say(self, text: str) -> None:
        self.event("agent_message", message=text)
        self.item("message", role="assistant", content=[{"type": "output_text", "text": text}])

    def call(self, call_id: str, name: str, given: dict[str, Any], output: str) -> None:
        self.item("function_call", name=name, arguments=json.dumps(given), call_id=call_id)
        self.item("function_call_output", call_id=call_id, output=output)

    def spend(self, read: int, cached: int, wrote: int, *, times: int = 1) -> None:
        """State the tokens of an answer, and again with every change of a rate limit."""
        self.totals = [total + more for total, more in zip(self.totals, (read, cached, wrote), strict=True)]
        names = ("input_tokens", "cached_input_tokens", "output_tokens")
        info = {
            "total_token_usage": {**dict(zip(names, self.totals, strict=True)), "total_tokens": sum(self.totals)},
            "last_token_usage": {**dict(zip(names, (read, cached, wrote), strict=True)), "total_tokens": read + wrote},
        }
        for _ in range(times):
            self.event("token_count", info=info)

    def write(self, root: Path, folder: str = "sessions/2026/03/01") -> None:
        path = root / folder / f"rollout-2026-03-01T10-00-00-{self.thread}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))


def main_thread() -> Rollout:
    """A thread with two turns, of which the second is rolled back and replaced."""
    made = Rollout(THREAD)
    made.meta()
    made.event("token_count", info=None)
    made.turn("When is high tide in Emden?", 1)
    made.item("reasoning", summary=[{"type": "summary_text", "text": "An almanac?"}], encrypted_content="gAAA")
    made.call(
        "call_1",
        "exec_command",
        {"cmd": "cat almanac.txt"},
        "Chunk ID: 1\nProcess exited with code 0\nOutput:\n17:40\n",
    )
    made.spend(1000, 400, 50, times=2)
    made.item("custom_tool_call", name="apply_patch", call_id="call_2", input=PATCH)
    made.event("patch_apply_end", call_id="call_2", success=True, changes={})
    made.item(
        "custom_tool_call_output",
        call_id="call_2",
        output=json.dumps({"output": PATCHED, "metadata": {"exit_code": 0}}),
    )
    made.call(
        "call_3", "spawn_agent", {"message": "Count the gulls"}, json.dumps({"agent_id": CHILD, "nickname": "Ada"})
    )
    made.say("At 17:40, written down.")
    made.spend(1500, 1000, 70, times=3)
    made.turn("Paint it blue", 2, "gpt-5.4-mini")
    made.call("call_4", "shell", {"command": ["bash", "-lc", "false"]}, '{"output":"","metadata":{"exit_code":1}}')
    made.event("turn_aborted", reason="interrupted")
    made.spend(1600, 1500, 10)
    made.event("thread_rolled_back", num_turns=1)
    made.turn("Paint it green", 3)
    made.call("call_5", "update_plan", {"plan": [{"status": "pending", "step": "Buy paint"}]}, "Plan updated")
    made.add("compacted", {"message": "Tides of Emden.", "replacement_history": [{"type": "message", "role": "user"}]})
    made.event(
        "token_count", info={"total_token_usage": {"total_tokens": 99}, "last_token_usage": {"total_tokens": 99}}
    )
    made.say("It is green.")
    made.spend(1700, 1600, 20)
    return made


def write(root: Path) -> None:
    """A directory like ~/.codex."""
    parent = main_thread()
    parent.write(root)
    fork = Rollout(FORK, 600)
    fork.meta(forked_from_id=THREAD)
    fork.totals = list(parent.totals)
    stamp = fork.lines[0]["timestamp"]
    fork.lines += [{**line, "timestamp": stamp} for line in parent.lines]
    fork.turn("And in Borkum?", 4)
    fork.say("At 16:55.")
    fork.spend(2000, 1900, 30)
    fork.write(root, "archived_sessions")
    child = Rollout(CHILD, 30)
    spawn = {"parent_thread_id": THREAD, "depth": 1, "agent_nickname": "Ada"}
    child.meta(source={"subagent": {"thread_spawn": spawn}}, forked_from_id=THREAD)
    stamp = child.lines[0]["timestamp"]
    child.lines += [{**line, "timestamp": stamp} for line in parent.lines[:8]]
    child.turn("Count the gulls", 5)
    child.say("Twelve gulls.")
    child.spend(300, 0, 5)
    child.write(root)
    later = Rollout(LATER, 900)
    later.meta(
        forked_from_id=THREAD, history_mode="paginated", history_base={"thread_id": THREAD}, cli_version="0.166.0"
    )
    later.add("turn_context", {"cwd": "/srv/tides", "model": "gpt-5.5"}, ordinal=40)
    user = {"type": "UserMessage", "content": [{"type": "text", "text": "Once more"}]}
    later.item("message", role="user", content=[{"type": "input_text", "text": "Once more"}])
    later.event("item_completed", thread_id=LATER, item=user)
    later.say("Once more it is.")
    usage = {"input_tokens": 100, "cached_input_tokens": 90, "cache_write_input_tokens": 4, "output_tokens": 7}
    later.add("token_usage_record", {"thread_id": LATER, "response_id": "resp_1", "usage": usage})
    later.spend(100, 90, 7)
    later.write(root)
    oldest = root / f"sessions/2025/08/30/rollout-2025-08-30T11-44-14-{OLDEST}.jsonl"
    oldest.parent.mkdir(parents=True)
    text = [{"type": "input_text", "text": "Which lighthouse is the oldest?"}]
    lines: list[dict[str, Any]] = [
        {"id": OLDEST, "timestamp": "2025-08-30T15:44:14.000Z", "instructions": None, "git": {"branch": "trunk"}},
        {"record_type": "state"},
        {"type": "message", "id": None, "role": "user", "content": text},
        {"type": "function_call", "id": None, "name": "search__find.it", "arguments": "{}", "call_id": "call_o"},
        {"type": "function_call_output", "call_id": "call_o", "output": "Neuwerk"},
        {"type": "message", "id": None, "role": "assistant", "content": [{"type": "output_text", "text": "Neuwerk."}]},
    ]
    oldest.write_text("".join(json.dumps(line) + "\n" for line in lines))
    named = {"id": FORK, "thread_name": "Tides of Borkum", "updated_at": "2026-03-01T10:00:00Z"}
    (root / "session_index.jsonl").write_text(json.dumps(named) + "\n")
    (root / "auth.json").write_text("{}")
