"""Clients with databases: what their records mean beyond what every client is held to."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.clients import client_of
from hansard.engine import Hansard
from tests.clients.crush import history as crush
from tests.clients.cursor import history as cursor
from tests.clients.opencode import history as opencode
from tests.clients.opencode.history import BEGAN, SESSION, Database, answer, prompt, tool


def store(root: Path) -> Hansard:
    h = hansard.open(root.parent / "home", [root])
    h.sync()
    return h


def git(folder: Path, *given: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(
        [shutil.which("git") or "git", "-C", str(folder), *identity, *given], check=True, capture_output=True
    )


def opencode_writes(root: Path, place: Path) -> None:
    with closing(Database(root / "opencode.db")) as database:
        database.session(SESSION, "Tides")
        database.message(SESSION, BEGAN, opencode.USER, prompt("Write the tides"))
        made = tool("write", {"filePath": str(place), "content": "high\nlow\n"}, "ok", exists=False)
        database.message(SESSION, BEGAN + 10, answer(BEGAN + 10), made)


def cursor_writes(root: Path, place: Path) -> None:
    (root / "globalStorage").mkdir()
    call = cursor.tool(
        "edit_file_v2",
        {"relativeWorkspacePath": str(place)},
        {"beforeContentId": cursor.NOTHING, "afterContentId": cursor.AFTER},
    )
    with closing(sqlite3.connect(root / "globalStorage" / "state.vscdb")) as db:
        db.executescript(cursor.TABLES)
        cursor.write_composer(db, [{"type": 1, "text": "Write the tides"}, {"type": 2, "toolFormerData": call}])
        cursor.put(db, "cursorDiskKV", cursor.AFTER, "high\nlow\n")
        db.commit()


@pytest.mark.parametrize("write", [opencode_writes, cursor_writes])
def test_blame_names_the_session_that_wrote_a_line(write: Any, tmp_path: Path) -> None:
    root, work = tmp_path / "root", tmp_path / "work"
    root.mkdir()
    work.mkdir()
    git(work, "init", "-q")
    (work / "tides.txt").write_text("high\nlow\n")
    git(work, "add", ".")
    git(work, "commit", "-qm", "tides", "--date", "2026-05-28T21:00:00Z")
    write(root, work / "tides.txt")
    with store(root) as h:
        report = h.blame(str(work / "tides.txt"))
        (session,) = h.sessions(limit=None).sessions
        assert {edit.session_id for edit in report.edits} == {session.session_id}
        assert [line.certainty for line in report.lines] == ["exact", "exact"]


def test_opencode_forks_and_subagents(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    opencode.write(root)
    with store(root) as h:
        assert ("ses_1", "ses_3", "fork") in list(h.reader.rows("SELECT source, target, relation FROM links"))
        agents = list(h.reader.rows("SELECT session_id, agent_id, agent_type, call_id IS NOT NULL FROM agents"))
        assert agents == [("ses_1", "ses_2", "general", 1)]
        by_session = {row.key["session"]: row.api_messages for row in h.usage(by="session").rows}
        assert by_session == {"ses_1": 3, "ses_0": 1}  # the fork has copies only
        patches = [entry.tool.patch for entry in h.read("ses_1").entries() if entry.tool and entry.tool.tool == "edit"]
        assert len(patches) == 1


def forked(root: Path, ids: Sequence[str], after: int, *, is_parent_gone: bool = False) -> None:
    """Write a session with one answer, and a fork that began some milliseconds after it, with messages of these ids."""
    turn = (
        (BEGAN, opencode.USER, prompt("High?")),
        (BEGAN + 10, answer(BEGAN + 10, input=7, output=8), prompt("12:31")),
    )
    began = BEGAN + 10 + after
    with closing(Database(root / "opencode.db")) as database:
        # Ids of sessions descend, so a fork comes before its parent.
        if not is_parent_gone:
            database.session("ses_b", "Tides")
            for (moment, data, part), id_ in zip(turn, ids[:2], strict=True):
                database.message("ses_b", moment, data, part, id_=id_)
        database.session("ses_a", "Tides (fork #1)", moment=began)
        for (moment, data, part), id_ in zip(turn, ids[2:], strict=True):
            database.message("ses_a", moment, data, part, id_=id_)
        database.message("ses_a", began + 50, opencode.USER, prompt("Low?"), id_=f"{ids[2]}x")
        database.message("ses_a", began + 60, answer(began + 60, input=1, output=2), prompt("18:44"), id_=f"{ids[3]}x")


TIMES = [opencode.message_id(moment) for moment in (BEGAN, BEGAN + 10, BEGAN + 711, BEGAN + 712)]


@pytest.mark.parametrize("ids", [TIMES, ["msg-user-001", "msg-assistant-001", "msg-user-002", "msg-assistant-002"]])
@pytest.mark.parametrize("after", [1, 700, 90_000])
def test_an_opencode_fork_counts_only_what_it_added(ids: list[str], after: int, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    forked(root, ids, after)
    with store(root) as h:
        assert list(h.reader.rows("SELECT source, target, relation FROM links")) == [("ses_b", "ses_a", "fork")]
        rows = {row.key["session"]: (row.api_messages, row.input_tokens) for row in h.usage(by="session").rows}
        assert rows == {"ses_b": (1, 7), "ses_a": (1, 1)}


def test_an_opencode_fork_without_its_parent_counts_all_once(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    forked(root, TIMES, 700, is_parent_gone=True)
    with store(root) as h:
        (row,) = h.usage(by="session").rows
        assert (row.key["session"], row.api_messages, row.input_tokens, row.output_tokens) == ("ses_a", 2, 8, 10)


def test_opencode_reasoning_is_counted_once() -> None:
    client = client_of("opencode")
    for tokens, created, expected in (
        ({"total": 135, "input": 100, "output": 20, "reasoning": 15}, BEGAN, 35),
        ({"total": 120, "input": 100, "output": 20, "reasoning": 15}, BEGAN, 20),
        ({"input": 100, "output": 20, "reasoning": 15}, 1_760_000_000_000, 20),
        ({"input": 100, "output": 20, "reasoning": 15}, BEGAN, 35),
    ):
        data = {"role": "assistant", "time": {"created": created}, "modelID": "m", "tokens": tokens}
        line = json.dumps({"id": "m", "message": {"id": "m", "data": data}}).encode()
        (record,) = client.decode(line)  # type: ignore[attr-defined]
        assert record.usage.output == expected


def test_opencode_patches_of_several_files() -> None:
    files = [
        {"filePath": "/a", "type": "add", "diff": "@@ -0,0 +1 @@\n+one\n"},
        {"filePath": "/b", "type": "update", "diff": "--- b\n+++ b\n@@ -1 +1 @@\n-x\n+y\n@@ -9 +9 @@\n-z\n"},
    ]
    part = {"id": "p", "data": tool("apply_patch", {"patchText": "..."}, "ok", files=files)}
    data = {"role": "assistant", "time": {"created": BEGAN}}
    line = json.dumps({"id": "m", "message": {"id": "m", "data": data}, "part": [part]}).encode()
    (record,) = client_of("opencode").decode(line)  # type: ignore[attr-defined]
    assert [(block.kind, block.path, block.change, len(block.changes)) for block in record.blocks] == [
        ("tool_use", "", "", 0),
        ("file_change", "/a", "create", 1),
        ("file_change", "/b", "edit", 2),
        ("tool_result", "", "", 0),
    ]


def test_crush_subagents_are_linked_to_their_calls(tmp_path: Path) -> None:
    root = tmp_path / ".crush"
    root.mkdir()
    crush.write(root)
    with store(root) as h:
        agents = list(
            h.reader.rows(
                "SELECT a.session_id, a.agent_id, c.tool_use_id FROM agents a JOIN tool_calls c ON c.id = a.call_id"
            )
        )
        assert agents == [(crush.SESSION, "m2$$c2", "c2")]
        session = h.session(crush.SESSION)
        assert (session.cwd, session.models) == (str(tmp_path), ("gpt-5",))


def test_cursor_leaves_edited_turns_out(tmp_path: Path) -> None:
    root = tmp_path / "User"
    root.mkdir()
    cursor.write(root)
    with store(root) as h:
        assert not h.search("edited").hits
        assert {session.session_id for session in h.sessions(limit=None).sessions} == {
            cursor.SESSION,
            cursor.INLINE,
            cursor.TAB,
        }
        assert h.session(cursor.TAB).title == "Chat"


def test_tables_that_are_not_read_are_named_and_counted(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    opencode.write(root)
    with closing(Database(root / "opencode.db")) as database:
        database.db.execute("CREATE TABLE session_v2 (id text PRIMARY KEY, fork_session_id text)")
        database.db.execute("INSERT INTO session_v2 VALUES ('ses_9', NULL), ('ses_8', 'ses_9')")
        database.db.execute("CREATE TABLE session_message (id text PRIMARY KEY)")
    named = ("opencode.db#session_v2", "a table that is not read: 2 rows")
    with hansard.open(tmp_path / "home", [root]) as h:
        for _ in range(2):
            h.sync()
            assert [(item.path, item.reason) for item in h.status().left_out] == [named]
        assert [finding.text for finding in h.doctor().findings if finding.subject == "database"] == [
            f"{named[0]}: {named[1]}; a newer version may write there"
        ]
        with closing(Database(root / "opencode.db")) as database:
            database.db.execute("INSERT INTO session_message VALUES ('m1')")
            database.db.execute("DROP TABLE session_v2")
        h.sync()
        assert [item.path for item in h.status().left_out] == ["opencode.db#session_message"]


def test_cursor_edits_are_shown_as_diffs(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "globalStorage").mkdir(parents=True)
    lines = [{"type": "removed", "content": "low"}, {"type": "added", "content": "high"}, {"content": "same"}]
    computed = cursor.tool(
        "edit_file_v2",
        {"relativeWorkspacePath": "/srv/a.txt"},
        {"beforeContentId": cursor.NOTHING, "afterContentId": "composer.content.unknown"},
        additionalData={"precomputedDiff": {"lines": lines}},
    )
    whole = cursor.tool(
        "edit_file_v2",
        {"relativeWorkspacePath": "/srv/b.txt"},
        {"beforeContentId": cursor.NOTHING, "afterContentId": cursor.AFTER},
    )
    chunks = {"diff": {"chunks": [{"diffString": "-one\n+two"}]}}
    older = cursor.tool("edit_file", {"relativeWorkspacePath": "/srv/c.txt", "code_edit": "two"}, chunks)
    given = {"file_path": "/srv/d.txt", "old_string": "one", "new_string": "two"}
    replaced = cursor.tool("search_replace", given, {"ok": True})
    with closing(sqlite3.connect(root / "globalStorage/state.vscdb")) as db:
        db.executescript(cursor.TABLES)
        calls = [
            {"type": 2, "toolFormerData": call | {"toolCallId": f"t{number}"}}
            for number, call in enumerate((computed, whole, older, replaced))
        ]
        cursor.write_composer(db, [{"type": 1, "text": "Edit"}, *calls])
        cursor.put(db, "cursorDiskKV", cursor.AFTER, "high\nlow\n")
        db.commit()
    with store(root) as h:
        tools = [item for turn in h.read(cursor.SESSION).turns() for item in turn.items if item.kind == "tool"]
        assert [item.subject for item in tools] == [f"/srv/{name}.txt" for name in "abcd"]
        shown = [[getattr(part, "text", part) for part in item.results] for item in tools]
        assert shown == [
            ["@@ -1,2 +1,2 @@\n-low\n+high\n same"],
            ["@@ -0,0 +1,2 @@\n+high\n+low"],
            ["@@ -1,1 +1,1 @@\n-one\n+two"],
            ["@@ -1 +1 @@\n-one\n+two"],
        ]
