"""An invented task of Cline, Roo Code or Kilo Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TASK = "1793500000000"


def write(root: Path) -> None:
    """The files of one task."""
    messages: list[dict[str, Any]] = []

    def say(kind: str, text: Any = "", *, ask: bool = False, **more: Any) -> None:
        name = "ask" if ask else "say"
        given = text if isinstance(text, str) else json.dumps(text)
        model = {"modelInfo": {"providerId": "anthropic", "modelId": "claude-sonnet-4-5", "mode": "act"}}
        messages.append(
            {"ts": int(TASK) + 1000 * len(messages), "type": name, name: kind, "text": given, **model, **more}
        )

    counts = {"tokensIn": 10, "tokensOut": 20, "cacheWrites": 30, "cacheReads": 40, "cost": 0.01}
    say("task", "When is high water in Emden?", images=["data:image/png;base64,AAAA"])
    say("api_req_started", {"request": "# Current Working Directory (/srv/tides) Files", **counts})
    say("reasoning", "An almanac?")
    say("tool", {"tool": "readFile", "path": "tides.txt", "content": "/srv/tides/tides.txt"}, ask=True)
    say("tool", {"tool": "readFile", "path": "tides.txt", "content": "/srv/tides/tides.txt"})
    say("command", "cat tides.txt", ask=True)
    say("command", "cat tides.txt")
    say("command_output", "05:12", ask=True)
    say("command_output", "17:40", ask=True)
    edit = "------- SEARCH\nHIGH = 1\n=======\nHIGH = 2\n+++++++ REPLACE\n"
    say("tool", {"tool": "editedExistingFile", "path": "/srv/tides/tides.py", "content": edit})
    say("text", "I look.")
    say("completion_result", "At 17:40.HAS_CHANGES")
    say("completion_result", ask=True)
    say("user_feedback", "Thank you.")
    say("condense_context", contextCondense={"summary": "Tides of a port."})
    say("api_req_started", counts)
    say("error", "The connection was lost.")
    folder = root / "tasks" / TASK
    folder.mkdir(parents=True)
    (folder / "ui_messages.json").write_text(json.dumps(messages))
    called = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "tides.txt"}}
    around = {"type": "text", "text": "<environment_details>\n# Current Working Directory (/srv/tides) Files"}
    conversation = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "<task>\nWhen is high water in Emden?\n</task>"}, around],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, called]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Borkum 16:55"}, around],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "[execute_command for 'cat tides.txt'] Result:"},
                {"type": "text", "text": "Norderney 16:20"},
                around,
            ],
        },
    ]
    (folder / "api_conversation_history.json").write_text(json.dumps(conversation))
    (root / "secrets.json").write_text('{"key": "invented"}')
