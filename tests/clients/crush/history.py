"""An invented history of Crush: a session with a subagent."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

SESSION = "0b6f0c1e-2c51-4c34-9f0a-000000000001"
BEGAN = 1_780_000_000
SCHEMA = """\
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, message_count INTEGER NOT NULL DEFAULT 0,
  prompt_tokens INTEGER NOT NULL DEFAULT 0, completion_tokens INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0.0,
  updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL, summary_message_id TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL default '[]', model TEXT,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT);
CREATE TABLE files (id TEXT PRIMARY KEY, session_id TEXT, path TEXT, content TEXT, version INTEGER);
"""


def part(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def call(id_: str, name: str, **given: Any) -> dict[str, Any]:
    return part("tool_call", id=id_, name=name, input=json.dumps(given), finished=True)


def write(root: Path) -> None:
    """Fill an empty directory."""
    messages = [
        ("m1", SESSION, "user", [part("text", text="Paint the buoy in Emden."), part("finish", reason="stop")]),
        ("m2", SESSION, "assistant", [
            part("reasoning", thinking="Red."), part("text", text="Painting."),
            call("c1", "write", file_path="/srv/buoy.txt", content="red\n"), call("c2", "agent", prompt="Find paint"),
            part("finish", reason="tool_use"),
        ]),
        ("m3", SESSION, "tool", [
            part("tool_result", tool_call_id="c1", content="ok", metadata=json.dumps({"diff": "+red"}), is_error=False),
            part("tool_result", tool_call_id="c2", content="found", is_error=False),
        ]),
        ("m4", SESSION, "assistant", [part("text", text="Done.")]),
        ("m5", "m2$$c2", "user", [part("text", text="Find paint")]),
        ("m6", "m2$$c2", "assistant", [part("text", text="found")]),
    ]  # fmt: skip
    with closing(sqlite3.connect(root / "crush.db")) as db:
        db.executescript(SCHEMA)
        for id_, parent, title in ((SESSION, None, "Buoys"), ("m2$$c2", SESSION, "Find paint")):
            db.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, 4, 900, 80, 0.5, ?, ?, NULL)",
                (id_, parent, title, BEGAN + 50, BEGAN),
            )
        for number, (id_, session, role, parts) in enumerate(messages):
            time = BEGAN + number
            db.execute(
                "INSERT INTO messages VALUES (?, ?, ?, ?, 'gpt-5', ?, ?, ?, 'openai')",
                (id_, session, role, json.dumps(parts), time, time, time if role == "assistant" else None),
            )
        db.commit()
