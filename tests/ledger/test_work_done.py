"""What tools did, beside what it cost: each call once, where the message that made it is."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from hansard.model.ledger import Work
from hansard.model.requests import DIMENSIONS
from tests.ledger.conftest import Kept
from tests.ledger.making import FORK, HAIKU, ONE, START, TWO, of, opened, said, story
from tests.ledger.slowly import values
from tests.sync.making import Line, Tree, agent_path, call, main_path, user


def returned(session_id: str, tool_use_id: str, seconds: float, *, is_error: bool = False, **more: Any) -> Line:
    block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": "done", "is_error": is_error}
    moment = START + timedelta(seconds=seconds)
    line = user(session_id, f"r-{tool_use_id}-{session_id[-2:]}", [block])
    return {**line, "timestamp": moment.isoformat().replace("+00:00", "Z"), **more}


def calling(session_id: str, number: int, seconds: float, *names: str, **more: Any) -> Line:
    blocks = [
        call(f"toolu_{number}_{place}", name, file_path="/a.py", old_string="a", new_string="b\nc")
        for place, name in enumerate(names)
    ]
    return said(session_id, number, START + timedelta(seconds=seconds), content=blocks, **more)


def test_calls_errors_times_and_lines(tree: Tree) -> None:
    patch = {
        "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": ["-a", "+b", "+c"]}]
    }
    tree.write(
        main_path(ONE),
        [
            calling(ONE, 1, 0, "Edit", "Bash"),
            returned(ONE, "toolu_1_0", 2.5, toolUseResult={"filePath": "/a.py", **patch}),
            returned(ONE, "toolu_1_1", 4, is_error=True),
            calling(ONE, 2, 10, "Bash"),
            said(ONE, 3, START + timedelta(hours=1)),
        ],
    )
    with opened(tree) as h:
        report = h.usage(by="tool", work=True)
        found = {row.key["tool"]: row.work for row in report.rows}
        assert found == {"Edit": Work(1, 0, 2500, 2, 1), "Bash": Work(2, 1, 4000, 0, 0), None: Work()}
        assert report.totals.work == Work(3, 1, 6500, 2, 1)
        assert h.usage(by="day").totals.work is None


def test_forks_and_replays_call_nothing_again(tree: Tree) -> None:
    talk = [
        calling(ONE, 1, 0, "Read", "Bash"),
        returned(ONE, "toolu_1_0", 1),
        returned(ONE, "toolu_1_1", 2, is_error=True),
    ]
    tree.write(main_path(ONE), talk)
    with opened(tree) as h:
        expected = {by: h.usage(by=by, work=True).totals.work for by in DIMENSIONS}
    # A fork before the result came has the calls, but not what became of them.
    tree.write(main_path(FORK), of(FORK, talk[:1]))
    tree.write(main_path(TWO), of(TWO, talk))
    tree.write(agent_path(TWO, "a9"), [{**line, "agentId": "a9", "isSidechain": True} for line in of(TWO, talk)])
    with opened(tree) as h:
        assert {by: h.usage(by=by, work=True).totals.work for by in DIMENSIONS} == expected
        assert expected["day"] == Work(2, 1, 3000, 0, 0)
        assert [row.work for row in h.usage(by="session", work=True).rows] == [Work(2, 1, 3000, 0, 0)]


def test_a_call_belongs_to_the_day_of_its_message(tree: Tree) -> None:
    """An answer that begins before midnight and calls a tool after it."""
    night = START.replace(hour=23, minute=59, second=59)
    late = said(ONE, 1, night + timedelta(seconds=2), content=[call("toolu_1", "Bash", command="ls")])
    tree.write(main_path(ONE), [said(ONE, 1, night, stop=None), late])
    with opened(tree) as h:
        for by in ("day", "hour", "block"):
            report = h.usage(by=by, work=True, timezone="UTC")
            assert len(report.rows) == 1
            assert report.totals.work == report.rows[0].work == Work(1, 0, 0, 0, 0)


def test_subagents_of_old_do_their_own_work(tree: Tree) -> None:
    """The oldest clients wrote subagents into the main file."""
    tree.write(
        main_path(ONE), [calling(ONE, 1, 0, "Task"), calling(ONE, 2, 5, "Grep", "Grep", isSidechain=True, model=HAIKU)]
    )
    with opened(tree) as h:
        found = {row.key["agent"]: row.work for row in h.usage(by="agent", work=True).rows}
        assert found == {"main": Work(1), "subagent": Work(2)}
        found = {row.key["model"]: row.work for row in h.usage(by="model", work=True).rows}
        assert found[HAIKU] == Work(2)
        assert h.usage("is:subagent", by="total", work=True).totals.work == Work(2)


def test_ids_that_a_gateway_uses_again(tree: Tree) -> None:
    """`call_0` of one answer is not `call_0` of another."""
    lines = [
        said(ONE, number, START, content=[call("call_0", "Bash")], identity=f"gen-{number}", requestId=None)
        for number in range(3)
    ]
    tree.write(main_path(ONE), lines)
    tree.write(main_path(TWO), [said(TWO, 9, START, content=[call("call_0", "Bash")])])
    with opened(tree) as h:
        assert h.usage(by="total", work=True).totals.work == Work(4)


def test_tools_that_no_message_begins_with(tree: Tree) -> None:
    tree.write(main_path(ONE), [calling(ONE, 1, 0, "Read", "Glob"), calling(ONE, 2, 1, "Read")])
    with opened(tree) as h:
        rows = h.usage(by="tool", work=True).rows
        assert {row.key["tool"]: (row.api_messages, row.work) for row in rows} == {
            "Read": (2, Work(2)),
            "Glob": (0, Work(1)),
        }
        assert {row.key["tool"] for row in h.usage(by="tool").rows} == {"Read"}
        # A filter by tool means the calls of that tool, and the messages that begin with it.
        asked = h.usage("tool:Glob", by="total", work=True)
        assert (asked.totals.api_messages, asked.totals.work) == (0, Work(1))


def test_the_story(tree: Tree) -> None:
    for path, lines in story().items():
        tree.write(path, lines)
    with opened(tree) as h:
        work = {row.key["tool"]: row.work for row in h.usage(by="tool", work=True).rows}
    assert work == {"Read": Work(1), "Bash": Work(1, 0, 108_000), "Grep": Work(1), None: Work()}


def test_the_demo_history_slowly(demo: Kept) -> None:
    """Every tool_use block of an answer that states what it used, once."""
    calls: dict[tuple[str, str], str] = {}
    failed: set[str] = set()
    for path in sorted((demo.config / "projects").rglob("*.jsonl")):
        for _, value in values(Path(path).read_bytes()):
            message = value.get("message") if isinstance(value, dict) else None
            if not isinstance(message, dict):
                continue
            content = message.get("content")
            for block in content if isinstance(content, list) else ():
                if value["type"] == "assistant" and block.get("type") == "tool_use" and message.get("usage"):
                    calls[message["id"], block["id"]] = block["name"]
                if block.get("type") == "tool_result" and block.get("is_error"):
                    failed.add(block["tool_use_id"])
    report = demo.h.usage(by="tool", work=True)
    by_name = {row.key["tool"]: row.work.calls for row in report.rows if row.work is not None and row.work.calls}
    assert by_name == {name: list(calls.values()).count(name) for name in set(calls.values())}
    assert report.totals.work is not None
    assert report.totals.work.errors == sum(tool_use_id in failed for _, tool_use_id in calls)
