"""An invented history of Copilot Chat: a log of changes and an older document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION, OLDER = "7de89a80-6d93-43e7-be0a-000000000001", "7de89a80-6d93-43e7-be0a-000000000002"


def request(number: int, prompt: str, reply: str, **more: Any) -> dict[str, Any]:
    """A request with its answer: a call, and what is said after it."""
    args = json.dumps({"filePath": "/srv/tides/tides.py", "content": "HIGH = 1\n"})
    calls = [{"id": f"call_{number}", "name": "create_file", "arguments": args}]
    results = {f"call_{number}": {"content": [{"value": {"node": {"children": [{"text": "done"}]}}}]}}
    metadata = {"toolCallRounds": [{"response": "", "toolCalls": calls}], "toolCallResults": results}
    return {
        "requestId": f"request_{number}",
        "timestamp": 1_793_500_000_000 + 60_000 * number,
        "message": {"text": prompt, "parts": []},
        "modelId": "copilot/gpt-4.1",
        "agent": {"extensionVersion": "0.39.1"},
        "response": [
            {"kind": "thinking", "value": "An almanac?", "id": "1"},
            {"kind": "toolInvocationSerialized", "toolId": "copilot_createFile", "toolCallId": f"shown-{number}"},
            {"value": reply, "baseUri": {"path": "/srv/tides/", "scheme": "file"}},
        ],
        "result": {"usage": {"promptTokens": 100, "completionTokens": 10}, "metadata": metadata},
        **more,
    }


def log(*entries: dict[str, Any]) -> bytes:
    """Entries of a log."""
    return "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries).encode()


def write(root: Path) -> None:
    """A session in a workspace, and one without."""
    chats = root / "workspaceStorage/0123456789abcdef/chatSessions"
    chats.mkdir(parents=True)
    first = request(1, "When is high water in Emden?", "At 17:40.")
    state = {
        "version": 3,
        "sessionId": SESSION,
        "creationDate": 1_793_500_000_000,
        "requests": [first],
        "inputState": {},
    }
    entries = log(
        {"kind": 0, "v": state},
        {"kind": 1, "k": ["customTitle"], "v": "Tide tables"},
        {"kind": 2, "k": ["requests"], "v": [request(2, "Thank you.", "You are welcome.")]},
        {"kind": 1, "k": ["inputState", "inputText"], "v": ""},
    )
    (chats / f"{SESSION}.jsonl").write_bytes(entries)
    (chats.parent / "workspace.json").write_text('{"folder": "file:///srv/tides"}')
    older = root / "globalStorage/emptyWindowChatSessions"
    older.mkdir(parents=True)
    document = {
        "version": 3,
        "requests": [request(3, "Which port?", "None.")],
        "sessionId": OLDER,
        "customTitle": "Ports",
    }
    (older / f"{OLDER}.json").write_text(json.dumps(document, indent=2))
