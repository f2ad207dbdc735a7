"""Every tool: the same calls as in `Work`, and medians as plain Python finds them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING, Any

import pytest

from hansard.ledger.tool_usage import server_of
from hansard.model.calls import ToolReport, ToolSums
from hansard.model.ledger import Work
from tests.ledger.making import FORK, ONE, OPUS, START, TWO, of, opened, said, story
from tests.query import slow_calls
from tests.query.scattered import scatter
from tests.sync.making import Tree, agent_path, call, main_path, result

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from tests.ledger.conftest import Kept

FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"project": "src/app"},
    {"project": "nowhere"},
    {"since": START + timedelta(minutes=130)},
    {"until": START + timedelta(minutes=130, seconds=17)},
    {"since": START + timedelta(minutes=60), "until": START + timedelta(days=2)},
    {"model": "opus"},
    {"model": "haiku"},
    {"query": "tool:Bash"},
    {"query": "is:subagent"},
    {"query": "branch:main OR project:other"},
)


def work_of(sums: ToolSums) -> Work:
    return Work(sums.calls, sums.errors, sums.duration_ms, sums.lines_added, sums.lines_removed)


def check(h: Hansard, **asked: Any) -> ToolReport:
    """Hold a report to the ledger's own."""
    found = h.tools(timezone="Europe/Berlin", **asked)
    report = h.usage(by="tool", work=True, timezone="Europe/Berlin", **asked)
    expected = {row.key["tool"]: row.work for row in report.rows if row.work is not None and row.work.calls}
    assert {sums.tool or None: work_of(sums) for sums in found.tools} == expected
    assert work_of(found.totals) == report.totals.work
    days = h.usage(by="day", work=True, timezone="Europe/Berlin", **asked).rows
    by_day = {row.key["day"]: (row.work.calls, row.work.errors) for row in days if row.work and row.work.calls}
    by_day.pop(None, None)
    assert {item.day: (item.calls, item.errors) for item in found.days} == by_day
    assert [sums.calls for sums in found.tools] == sorted((sums.calls for sums in found.tools), reverse=True)
    for sums in found.tools:
        assert h.tools(timezone="Europe/Berlin", name=sums.tool, **asked).tools == (sums,)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_the_calls_of_the_ledger_with_every_filter(tree: Tree, seed: int) -> None:
    scatter(tree, seed)
    with opened(tree) as h:
        for asked in FILTERS:
            check(h, **asked)


def test_the_story_in_which_everything_could_be_counted_twice(tree: Tree) -> None:
    for path, lines in story().items():
        tree.write(path, lines)
    with opened(tree) as h:
        for asked in FILTERS:
            check(h, **asked)


def test_the_demo_history(demo: Kept, hard: Kept) -> None:
    for kept in (demo, hard):
        for asked in ({}, {"query": "tool:Bash"}, {"since": datetime(2026, 4, 20, tzinfo=UTC)}):
            check(kept.h, **asked)


@pytest.mark.parametrize("seed", range(5))
def test_medians_sessions_and_times(tree: Tree, seed: int) -> None:
    scatter(tree, seed)
    keys = dict(tree.rows("SELECT id, key FROM messages"))
    owners = {row[0]: (row[1], row[2]) for row in tree.rows("SELECT key, ts, session_id FROM usage")}
    groups: dict[tuple[Any, ...], list[slow_calls.Row]] = {}
    for row in slow_calls.rows(tree):
        groups.setdefault((keys[row.message_id], row.tool_use_id), []).append(row)
    tools: dict[str, list[tuple[int | None, int, str]]] = {}
    for (key, _), rows in groups.items():
        lasted = [row.lasted for row in rows if row.lasted is not None]
        tools.setdefault(rows[0].tool, []).append((max(lasted, default=None), *owners[key]))
    with opened(tree) as h:
        found = {sums.tool: sums for sums in h.tools().tools}
    assert found.keys() == tools.keys()
    for name, calls in tools.items():
        times = sorted(time for time, _, _ in calls if time is not None)
        moments = [at for _, at, _ in calls if at]
        sums = found[name]
        assert sums.timed_calls == len(times)
        assert sums.median_ms == (times[ceil(len(times) * 0.5) - 1] if times else None)
        assert sums.p95_ms == (times[ceil(len(times) * 0.95 - 1e-9) - 1] if times else None)
        assert sums.sessions == len({session_id for _, _, session_id in calls})
        assert _ms(sums.first_at) == min(moments, default=None)
        assert _ms(sums.last_at) == max(moments, default=None)


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


