"""An invented history of OpenCode: a database with a session, its subagent and a fork of it, and an older folder of files."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

SECRET = "tok-account-c0ffee"
SESSION, CHILD, FORK, OLDER = "ses_1", "ses_2", "ses_3", "ses_0"
BEGAN = 1_780_000_000_000
USER = {"role": "user", "agent": "build", "model": {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}}
SCHEMA = """\
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL,
  title text NOT NULL, version text NOT NULL, cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL, agent text,
  time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE todo (session_id text NOT NULL, content text NOT NULL, status text NOT NULL, priority text NOT NULL, position integer NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, PRIMARY KEY (session_id, position));
CREATE TABLE account (id text PRIMARY KEY, access_token text);
CREATE TABLE credential (id text PRIMARY KEY, value text);
"""


def message_id(moment: int, number: int = 1) -> str:
    """An id as OpenCode gives it at a moment."""
    return f"msg_{(moment * 4096 + number) % (1 << 48):012x}Kx{number:012d}"


class Database:
    """A database that is being written."""

    def __init__(self, path: Path, *, wal: bool = False) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        if wal:
            self.db.execute("PRAGMA journal_mode = WAL")
            self.db.execute("PRAGMA wal_autocheckpoint = 0")
        if not self.db.execute("SELECT 1 FROM sqlite_schema").fetchone():
            self.db.executescript(SCHEMA)
            self.db.execute("INSERT INTO account VALUES ('a', ?)", (SECRET,))
            self.db.execute("INSERT INTO credential VALUES ('c', ?)", (SECRET,))

    def close(self) -> None:
        self.db.close()

    def session(self, id_: str, title: str, parent: str | None = None, moment: int = BEGAN) -> None:
        self.db.execute(
            "INSERT OR REPLACE INTO session VALUES (?, 'p', ?, 's', '/srv/harbour', ?, '1.17.0', 0, 0, 'general', ?, ?)",
            (id_, parent, title, moment, moment),
        )

    def message(self, session: str, moment: int, data: dict[str, Any], *parts: dict[str, Any], id_: str = "") -> str:
        """Write a message with its parts; times are those of the message."""
        id_ = id_ or message_id(moment)
        data = {"time": {"created": moment}, **data}
        updated = data["time"].get("completed", moment)
        row = (id_, session, moment, updated, json.dumps(data, separators=(",", ":")))
        self.db.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?)", row)
        for number, part in enumerate(parts):
            self.part(session, id_, number, updated, part)
        return id_

    def part(self, session: str, message: str, number: int, moment: int, data: dict[str, Any]) -> None:
        row = (f"{message.replace('msg', 'prt')}{number}", message, session, moment, moment, json.dumps(data))
        self.db.execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?)", row)


def prompt(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def answer(moment: int, **tokens: int) -> dict[str, Any]:
    """A complete answer of the model."""
    used = {"input": 0, "output": 0, "reasoning": 0, **tokens}
    total = sum(used.values()) + 500
    return {
        "role": "assistant",
        "modelID": "claude-sonnet-4-5",
        "providerID": "anthropic",
        "path": {"cwd": "/srv/harbour", "root": "/srv/harbour"},
        "cost": 0.25,
        "tokens": {**used, "total": total, "cache": {"read": 400, "write": 100}},
        "time": {"created": moment, "completed": moment + 900},
        "finish": "stop",
    }


def tool(name: str, given: dict[str, Any], output: str, **metadata: Any) -> dict[str, Any]:
    state = {
        "status": "completed",
        "input": given,
        "output": output,
        "metadata": metadata,
        "time": {"start": BEGAN + 2100, "end": BEGAN + 2600},
    }
    return {"type": "tool", "tool": name, "callID": f"call_{name}", "state": state}


def fill(database: Database) -> None:
    """Write a session with a subagent, and a fork of it."""
    database.session(SESSION, "Tides of the harbour")
    first = (
        (
            BEGAN + 1000,
            USER,
            [prompt("When is high tide in Emden?"), {"type": "text", "text": "file", "synthetic": True}],
        ),
        (
            BEGAN + 2000,
            answer(BEGAN + 2000, input=10, output=20, reasoning=5),
            [
                {"type": "reasoning", "text": "Look it up."},
                tool("bash", {"command": "tide Emden"}, "12:31\n", exit=0),
                tool(
                    "task",
                    {"prompt": "Count the piers", "description": "Piers", "subagent_type": "general"},
                    "4",
                    sessionId=CHILD,
                ),
                prompt("At 12:31."),
            ],
        ),
    )
    for moment, data, parts in first:
        database.message(SESSION, moment, data, *parts)
    database.message(SESSION, BEGAN + 5000, USER, prompt("Write it down for Norddeich."))
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n-low\n+high 12:31\n"
    database.message(
        SESSION,
        BEGAN + 6000,
        answer(BEGAN + 6000, input=30, output=40),
        tool(
            "edit",
            {"filePath": "/srv/harbour/tides.txt", "oldString": "low", "newString": "high 12:31"},
            "ok",
            diff=diff,
        ),
        tool("write", {"filePath": "/srv/harbour/new.txt", "content": "a\nb\n"}, "ok", exists=False),
    )
    database.session(CHILD, "Child session - piers", SESSION, BEGAN + 2100)
    database.message(CHILD, BEGAN + 2100, USER, prompt("Count the piers"))
    database.message(CHILD, BEGAN + 2200, answer(BEGAN + 2200, input=1, output=2), prompt("4"))
    database.session(FORK, "Tides of the harbour (fork #1)", None, BEGAN + 90_000)
    for number, (moment, data, parts) in enumerate(first):
        database.message(FORK, moment, data, *parts, id_=message_id(BEGAN + 90_000, number))
    database.message(FORK, BEGAN + 91_000, USER, prompt("And in Leer?"))


def write_tree(folder: Path, session: str = OLDER) -> None:
    """Write the older form: a file for each session, message and part."""
    user = {"id": "msg_a", "sessionID": session, "role": "user", "time": {"created": BEGAN - 5000}}
    made = {**answer(BEGAN - 4000, input=7, output=8), "id": "msg_b", "sessionID": session}
    for path, content in (
        (
            f"session/p/{session}.json",
            {"id": session, "version": "1.0.1", "directory": "/srv/harbour", "title": "Older"},
        ),
        (f"message/{session}/msg_a.json", user),
        (f"message/{session}/msg_b.json", made),
        ("part/msg_a/prt_1.json", {"id": "prt_1", **prompt("Is there a ferry?")}),
        ("part/msg_b/prt_2.json", {"id": "prt_2", **prompt("Twice a day.")}),
    ):
        place = folder / "storage" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(content, indent=2))


def write(root: Path) -> None:
    """Fill an empty directory."""
    with closing(Database(root / "opencode.db")) as database:
        fill(database)
    write_tree(root)
