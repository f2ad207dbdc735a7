"""An invented history of Gemini CLI: a log that was resumed and rewound, a subagent, and a document of an older version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION, OLDER, AGENT = "8ae01951-a017-49cb-84cc-000000000001", "8ae01951-a017-49cb-84cc-000000000002", "scout-1"
TOKENS = {"input": 100, "output": 10, "cached": 40, "thoughts": 5, "tool": 0, "total": 115}
OUTPUT = {"functionResponse": {"id": "k1", "name": "run_shell_command", "response": {"output": "Output: 05:12 17:40"}}}
SHELL = {"id": "k1", "name": "run_shell_command", "args": {"command": "cat tides.txt"}, "status": "success"}
DIFF = "--- tides.py\n+++ tides.py\n@@ -0,0 +1 @@\n+HIGH = 1\n"
WRITE = {
    "id": "k2",
    "name": "write_file",
    "args": {"file_path": "/srv/tides/tides.py", "content": "HIGH = 1\n"},
    "status": "success",
    "result": [{"functionResponse": {"id": "k2", "name": "write_file", "response": {"output": "ok"}}}],
    "resultDisplay": {"fileDiff": DIFF, "fileName": "tides.py", "filePath": "/srv/tides/tides.py", "isNewFile": True},
    "timestamp": "2026-03-01T09:00:05Z",
}


def session(key: str, kind: str = "main") -> dict[str, Any]:
    """The first line of a log."""
    stamp = "2026-03-01T09:00:00Z"
    return {"sessionId": key, "projectHash": "0" * 64, "startTime": stamp, "lastUpdated": stamp, "kind": kind}


def message(kind: str, key: str, content: Any, **more: Any) -> dict[str, Any]:
    """A message."""
    found = {"id": key, "timestamp": f"2026-03-01T09:00:{len(key):02}Z", "type": kind, "content": content}
    return found | ({"model": "gemini-2.5-pro"} if kind == "gemini" else {}) | more


def log(path: Path, *lines: dict[str, Any]) -> None:
    """Write a log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def write(root: Path) -> None:
    """Three files of one project."""
    chats = root / "tmp/tides/chats"
    thought = [{"subject": "Tides", "description": "An almanac?"}]
    context = "<session_context>\n- **Workspace Directories:**\n  - /srv/tides\n</session_context>"
    called = message("gemini", "g1", "I look.", thoughts=thought, tokens=TOKENS)
    log(
        chats / "session-2026-03-01T09-00-8ae01951.jsonl",
        session(SESSION),
        {"$set": {"messages": [message("user", "c", [{"text": context}])]}},
        message("user", "u1", [{"text": "When is high water in Emden?"}]),
        called,
        called | {"toolCalls": [SHELL | {"result": [OUTPUT]}, WRITE]},
        message("user", "r1", [OUTPUT]),
        message("gemini", "g22", "At 17:40.", tokens=TOKENS),
        session(SESSION),
        {
            "$set": {
                "messages": [
                    message("user", "u1", [{"text": "When is high water in Emden?"}]),
                    message("gemini", "g1", [{"text": "I look."}, {"functionCall": SHELL}]),
                    message("user", "g1_response", [OUTPUT]),
                    message("gemini", "g22", "At 17:40."),
                    message("user", "new", [{"text": "<state_snapshot> Tides of a port."}]),
                ],
                "lastUpdated": "2026-03-01T09:10:00Z",
            }
        },
        message("user", "u333", [{"text": "And low water?"}]),
        message("gemini", "g333", "At 05:12.", tokens=TOKENS),
        {"$rewindTo": "u333"},
        message("user", "u4444", [{"text": "/quit"}]),
        {"$set": {"summary": "Tide tables"}},
    )
    log(
        chats / SESSION / f"{AGENT}.jsonl",
        session(AGENT, "subagent"),
        message("user", "a1", [{"text": "Look around."}]),
        message("gemini", "a22", "One file.", tokens=TOKENS),
    )
    document = {
        **session(OLDER),
        "messages": [message("user", "o1", "Which port is it?"), message("gemini", "o22", "None.", tokens=TOKENS)],
    }
    (chats / "session-2026-02-01T09-00-8ae01951.json").write_text(json.dumps(document, indent=2))
    (root / "projects.json").write_text('{"projects": {"/srv/tides": "tides"}}')
    (root / "oauth_creds.json").write_text('{"access_token": "invented"}')