def test_what_only_one_of_the_copies_knows_counts(tree: Tree) -> None:
    talk = [said(ONE, 1, START, content=[call("t1", "Bash", command="ls")])]
    failed = result(ONE, "r1", "t1", "no", 2)
    failed["message"]["content"][0]["is_error"] = True
    tree.write(main_path(ONE), talk)
    tree.write(main_path(FORK), of(FORK, [*talk, failed]))
    tree.write(agent_path(TWO, "a9"), [{**line, "agentId": "a9", "isSidechain": True} for line in of(TWO, talk)])
    with opened(tree) as h:
        found = check(h)
        assert work_of(found.totals) == Work(1, 1, 120_000, 0, 0)
        assert (found.totals.median_ms, found.totals.p95_ms, found.totals.sessions) == (120_000, 120_000, 1)


def test_calls_without_any_time(tree: Tree) -> None:
    tree.write(main_path(ONE), [said(ONE, 1, None, content=[call("t1", "Bash", command="ls")], model=OPUS)])
    with opened(tree) as h:
        found = check(h)
        assert (found.totals.calls, found.totals.median_ms, found.totals.first_at, found.days) == (1, None, None, ())


def test_the_times_of_a_tool_are_those_of_its_messages_with_and_without_a_filter(tree: Tree) -> None:
    def at(minutes: float) -> datetime:
        return START + timedelta(minutes=minutes)

    bash = [call("t1", "Bash", command="ls")]
    read = [call("t2", "Read", file_path="/a")]
    # Lines out of order: the message is as old as its earliest line, not as its first one.
    late = [said(ONE, 1, at(9)), said(ONE, 1, at(4)), said(ONE, 1, at(10), content=bash)]
    # The original was never answered; its copy in a fork was, and has another time.
    original = [said(ONE, 2, at(20), content=read)]
    copy = [*of(FORK, [said(ONE, 2, at(90), content=read)]), result(FORK, "r2", "t2", "text", 91)]
    # A call without a time, and one by a clock that was never set, are no first calls.
    undated = [
        said(ONE, number, moment, content=[call(f"t{number}", "Bash", command="ls")])
        for number, moment in ((3, None), (4, "1970-01-01T00:00:00.000Z"), (5, at(30)))
    ]
    tree.write(main_path(ONE), [*late, *original, *undated])
    tree.write(main_path(FORK), copy)
    with opened(tree) as h:
        check(h)
        found = {sums.tool: sums for sums in h.tools().tools}
        assert (found["Bash"].first_at, found["Bash"].last_at) == (at(4), at(30))
        assert (found["Read"].first_at, found["Read"].last_at) == (at(20), at(20))
        for name, sums in found.items():
            assert h.tools(tool=name).tools == (sums,)


def test_an_empty_store_has_no_tools(tree: Tree) -> None:
    with opened(tree) as h:
        found = h.tools()
        assert (found.tools, found.days, found.totals.calls, found.totals.median_ms) == ((), (), 0, None)
        assert h.tools(tool="Bash", match="x").tools == ()


@pytest.mark.parametrize(
    ("tool", "server"),
    [
        ("mcp__tracker__find_issues", "tracker"),
        ("mcp__a__b__c", "a"),
        ("mcp__odd", None),
        ("mcp____x", ""),
        ("Bash", None),
        ("", None),
    ],
)
def test_the_server_of_a_tool(tool: str, server: str | None) -> None:
    assert server_of(tool) == server
