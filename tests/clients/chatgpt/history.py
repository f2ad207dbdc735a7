"""An invented conversation of ChatGPT, with a prompt that was edited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CONVERSATION = "6811e0d2-0001-8000-9000-000000000001"


def node(key: str, parent: str | None, role: str = "", text: Any = "", **more: Any) -> dict[str, Any]:
    """A node of the tree; without a role it has no message."""
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    message = {"id": key, "author": {"role": role}, "create_time": 1_772_355_600.5 + len(key), "content": content}
    message |= {"recipient": "all", "metadata": {"model_slug": "gpt-5"} if role == "assistant" else {}, **more}
    return {"id": key, "parent": parent, "children": [], "message": message if role else None}


NODES = [
    node("root", None),
    node("system", "root", "system", ""),
    node("u1", "system", "user", "When is high water in Emden?"),
    node(
        "t1",
        "u1",
        "assistant",
        {"content_type": "thoughts", "thoughts": [{"summary": "Tides", "content": "An almanac?"}]},
    ),
    node("k1", "t1", "assistant", {"content_type": "code", "text": "print(17.40)"}, recipient="python"),
    node("r1", "k1", "tool", {"content_type": "execution_output", "text": "17.4"}),
    node("a1", "r1", "assistant", "At 17:40."),
    node("u2", "a1", "user", "And low water?"),
    node("a2", "u2", "assistant", "At 05:12."),
    node("u2-edited", "a1", "user", "And {low} water?"),
    node("a3", "u2-edited", "assistant", "At 05:13."),
]


def conversation() -> dict[str, Any]:
    """The conversation as an export has it."""
    return {
        "title": "Tide tables",
        "create_time": 1_772_355_600.0,
        "mapping": {found["id"]: found for found in NODES},
        "current_node": "a3",
        "conversation_id": CONVERSATION,
    }


def write(root: Path) -> None:
    """What an import makes of it."""
    folder = root / "chatgpt-conversations"
    folder.mkdir()
    (folder / f"{CONVERSATION}.json").write_text(json.dumps(conversation()))
