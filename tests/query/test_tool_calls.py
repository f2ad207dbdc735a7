"""Tool calls over all sessions: held to a slow twin, page by page, with every filter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hansard.engine import Hansard
from hansard.errors import NotFound, UsageError
from tests.query import slow_calls
from tests.query.scattered import PATHS, TOOLS, scatter
from tests.query.search.slowly import has_tool
from tests.sync.making import START, assistant, call, main_path, result, session, user

if TYPE_CHECKING:
    from hansard.model.calls import Call
    from tests.sync.making import Tree

SEEDS = range(6)


def opened(tree: Tree) -> Hansard:
    return Hansard(str(tree.home), tree.roots)


def told(row: slow_calls.Row) -> tuple[Any, ...]:
    return (
        row.tool,
        row.path,
        row.change,
        row.added,
        row.removed,
        row.lasted,
        bool(row.is_error),
        row.result_id is not None,
        row.session_id,
        row.tool_use_id,
        row.transcript_path,
    )


def listed(item: Call) -> tuple[Any, ...]:
    return (
        item.tool,
        item.path,
        item.change,
        item.added,
        item.removed,
        item.duration_ms,
        item.is_error,
        item.has_result,
        item.session_id,
        item.tool_use_id,
        item.transcript,
    )


def whole(h: Hansard, limit: int, **asked: Any) -> list[Call]:
    """All pages together."""
    found: list[Call] = []
    cursor = None
    while True:
        page = h.calls(limit=limit, cursor=cursor, **asked)
        found += page.calls
        assert len(page.calls) <= limit
        cursor = page.next_cursor
        if cursor is None:
            assert page.total == len(found)
            return found
        assert len(page.calls) == limit


@pytest.mark.parametrize("seed", SEEDS)
def test_every_call_once_in_pages_of_any_size(tree: Tree, seed: int) -> None:
    scatter(tree, seed)
    calls = slow_calls.calls(tree)
    assert len(calls) < len(slow_calls.rows(tree))
    with opened(tree) as h:
        for limit in (1, 7, 500):
            assert [listed(item) for item in whole(h, limit)] == [told(row) for row in slow_calls.newest(calls)]
            slow = [told(row) for row in slow_calls.slowest(calls)]
            assert [listed(item) for item in whole(h, limit, sort="slowest")] == slow


@pytest.mark.parametrize("seed", SEEDS)
def test_filters(tree: Tree, seed: int) -> None:
    scatter(tree, seed)
    calls = slow_calls.newest(slow_calls.calls(tree))
    projects = dict(tree.rows("SELECT session_id, project FROM sessions"))
    since, until = START + timedelta(minutes=150), START + timedelta(minutes=5000)
    low, high = int(since.timestamp() * 1000), int(until.timestamp() * 1000)
    wishes: list[tuple[dict[str, Any], Callable[[slow_calls.Row], object]]] = [
        ({"kind": "changes"}, lambda row: row.change is not None),
        ({"kind": "errors"}, lambda row: row.is_error),
        ({"since": since}, lambda row: row.ts is not None and row.ts >= low),
        ({"until": until}, lambda row: row.ts is not None and row.ts < high),
        ({"project": "src/other"}, lambda row: "src/other" in projects[row.session_id]),
        ({"text": "SRC decode"}, lambda row: row.path == PATHS[0]),
        ({"text": "100%_"}, lambda row: row.path == PATHS[3]),
        ({"text": "%"}, lambda row: row.path == PATHS[3]),
        ({"under": PATHS[0][:-15]}, lambda row: row.path in PATHS[:2]),
        ({"under": "/home/mira/src/a", "kind": "changes"}, lambda row: row.change and row.path in PATHS[:3]),
        *(({"tool": tool}, lambda row, tool=tool: has_tool(row.tool, tool, prefix=False)) for tool in TOOLS),
        *(({"name": tool}, lambda row, tool=tool: row.tool == tool) for tool in TOOLS),
        ({"tool": "edit"}, lambda row: row.tool == "Edit"),
        ({"name": "edit"}, lambda _: False),
        ({"query": f"session:{session(3)}"}, lambda row: row.session_id == session(3)),
    ]
    with opened(tree) as h:
        for asked, keeps in wishes:
            assert [listed(item) for item in whole(h, 9, **asked)] == [told(row) for row in calls if keeps(row)], asked


def test_where_a_call_stands(tree: Tree) -> None:
    one = session(1)
    blocks = [{"type": "text", "text": "Now."}, call("t1", "Bash", command="ls"), call("t2", "Read", file_path="/a")]
    tree.write(main_path(one), [user(one, "u", "Go."), assistant(one, "a", "msg_011", blocks, 1)])
    tree.sync()
    with opened(tree) as h:
        second, first = h.calls().calls
        line = tree.place(main_path(one)).read_bytes().splitlines(keepends=True)
        assert (first.tool, first.offset, first.block) == ("Bash", len(line[0]), 1)
        assert (second.tool, second.offset, second.block) == ("Read", len(line[0]), 2)
        assert first.is_shown
        read = h.tool_call(first.transcript, first.offset, first.block)
        assert (read.tool, read.input, read.output) == ("Bash", {"command": "ls"}, None)


def test_a_call_of_a_former_generation_is_still_there_but_not_shown(tree: Tree) -> None:
    one = session(1)
    lines = [user(one, "u", "Go."), assistant(one, "a", "msg_011", [call("t1", "Bash", command="ls -l")], 1)]
    tree.write(main_path(one), lines)
    tree.sync()
    tree.write(main_path(one), [user(one, "v", "Anew."), user(one, "w", "And on.", 1, "v")])
    tree.sync()
    with opened(tree) as h:
        (found,) = h.calls(subjects=True).calls
        assert (found.is_shown, found.generation, found.subject) == (False, 1, "ls -l")
        read = h.tool_call(found.transcript, found.offset, found.block, generation=found.generation)
        assert read.input == {"command": "ls -l"}
        with pytest.raises(NotFound):
            h.tool_call(found.transcript, found.offset, found.block, generation=2)


def test_of_copies_the_one_with_a_result_is_listed(tree: Tree) -> None:
    one, fork = session(1), session(2)
    asked = [user(one, "u", "Go."), assistant(one, "a", "msg_011", [call("t1", "Bash", command="ls")], 1)]
    tree.write(main_path(one), asked)
    tree.write(
        main_path(fork),
        [{**line, "sessionId": fork} for line in [*asked, result(one, "r", "t1", "files", 2)]],
    )
    tree.sync()
    with opened(tree) as h:
        (found,) = h.calls().calls
        assert (found.session_id, found.has_result, found.duration_ms) == (fork, True, 60_000)


def test_subjects_and_the_beginnings_of_results(tree: Tree) -> None:
    one = session(1)
    blocks = [call("t1", "Bash", command="make  test\nmake check"), call("t2", "mcp__tracker__find", query="flaky")]
    failed: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "is_error": True,
        "content": "<tool_use_error>Exit code 2\n\nboom</tool_use_error>",
    }
    tree.write(
        main_path(one),
        [user(one, "u", "Go."), assistant(one, "a", "msg_011", blocks, 1), user(one, "r", [failed], 2)],
    )
    tree.sync()
    with opened(tree) as h:
        found = {item.tool: item for item in h.calls(subjects=True, outputs=True).calls}
        assert (found["Bash"].subject, found["Bash"].output) == ("make test", "Exit code 2 boom")
        assert (found["mcp__tracker__find"].subject, found["mcp__tracker__find"].output) == ("flaky", None)
        bare = h.calls().calls[0]
        assert (bare.subject, bare.output) == (None, None)


def test_a_change_has_its_patch(tree: Tree) -> None:
    one = session(1)
    hunk = {"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 2, "lines": ["-b", "+c", "+d"]}
    outcome = {"filePath": "/a.py", "structuredPatch": [hunk]}
    edit = call("t1", "Edit", file_path="/a.py", old_string="b", new_string="c\nd")
    lines = [user(one, "u", "Go."), assistant(one, "a", "msg_011", [edit], 1), result(one, "r", "t1", "ok", 2, outcome)]
    tree.write(main_path(one), lines)
    tree.sync()
    with opened(tree) as h:
        (found,) = h.calls(kind="changes").calls
        read = h.tool_call(found.transcript, found.offset, found.block, root=found.root)
        assert read.patch == "@@ -3,1 +3,2 @@\n-b\n+c\n+d"
        assert (read.added, read.removed, read.output) == (2, 1, "ok")


@pytest.mark.parametrize("cursor", ["", "x", "W10=", "bnVsbA==", "WyJuZXdlc3QiLCAxLCAieCJd", "é", "W" * 90_000])
def test_a_wrong_cursor_is_refused(tree: Tree, cursor: str) -> None:
    scatter(tree, 1)
    with opened(tree) as h, pytest.raises(UsageError, match="cursor"):
        h.calls(cursor=cursor)


def test_a_cursor_of_another_order_is_refused(tree: Tree) -> None:
    scatter(tree, 1)
    with opened(tree) as h:
        cursor = h.calls(limit=1).next_cursor
        with pytest.raises(UsageError, match="sort order"):
            h.calls(limit=1, sort="slowest", cursor=cursor)


def test_what_makes_no_sense_is_refused(tree: Tree) -> None:
    with opened(tree) as h:
        wrongs: tuple[dict[str, Any], ...] = ({"sort": "x"}, {"kind": "x"}, {"limit": 0})
        for wrong in wrongs:
            with pytest.raises(UsageError):
                h.calls(**wrong)
        with pytest.raises(NotFound):
            h.tool_call("projects/x.jsonl", 10)


def test_an_empty_store_has_no_calls(tree: Tree) -> None:
    with opened(tree) as h:
        page = h.calls(subjects=True)
        assert (page.calls, page.next_cursor, page.total) == ((), None, 0)
