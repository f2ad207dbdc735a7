"""An invented session of Continue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "2dbfd673-0001-4773-b5f3-000000000001"


def write(root: Path) -> None:
    """What an import makes of it."""
    args = {"file_path": "/srv/tides/a.py", "edits": [{"old_string": "1", "new_string": "2"}]}
    call = {"id": "k1", "type": "function", "function": {"name": "MultiEdit", "arguments": json.dumps(args)}}
    state = {
        "toolCallId": "k1",
        "status": "done",
        "parsedArgs": args,
        "output": [{"content": "ok", "name": "Tool Result"}],
    }
    history: list[dict[str, Any]] = [
        {"message": {"role": "user", "content": "When is high water in Emden?"}, "contextItems": []},
        {"message": {"role": "assistant", "content": "I look.", "toolCalls": [call]}, "toolCallStates": [state]},
        {"message": {"role": "assistant", "content": "At 17:40."}, "contextItems": []},
    ]
    usage = {
        "totalCost": 0.0025,
        "promptTokens": 100,
        "completionTokens": 20,
        "promptTokensDetails": {"cachedTokens": 30, "cacheWriteTokens": 40},
    }
    session = {
        "sessionId": SESSION,
        "title": "Tide tables",
        "workspaceDirectory": "/srv/tides",
        "history": history,
        "usage": usage,
    }
    folder = root / "continue-conversations"
    folder.mkdir()
    (folder / f"{SESSION}.json").write_text(json.dumps(session))
