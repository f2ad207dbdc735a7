"""An invented session of droid, with its settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "052cb8d0-0001-488a-99fe-000000000001"
PATCH = "*** Begin Patch\n*** Update File: /srv/tides/a.py\n@@\n-1\n+2\n*** End Patch"


def write(root: Path) -> None:
    """What an import makes of it."""
    lines: list[dict[str, Any]] = [
        {
            "type": "session_start",
            "id": SESSION,
            "title": "Tide tables",
            "sessionTitle": "New Session",
            "cwd": "/srv/tides",
        }
    ]

    def say(role: str, *content: dict[str, Any]) -> None:
        number = len(lines)
        message = {"role": role, "content": list(content)}
        lines.append(
            {"type": "message", "id": f"m{number}", "timestamp": f"2026-03-01T09:00:{number:02}Z", "message": message}
        )

    say(
        "user",
        {"type": "text", "text": "When is high water in Emden?"},
        {"type": "text", "text": "Contents of tides.txt"},
    )
    say("assistant", {"type": "tool_use", "id": "k1", "name": "ApplyPatch", "input": {"input": PATCH}})
    say("user", {"type": "tool_result", "tool_use_id": "k1", "content": "ok"})
    say("user", {"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"})
    say("assistant", {"type": "text", "text": "At 17:40."})
    folder = root / "droid-conversations"
    folder.mkdir()
    (folder / f"{SESSION}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    usage = {
        "inputTokens": 100,
        "outputTokens": 20,
        "cacheCreationTokens": 0,
        "cacheReadTokens": 300,
        "thinkingTokens": 5,
    }
    settings = {"model": "gpt-5-mini", "tokenUsage": usage, "providerLockTimestamp": "2026-03-01T09:00:00Z"}
    (folder / f"{SESSION}.settings.jsonl").write_text(json.dumps(settings, indent=2))
