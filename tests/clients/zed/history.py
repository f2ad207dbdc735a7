"""An invented history of Zed: a compressed thread with a subagent, and an older one that is not compressed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import zstandard

SESSION = "5a0f7c1e-0000-4000-8000-000000000001"
SCHEMA = "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL, data_type TEXT NOT NULL, data BLOB NOT NULL, parent_id TEXT, folder_paths TEXT)"
TOKENS = {"input_tokens": 50, "output_tokens": 20, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7}


def agent(*content: Any, **results: Any) -> dict[str, Any]:
    return {"Agent": {"content": content, "tool_results": results}}


def use(id_: str, name: str, **given: Any) -> dict[str, Any]:
    return {
        "ToolUse": {"id": id_, "name": name, "raw_input": json.dumps(given), "input": given, "is_input_complete": True}
    }


def result(id_: str, said: str, output: Any = None) -> dict[str, Any]:
    return {"tool_use_id": id_, "tool_name": "x", "is_error": False, "content": {"Text": said}, "output": output}


MESSAGES = [
    {
        "User": {
            "id": "u1",
            "content": [{"Text": "Dredge the channel of Emden"}, {"Mention": {"uri": "file:///a", "content": "a"}}],
        }
    },
    agent(
        {"Thinking": {"text": "Mud.", "signature": None}},
        {"Text": "Dredging."},
        use("t1", "terminal", command="dredge", cd="/work"),
        use("t2", "edit_file", path="work/depth.txt", mode="edit"),
        t1=result("t1", "done"),
        t2=result("t2", "edited", {"diff": "@@ -1 +1 @@\n-4 m\n+5 m\n"}),
    ),
    "Resume",
    agent({"Text": "Five metres now."}),
]
OLDER = [
    {"id": 0, "role": "user", "segments": [{"type": "text", "text": "An older question"}]},
    {
        "id": 1,
        "role": "assistant",
        "segments": [{"type": "text", "text": "An answer"}],
        "tool_uses": [{"id": "o1", "name": "grep", "input": {"regex": "mud"}}],
        "tool_results": [{"tool_use_id": "o1", "is_error": False, "content": "none"}],
    },
]


def write(root: Path) -> None:
    """Fill an empty directory."""
    thread = {
        "title": "Channels",
        "messages": MESSAGES,
        "updated_at": "2026-06-01T08:00:00Z",
        "version": "0.3.0",
        "cumulative_token_usage": TOKENS,
        "model": {"provider": "anthropic", "model": "claude-sonnet-4-5"},
    }
    older = {"version": "0.2.0", "summary": "Older", "updated_at": "2025-06-01T08:00:00Z", "messages": OLDER}
    with closing(sqlite3.connect(root / "threads.db")) as db:
        db.execute(SCHEMA)
        for id_, kind, data, parent in (
            (SESSION, "zstd", zstandard.compress(json.dumps(thread).encode()), None),
            ("older", "json", json.dumps(older).encode(), None),
            ("broken", "zstd", b"\x00\x01", None),
        ):
            row = (id_, "A summary", "2026-06-01T08:00:00+00:00", kind, data, parent, "/work\n/other")
            db.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        db.commit()
