"""An invented history of Qwen Code: a session with a background call and a subagent, and a branch of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION, BRANCH, AGENT = "0c5145bc-4d93-4498-9c1f-000000000001", "0c5145bc-4d93-4498-9c1f-000000000002", "explore-7f3c"


class Chat:
    """Records of one session."""

    def __init__(self, session: str, **every: Any) -> None:
        self.session, self.every = session, every
        self.lines: list[dict[str, Any]] = []

    def add(self, kind: str, *parts: dict[str, Any], **more: Any) -> None:
        """Add a record."""
        number = len(self.lines)
        found = {"uuid": f"{self.session[-4:]}-{number}", "parentUuid": self.lines[-1]["uuid"] if number else None}
        found |= {"sessionId": self.session, "timestamp": f"2026-03-01T09:00:{number:02}Z", "type": kind}
        found |= {"cwd": "/srv/tides", "version": "0.15.10", "gitBranch": "main", **self.every}
        self.lines.append(found | ({"message": {"role": "user", "parts": list(parts)}} if parts else {}) | more)

    def answer(self, key: str, *parts: dict[str, Any]) -> None:
        """Add an answer, and before it what the telemetry says of its tokens."""
        self.telemetry(key, "p1")
        usage = {
            "promptTokenCount": 100,
            "candidatesTokenCount": 10,
            "cachedContentTokenCount": 40,
            "totalTokenCount": 110,
        }
        self.add("assistant", *parts, model="qwen3-coder", usageMetadata=usage)

    def telemetry(self, key: str, prompt: str) -> None:
        """Add a telemetry record."""
        event: dict[str, Any] = {
            "event.name": "qwen-code.api_response",
            "response_id": key,
            "model": "qwen3-coder",
            "prompt_id": prompt,
        }
        event |= {
            "input_token_count": 100,
            "output_token_count": 10,
            "cached_content_token_count": 40,
            "total_token_count": 110,
        }
        self.add("system", subtype="ui_telemetry", systemPayload={"uiEvent": event})

    def write(self, path: Path) -> None:
        """Write the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))


def write(root: Path) -> None:
    """Two chats and a subagent."""
    project = root / "projects/-work-tides"
    chat = Chat(SESSION)
    chat.add("user", {"text": "When is high water in Emden?"})
    shell = {"id": "k1", "name": "run_shell_command", "args": {"command": "cat tides.txt"}}
    edit = {"id": "k2", "name": "edit", "args": {"file_path": "/srv/tides/a.py", "old_string": "1", "new_string": "2"}}
    agent = {"id": "k3", "name": "agent", "args": {"prompt": "Look around.", "subagent_type": "explore"}}
    chat.answer(
        "c1", {"text": "An almanac?", "thought": True}, *({"functionCall": call} for call in (shell, edit, agent))
    )
    display = {"fileDiff": "@@ -1 +1 @@\n-1\n+2\n", "fileName": "a.py", "originalContent": "1", "newContent": "2"}
    for call, more in ((shell, {}), (edit, {"resultDisplay": display}), (agent, {})):
        response = {"id": call["id"], "name": call["name"], "response": {"output": "done"}}
        chat.add("tool_result", {"functionResponse": response}, toolCallResult={"status": "success", **more})
    chat.answer("c2", {"text": "At 17:40."})
    chat.telemetry("c3", f"{SESSION}#memory#0")
    chat.telemetry("c4", f"{SESSION}#explore#0")
    chat.add(
        "system", subtype="chat_compression", systemPayload={"compressedHistory": [{"parts": [{"text": "Tides."}]}]}
    )
    chat.add("system", subtype="custom_title", systemPayload={"customTitle": "Tide tables"})
    chat.add("user", {"text": "Thank you."}, subtype="mid_turn_user_message")
    chat.write(project / f"chats/{SESSION}.jsonl")
    branch = Chat(BRANCH)
    branch.lines = [
        {**line, "sessionId": BRANCH, "forkedFrom": {"sessionId": SESSION, "messageUuid": line["uuid"]}}
        for line in chat.lines[:3]
    ]
    branch.add("user", {"text": "And elsewhere?"})
    branch.answer("c5", {"text": "I do not know."})
    branch.write(project / f"chats/{BRANCH}.jsonl")
    scout = Chat(SESSION, agentId=AGENT, agentName="explore", isSidechain=True)
    scout.add("user", {"text": "Look around."}, uuid="scout-0")
    scout.add(
        "assistant",
        {"text": "One file."},
        uuid="scout-1",
        parentUuid="scout-0",
        usageMetadata={"promptTokenCount": 100, "totalTokenCount": 110},
    )
    scout.write(project / f"subagents/{SESSION}/agent-{AGENT}.jsonl")
    meta = {"agentId": AGENT, "agentType": "explore", "description": "Look", "toolUseId": "k3", "parentAgentId": None}
    (project / f"subagents/{SESSION}/agent-{AGENT}.meta.json").write_text(json.dumps(meta))
