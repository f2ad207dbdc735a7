"""An invented history of Copilot CLI: a session with a subagent and a compaction, resumed once, and one of a newer version."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
SESSION, NEWER = "5b1c7a52-0001-4000-8000-000000000001", "5b1c7a52-0002-4000-8000-000000000002"
DIFF = "\ndiff --git a/tides.py b/tides.py\n--- a/tides.py\n+++ b/tides.py\n@@ -1 +1,2 @@\n HIGH = 1\n+LOW = 2\n"


class Events:
    """Events of one session."""

    def __init__(self, session: str, version: str) -> None:
        self.session = session
        self.lines: list[dict[str, Any]] = []
        context = {"cwd": "/srv/tides", "branch": "main"}
        self.add("session.start", sessionId=session, copilotVersion=version, selectedModel="gpt-4.1", context=context)

    def add(self, kind: str, **data: Any) -> None:
        """Add an event, a second after the one before."""
        number = len(self.lines)
        stamp = (START + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")
        key, above = f"{self.session[:9]}{number:04}", f"{self.session[:9]}{number - 1:04}" if number else None
        self.lines.append({"type": kind, "data": data, "id": key, "timestamp": stamp, "parentId": above})

    def call(self, key: str, tool: str, given: dict[str, Any], output: str, **more: Any) -> None:
        """Add a call and its result."""
        details = more.pop("details", output)
        self.add("tool.execution_start", toolCallId=key, toolName=tool, arguments=given, **more)
        result = {"content": output, "detailedContent": details}
        more.pop("mcpServerName", None)
        self.add("tool.execution_complete", toolCallId=key, model="gpt-4.1", success=True, result=result, **more)

    def shutdown(self, given: int, output: int, read: int) -> None:
        """Add a record of what was spent."""
        usage = {"inputTokens": given, "outputTokens": output, "cacheReadTokens": read, "cacheWriteTokens": 0}
        self.add("session.shutdown", modelMetrics={"gpt-4.1": {"usage": usage}})

    def write(self, root: Path) -> None:
        """Write the files of the session."""
        folder = root / "session-state" / self.session
        folder.mkdir(parents=True)
        (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        (folder / "workspace.yaml").write_text(f"id: {self.session}\nname: Tide tables\n")


def write(root: Path) -> None:
    """Both sessions."""
    old = Events(SESSION, "1.0.40")
    old.add("user.message", content="When is high water in Emden?")
    old.add("assistant.message", content="I look.", reasoningText="An almanac?", outputTokens=20)
    old.call("k1", "bash", {"command": "cat tides.txt"}, "05:12 17:40")
    old.call("k2", "edit", {"path": "/srv/tides/tides.py", "old_str": "", "new_str": "LOW = 2\n"}, "ok", details=DIFF)
    old.add(
        "tool.execution_start", toolCallId="k3", toolName="task", arguments={"prompt": "Look around.", "name": "scout"}
    )
    old.add("subagent.started", toolCallId="k3", agentName="explore")
    old.add("assistant.message", content="I look around.", outputTokens=5, parentToolCallId="k3")
    old.call("k4", "glob", {"pattern": "*.py"}, "tides.py", parentToolCallId="k3")
    old.add("tool.execution_complete", toolCallId="k3", model="gpt-4.1", success=True, result={"content": "One file."})
    old.add("assistant.message", content="At 17:40.", outputTokens=15)
    old.shutdown(1000, 40, 600)
    old.add("session.resume", context={"cwd": "/srv/tides", "branch": "main"})
    old.add("session.compaction_complete", success=True, summaryContent="Tides of a port.")
    old.add("user.message", content="Thank you.")
    old.add("user.message", content="Go on.", isAutopilotContinuation=True)
    old.add("assistant.message", content="You are welcome.", outputTokens=7)
    old.shutdown(200, 7, 100)
    old.add("user.message", content="One more thing.")
    old.add("assistant.message", content="Yes?", outputTokens=3)
    old.write(root)
    new = Events(NEWER, "1.0.102")
    new.add("user.message", content="List the issues.")
    usage = {"model": "gpt-4.1", "inputTokens": 50, "outputTokens": 9, "cacheReadTokens": 20, "cacheWriteTokens": 10}
    new.add("session.usage_record", usage={**usage, "accounting": {"usageId": "c1"}})
    new.add("assistant.message", content="", model="gpt-4.1", apiCallId="c1")
    new.call("k1", "gh-list", {}, "none", mcpServerName="gh", mcpToolName="list")
    new.add("assistant.message", content="There are none.", model="gpt-4.1")
    new.shutdown(50, 9, 20)
    new.write(root)
