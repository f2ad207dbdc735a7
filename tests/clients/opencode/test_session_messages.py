"""Databases of OpenCode 2.0, with the tables and columns of its public schema: new ones, and those that 1.0 began."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from tests.clients.opencode.history import BEGAN, SESSION, USER, Database, answer, message_id, prompt, tool, write

COLUMNS = """\
id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text, fork_session_id text, fork_boundary text,
slug text NOT NULL, directory text NOT NULL, path text, title text, version text NOT NULL, share_url text, summary_additions integer,
summary_deletions integer, summary_files integer, summary_diffs text, metadata text, cost real DEFAULT 0 NOT NULL,
tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0 NOT NULL, tokens_reasoning integer DEFAULT 0 NOT NULL,
tokens_cache_read integer DEFAULT 0 NOT NULL, tokens_cache_write integer DEFAULT 0 NOT NULL, revert text, permission text, agent text,
model text, time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer,
time_suspended integer, resume_attempts integer DEFAULT 0 NOT NULL
"""
TABLES = f"""\
CREATE TABLE IF NOT EXISTS session_v2 ({COLUMNS});
CREATE TABLE IF NOT EXISTS session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE IF NOT EXISTS kv (key text PRIMARY KEY, value text);
INSERT OR IGNORE INTO kv VALUES ('migration', '{{}}');
"""
CHILD, FORK = "ses_b2", "ses_b3"
MODEL = {"providerID": "anthropic", "id": "claude-sonnet-4-5", "variant": "default"}
USED = {"input": 10, "output": 20, "reasoning": 5, "cache": {"read": 400, "write": 100}}


class Second:
    """A database of 2.0 that is being written."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript(TABLES)

    def close(self) -> None:
        self.db.close()

    def session(
        self, id_: str, title: str, parent: str | None = None, fork: str | None = None, moment: int = BEGAN
    ) -> None:
        self.db.execute(
            "INSERT INTO session_v2 (id, project_id, parent_id, fork_session_id, slug, directory, title, version, time_created,"
            " time_updated) VALUES (?, 'p', ?, ?, 's', '/srv/harbour', ?, '2.0.3', ?, ?)",
            (id_, parent, fork, title, moment, moment),
        )

    def row(self, session: str, kind: str, seq: int, moment: int, id_: str = "", **data: Any) -> None:
        data = {"time": {"created": moment}, **data}
        values = (id_ or message_id(moment, seq), session, kind, seq, moment, moment, json.dumps(data))
        self.db.execute("INSERT OR REPLACE INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def answer(self, session: str, seq: int, moment: int, *content: dict[str, Any], **more: Any) -> None:
        data: dict[str, Any] = {
            "agent": "build",
            "model": MODEL,
            "content": content,
            "tokens": USED,
            "cost": 0.25,
            "finish": "stop",
        }
        self.row(
            session,
            "assistant",
            seq,
            moment,
            **data,
            time={"created": moment, "completed": moment + 900},
            **more,
        )


def call(name: str, given: dict[str, Any], *said: str, error: str = "", **metadata: Any) -> dict[str, Any]:
    state: dict[str, Any] = {"status": "error" if error else "completed", "input": given, "metadata": metadata}
    state["content"] = [{"type": "text", "text": text} for text in said]
    if error:
        state["error"] = {"type": "tool.execution", "message": error}
    times = {"created": BEGAN + 2000, "ran": BEGAN + 2100, "completed": BEGAN + 2600}
    return {"type": "tool", "id": f"call_{name}", "name": name, "state": state, "time": times}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def fill(database: Second) -> None:
    diff = {"file": "tides.txt", "patch": "--- a\n+++ b\n@@ -1 +1 @@\n-low\n+high 12:31\n", "status": "modified"}
    database.session(SESSION, "Tides of the harbour")
    database.row(SESSION, "model-switched", 0, BEGAN + 900, model=MODEL)
    database.row(SESSION, "user", 1, BEGAN + 1000, text="When is high tide in Emden?")
    database.row(SESSION, "synthetic", 2, BEGAN + 1001, text="The date has changed.")
    database.answer(
        SESSION,
        3,
        BEGAN + 2000,
        {"type": "reasoning", "text": "Look it up."},
        call("shell", {"command": "tide Emden"}, "12:31\n", exit=0),
        call("edit", {"path": "tides.txt", "oldString": "low", "newString": "high 12:31"}, "Edited", files=[diff]),
        call("write", {"path": "new.txt", "content": "a\nb\n"}, "Created file successfully: new.txt"),
        call(
            "subagent", {"agent": "general", "description": "Piers", "prompt": "Count the piers"}, "4", sessionID=CHILD
        ),
        call("shell", {"command": "ferry"}, error="not found"),
        text("At 12:31."),
    )
    database.row(
        SESSION,
        "compaction",
        4,
        BEGAN + 3000,
        status="completed",
        reason="auto",
        summary="Tides were found.",
        recent="",
    )
    output = {"output": "tides.txt\n", "cursor": 10, "size": 10, "truncated": False}
    times = {"created": BEGAN + 3500, "completed": BEGAN + 3600}
    database.row(
        SESSION,
        "shell",
        5,
        BEGAN + 3500,
        shellID="sh_1",
        command="ls",
        status="exited",
        exit=0,
        output=output,
        time=times,
    )
    previous = {"location": {"directory": "/srv/harbour"}}
    database.row(SESSION, "location-switched", 6, BEGAN + 3700, location={"directory": "/srv/dyke"}, previous=previous)
    database.row(SESSION, "user", 7, BEGAN + 4000, text="And in Norddeich?")
    database.answer(SESSION, 8, BEGAN + 5000, call("read", {"path": "tides.txt"}, "high"), text("At 11:50."))
    database.session(CHILD, "Piers", SESSION, moment=BEGAN + 2100)
    database.row(CHILD, "user", 0, BEGAN + 2110, text="Count the piers")
    database.answer(CHILD, 1, BEGAN + 2120, text("4"))
    database.session(FORK, "Tides of the harbour (fork)", fork=SESSION, moment=BEGAN + 90_000)
    database.db.execute(
        "INSERT INTO session_message SELECT 'f' || id, ?, type, seq, time_created, time_updated, data FROM session_message"
        " WHERE session_id = ? AND seq < 5",
        (FORK, SESSION),
    )
    database.row(FORK, "user", 9, BEGAN + 91_000, text="And in Leer?")
    error = {"type": "aborted", "message": "Step interrupted"}
    database.row(FORK, "assistant", 10, BEGAN + 92_000, agent="build", model=MODEL, content=[], error=error)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def opened(root: Path) -> Hansard:
    h = hansard.open(root.parent / "home", [root])
    h.sync()
    return h


def said(h: Hansard, session: str) -> list[tuple[str, str]]:
    return [(entry.kind, entry.text) for entry in h.read(session).entries() if entry.text]


def test_a_new_database_is_read(root: Path) -> None:
    with closing(Second(root / "opencode.db")) as database:
        fill(database)
    with opened(root) as h:
        assert h.status().left_out == ()
        assert not h.doctor().issues
        sessions = {item.session_id: item for item in h.sessions(limit=None).sessions}
        assert set(sessions) == {SESSION, FORK}
        found = sessions[SESSION]
        assert (found.title, found.cwd, found.models) == (
            "Tides of the harbour",
            "/srv/harbour",
            ("claude-sonnet-4-5",),
        )
        assert (found.prompts, found.tool_calls) == (2, 6)
        totals = h.usage().totals
        counted = (totals.input_tokens, totals.output_tokens, totals.cache_read_tokens, totals.cache_write_5m_tokens)
        assert counted == (30, 75, 1200, 300)  # three answers: those of the fork are copies
        files = {
            (path, change)
            for path, change in h.reader.rows("SELECT DISTINCT path, change FROM tool_calls WHERE path IS NOT NULL")
        }
        assert files == {
            ("/srv/harbour/tides.txt", "edit"),
            ("/srv/harbour/new.txt", "create"),
            ("/srv/dyke/tides.txt", None),
        }
        texts = said(h, SESSION)
        assert ("prompt", "When is high tide in Emden?") in texts
        assert ("note", "The date has changed.") in texts
        assert ("compaction", "Conversation compacted (automatically)\n\nTides were found.") in texts
        assert ("bash", "ls") in texts
        assert h.search("kind:result tides.txt").hits
        assert ("reply", "At 11:50.") in texts
        assert said(h, FORK)[-2:] == [("prompt", "And in Leer?"), ("interruption", "Step interrupted")]
        links = h.reader.rows(
            "SELECT a.agent_id, a.agent_type, c.tool FROM agents a JOIN tool_calls c ON c.id = a.call_id"
        )
        assert list(links) == [(CHILD, "general", "subagent")]


def test_what_grows_is_stored_when_it_is_complete(root: Path) -> None:
    with closing(Second(root / "opencode.db")) as database:
        database.session(SESSION, "Tides")
        database.row(SESSION, "user", 0, BEGAN, text="When?")
        open_row: dict[str, Any] = {"agent": "build", "model": MODEL, "content": [text("At")]}
        database.row(SESSION, "assistant", 1, BEGAN + 10, **open_row)
        database.db.execute("UPDATE session_message SET time_updated = unixepoch() * 1000")
        with opened(root) as h:
            assert [kind for kind, _ in said(h, SESSION)] == ["prompt"]
            database.answer(SESSION, 1, BEGAN + 10, text("At 12:31."))
            h.sync()
            assert said(h, SESSION) == [("prompt", "When?"), ("reply", "At 12:31.")]


def test_a_session_of_1_0_goes_on_in_2_0(root: Path) -> None:
    """The change to 2.0 leaves the tables of 1.0 as they are, and copies each message under its id."""
    path = root / "opencode.db"
    with closing(Database(path)) as first:
        first.session(SESSION, "Tides")
        asked = first.message(
            SESSION, BEGAN, USER, prompt("When?"), {"type": "text", "text": "file", "synthetic": True}
        )
        made = first.message(
            SESSION, BEGAN + 10, answer(BEGAN + 10, input=7, output=8), tool("bash", {"command": "tide"}, "12:31")
        )
    with opened(root) as h:
        before = said(h, SESSION), h.usage().totals.output_tokens
    with closing(Second(path)) as second:
        second.session(SESSION, "Tides, renamed")
        second.row(SESSION, "user", 0, BEGAN, asked, text="When?")
        second.row(SESSION, "synthetic", 1, BEGAN, "msg_made", text="file")
        second.answer(SESSION, 2, BEGAN + 10, call("bash", {"command": "tide"}, "12:31"), id_=made)
        with opened(root) as h:
            assert (said(h, SESSION), h.usage().totals.output_tokens) == before
            assert h.session(SESSION).title == "Tides, renamed"
            second.row(SESSION, "user", 3, BEGAN + 5000, text="And tomorrow?")
            second.answer(SESSION, 4, BEGAN + 6000, text("At 13:20."))
            h.sync()
            assert said(h, SESSION) == [*before[0], ("prompt", "And tomorrow?"), ("reply", "At 13:20.")]


def test_the_table_means_something_else_in_1_0(root: Path) -> None:
    write(root)
    with closing(sqlite3.connect(root / "opencode.db")) as db:
        db.executescript(TABLES)
        db.execute("DROP TABLE session_v2")
        db.execute("INSERT INTO session_message VALUES ('m', ?, 'user', 0, 1, 1, '{\"text\": \"thrice\"}')", (SESSION,))
        db.commit()
    with opened(root) as h:
        assert not h.search("thrice").hits
        assert [item.path for item in h.status().left_out] == ["opencode.db#session_message"]
