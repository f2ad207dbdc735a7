"""An invented thread of Amp."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

THREAD = "T-019ca1ce-0001-7686-a41e-000000000001"


def write(root: Path) -> None:
    """What an import makes of it."""
    usage = {"model": "claude-opus-4-6", "inputTokens": 5, "outputTokens": 50, "cacheCreationInputTokens": 60}
    usage |= {"cacheReadInputTokens": 700, "totalInputTokens": 765, "timestamp": "2026-03-01T09:00:05Z"}
    edit = {"path": "/srv/tides/a.py", "old_str": "1", "new_str": "2"}
    messages: list[dict[str, Any]] = [
        {
            "role": "user",
            "messageId": 0,
            "content": [{"type": "text", "text": "When is high water in Emden?"}],
            "meta": {"sentAt": 1772355600000},
        },
        {
            "role": "assistant",
            "messageId": 1,
            "content": [
                {"type": "thinking", "thinking": "An almanac?"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "k1", "name": "Bash", "input": {"cmd": "cat tides.txt"}},
                {"type": "tool_use", "id": "k2", "name": "edit_file", "input": edit},
            ],
            "usage": usage,
        },
        {
            "role": "user",
            "messageId": 2,
            "content": [
                {"type": "tool_result", "toolUseID": "k1", "run": {"status": "done", "result": {"output": "17:40"}}},
                {"type": "tool_result", "toolUseID": "k2", "run": {"status": "error", "result": "no match"}},
            ],
        },
        {"role": "assistant", "messageId": 3, "content": [{"type": "text", "text": "At 17:40."}], "usage": usage},
    ]
    tree = {"uri": "file:///srv/tides", "repository": {"ref": "refs/heads/main"}}
    thread = {
        "v": 220,
        "id": THREAD,
        "created": 1772355600000,
        "messages": messages,
        "env": {"initial": {"trees": [tree]}},
        "title": "Tide tables",
    }
    folder = root / "amp-conversations"
    folder.mkdir()
    (folder / f"{THREAD}.json").write_text(json.dumps(thread, indent=2))
