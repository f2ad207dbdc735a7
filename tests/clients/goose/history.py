"""An invented history of Goose: a session in its database, and an older file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

SESSION = "20260601_1"
SCHEMA = """\
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', working_dir TEXT NOT NULL,
  created_at TIMESTAMP, updated_at TIMESTAMP, extension_data TEXT DEFAULT '{}', input_tokens INTEGER, accumulated_input_tokens INTEGER,
  accumulated_output_tokens INTEGER, provider_name TEXT, model_config_json TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL,
  created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
"""


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def request(id_: str, name: str, **given: Any) -> dict[str, Any]:
    return {
        "type": "toolRequest",
        "id": id_,
        "toolCall": {"status": "success", "value": {"name": name, "arguments": given}},
    }


def response(id_: str, said: str) -> dict[str, Any]:
    return {"type": "toolResponse", "id": id_, "toolResult": {"status": "success", "value": [text(said)]}}


MESSAGES: list[tuple[str, list[dict[str, Any]]]] = [
    ("user", [text("Which flag flies in Emden?")]),
    (
        "assistant",
        [
            {"type": "thinking", "thinking": "Look.", "signature": ""},
            text("Looking."),
            request("r1", "developer__shell", command="cat flag"),
            request("r2", "developer__text_editor", command="write", path="/srv/flag.txt", file_text="blue\n"),
        ],
    ),
    ("user", [response("r1", "blue"), response("r2", "written")]),
    ("assistant", [text("A blue one.")]),
]


def insert(db: sqlite3.Connection) -> None:
    """Write the messages, with new numbers."""
    for number, (role, content) in enumerate(MESSAGES):
        db.execute(
            "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES (?, ?, ?, ?)",
            (SESSION, role, json.dumps(content), 1_780_000_000 + number),
        )


def write(root: Path) -> None:
    """Fill an empty directory."""
    with closing(sqlite3.connect(root / "sessions.db")) as db:
        db.executescript(SCHEMA)
        db.execute(
            "INSERT INTO sessions VALUES (?, 'Flags', '', '/work', '2026-06-01 08:00:00', '2026-06-01 08:05:00', '{}', 70, 300, 40, 'openai', ?)",
            (SESSION, '{"model_name":"gpt-5"}'),
        )
        insert(db)
        db.commit()
    for name, said in (("20250101_9", "An older question"), (SESSION, "Taken over")):
        lines: list[dict[str, Any]] = [
            {
                "description": "Older",
                "working_dir": "/work",
                "accumulated_input_tokens": 3,
                "accumulated_output_tokens": 4,
            },
            {"role": "user", "created": 1_735_000_000, "content": [text(said)]},
            {"role": "assistant", "created": 1_735_000_001, "content": [text("An answer")]},
        ]
        (root / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
