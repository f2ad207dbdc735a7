"""Which files each session touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from hansard.clients.state import State, dump
from hansard.index.derive import derive
from hansard.index.schema import INDEXES, tables
from tests.sync.making import agent_path, assistant, call, entry, main_path, result, session, user

if TYPE_CHECKING:
    from tests.sync.making import Line, Tree

ONE, TWO = session(1), session(2)
FILES = "SELECT session_id, path, calls, changes, added, removed FROM session_files ORDER BY 1, 2"


def touched(session_id: str, name: str, tool: str, path: str, *, lines: int = 0) -> list[Line]:
    """A call that reads a file, or puts so many lines into it."""
    given = {"file_path": path}
    outcome = None
    if tool == "Edit":
        given |= {"old_string": "x", "new_string": "\n".join("y" * lines)}
        patch = ["-x", *("+y" for _ in range(lines))]
        hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": lines, "lines": patch}
        outcome = {"filePath": path, "structuredPatch": [hunk]}
    return [
        assistant(session_id, f"a-{name}", f"m-{name}", [call(f"t-{name}", tool, **given)], 1),
        result(session_id, f"r-{name}", f"t-{name}", "fine", 2, outcome),
    ]


def test_reads_and_changes_are_counted(tree: Tree) -> None:
    tree.write(
        main_path(ONE),
        [
            user(ONE, "u", "Go."),
            *touched(ONE, "1", "Read", "/src/a.py"),
            *touched(ONE, "2", "Edit", "/src/a.py", lines=3),
            *touched(ONE, "3", "Edit", "/src/a.py", lines=2),
            *touched(ONE, "4", "Read", "/src/b.py"),
            assistant(ONE, "a5", "m5", [call("t5", "Bash", command="ls")], 3),
        ],
    )
    tree.sync()
    assert tree.rows(FILES) == [(ONE, "/src/a.py", 3, 2, 5, 2), (ONE, "/src/b.py", 1, 0, 0, 0)]
    assert tree.rows("SELECT files_changed FROM sessions") == [(1,)]


def test_what_a_later_line_says_is_added(tree: Tree) -> None:
    call_, done = touched(ONE, "1", "Edit", "/src/a.py", lines=2)
    tree.write(main_path(ONE), [user(ONE, "u", "Go."), call_])
    tree.sync()
    assert tree.rows(FILES) == [(ONE, "/src/a.py", 1, 0, 0, 0)]
    tree.append(main_path(ONE), [done])
    tree.sync()
    assert tree.rows(FILES) == [(ONE, "/src/a.py", 1, 1, 2, 1)]


def test_subagents_work_for_their_session(tree: Tree) -> None:
    tree.write(main_path(ONE), [user(ONE, "u", "Go."), *touched(ONE, "1", "Read", "/src/a.py")])
    task = entry("user", ONE, "s", 1, isSidechain=True, agentId="a1", message={"role": "user", "content": "Look."})
    inner = touched(ONE, "2", "Read", "/src/a.py") + touched(ONE, "3", "Read", "/src/c.py")
    tree.write(agent_path(ONE, "a1"), [task, *({**line, "isSidechain": True, "agentId": "a1"} for line in inner)])
    tree.sync()
    assert tree.rows(FILES) == [(ONE, "/src/a.py", 2, 0, 0, 0), (ONE, "/src/c.py", 1, 0, 0, 0)]


def test_a_file_that_is_written_anew_forgets(tree: Tree) -> None:
    tree.write(main_path(ONE), [user(ONE, "u", "Go."), *touched(ONE, "1", "Read", "/src/a.py")])
    tree.write(main_path(TWO), [user(TWO, "v", "Go."), *touched(TWO, "2", "Read", "/src/a.py")])
    tree.sync()
    tree.write(main_path(ONE), [user(ONE, "w", "Again."), *touched(ONE, "3", "Read", "/src/b.py")])
    tree.sync()
    assert tree.rows(FILES) == [(ONE, "/src/b.py", 1, 0, 0, 0), (TWO, "/src/a.py", 1, 0, 0, 0)]


def test_the_work_is_that_of_the_session() -> None:
    """No statement of the derivation may go through the calls of all sessions."""
    db = apsw.Connection(":memory:")
    db.execute(tables() + INDEXES)
    db.execute("INSERT INTO dirty VALUES ('x')")
    asked: list[str] = []

    def note(_cursor: object, sql: str, _values: object) -> bool:
        asked.append(sql)
        return True

    db.execute(
        "INSERT INTO transcripts VALUES (1,'/r','claude-code','p','main',1,1,'live',1,1,0,0,'x','','','',0,'',1,1,0,0,0,0,0,'',1,?,NULL)",
        (dump(State()),),
    )
    db.exec_trace = note
    derive(db)
    db.exec_trace = None
    plans = [
        row[3]
        for sql in asked
        if "tool_calls" in sql
        for row in db.execute("EXPLAIN QUERY PLAN " + sql, (0,) * sql.count("?"))
    ]
    assert "SEARCH c USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in plans
    assert not [plan for plan in plans if plan.startswith(("SCAN c", "SCAN tool_calls")) or "tool_calls_path" in plan]
