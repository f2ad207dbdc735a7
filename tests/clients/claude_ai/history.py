"""An invented conversation of Claude.ai."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CONVERSATION = "11111111-2222-4333-8444-000000000001"


def message(number: int, sender: str, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A message."""
    found = {"uuid": f"m{number}", "sender": sender, "created_at": f"2026-03-01T09:00:{number:02}Z", "text": ""}
    return {**found, "content": list(content), "attachments": [], "files": [], **more}


def conversation() -> dict[str, Any]:
    """The conversation as an export has it."""
    use = {"type": "tool_use", "id": "k1", "name": "web_search", "input": {"query": "tides"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "k1",
        "name": "web_search",
        "content": [{"type": "text", "text": "17:40"}],
    }
    return {
        "uuid": CONVERSATION,
        "name": "Tide tables",
        "created_at": "2026-03-01T09:00:00Z",
        "account": {"uuid": "x"},
        "chat_messages": [
            message(1, "human", {"type": "text", "text": "When is high water in Emden?"}),
            message(
                2,
                "assistant",
                {"type": "thinking", "thinking": "An almanac?"},
                use,
                result,
                {"type": "text", "text": "At 17:40."},
            ),
            message(
                3, "human", text="And low water?", attachments=[{"file_name": "a.txt", "extracted_content": "05:12"}]
            ),
            message(4, "assistant", {"type": "text", "text": "At 05:12."}),
        ],
    }


def write(root: Path) -> None:
    """What an import makes of it."""
    folder = root / "claude-ai-conversations"
    folder.mkdir()
    (folder / f"{CONVERSATION}.json").write_text(json.dumps(conversation(), indent=1))
