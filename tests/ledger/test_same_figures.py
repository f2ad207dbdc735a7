"""Every figure that two faces show is the same on both: forks, replays, copies under another root, calls that stand in a session twice."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hansard.engine import Hansard
from tests.ledger.making import OPUS, opened, said
from tests.sync.forking import ORIGINAL, fork, talk
from tests.sync.making import Tree, agent_path, call, main_path, result, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.ledger.conftest import Kept
    from tests.sync.making import Line

ONE, FORK = session(7), session(2)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
EVER = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC))


def edit(identity: str, number: int) -> list[Line]:
    """A call that changes a file, with its result."""
    content = [call(identity, "Edit", file_path="/p/a.py", old_string="a", new_string="b\nc")]
    made = said(ONE, number, START + timedelta(minutes=number), content=content, stop="tool_use")
    patch = {"filePath": "/p/a.py", "structuredPatch": [{"lines": ["-a", "+b", "+c"]}]}
    return [made, result(ONE, f"r{number}", identity, "done", number, patch)]


def failing(identity: str, number: int) -> list[Line]:
    content = [call(identity, "Bash", command="false")]
    made = said(ONE, number, START + timedelta(minutes=number), content=content, stop="tool_use", model=OPUS)
    answer = result(ONE, f"r{number}", identity, "no", number)
    answer["message"]["content"][0]["is_error"] = True
    return [made, answer]


@pytest.fixture
def replayed(tree: Tree) -> Iterator[Hansard]:
    """A session in which calls stand again under another message, a subagent that repeats its parent, a fork."""
    own = [user(ONE, "u1", "Change it."), *edit("toolu_01a", 1), *failing("toolu_01b", 2)]
    again = [*edit("toolu_01a", 3), *failing("toolu_01b", 4), user(ONE, "u2", "Go on.", 5), *edit("toolu_01c", 6)]
    tree.write(main_path(ONE), own + again)
    tree.write(agent_path(ONE, "acompact-1"), [{**line, "isSidechain": True, "agentId": "acompact-1"} for line in own])
    original = talk(ORIGINAL, "first", 3)
    tree.write(main_path(ORIGINAL), original)
    tree.write(main_path(FORK), fork(original[:4], FORK, "fork", 2, start=10, mark="prompt_id"))
    with opened(tree) as h:
        yield h


def figures(h: Hansard) -> dict[str, dict[str, Any]]:
    """What each face says, by the name of the figure."""
    tools, usage, ever = h.tools().totals, h.usage(by="total", work=True).totals, h.activity_by_period(EVER)[0]
    activity, status, files = h.activity(), h.status(), h.files(limit=500)
    sessions = h.sessions(limit=None, debris=True).sessions
    typed = [h.prompts(source=source, limit=None).total for source in ("prompt", "queued")]
    projects = h.projects()
    groups = {by: h.session_groups(by=by, limit=10_000).groups for by in ("project", "day")}
    work = usage.work
    assert work is not None
    shared = {
        "tool calls": "tool_calls",
        "prompts": "prompts",
        "lines added": "lines_added",
        "lines removed": "lines_removed",
    }
    sums = {
        figure: {
            "projects": sum(getattr(item, name) for item in projects),
            **{f"groups by {by}": sum(getattr(item, name) for item in found) for by, found in groups.items()},
        }
        for figure, name in shared.items()
    }
    found: dict[str, dict[str, Any]] = {
        "tool calls": {
            "tools": tools.calls,
            "usage": work.calls,
            "status": status.tool_calls,
            "overview": ever.tool_calls,
            "activity": activity.tool_calls,
            "list": h.calls(limit=1).total,
            "days": sum(day.calls for day in h.tools().days),
        },
        "failed calls": {
            "tools": tools.errors,
            "usage": work.errors,
            "overview": ever.tool_errors,
            "list": h.calls(kind="errors", limit=1).total,
        },
        "lines added": {"tools": tools.lines_added, "usage": work.lines_added, "files": files.added},
        "lines removed": {"tools": tools.lines_removed, "usage": work.lines_removed, "files": files.removed},
        "prompts": {"list": sum(typed), "overview": ever.prompts, "activity": activity.prompts},
        "messages": {
            "usage": usage.api_messages,
            "status": status.messages,
            "activity": activity.messages,
            "sessions": sum(item.api_messages for item in sessions),
        },
        "tokens": {
            "usage": usage.tokens,
            "sessions": sum(item.tokens or 0 for item in sessions),
        },
        "cost": {
            "usage": usage.cost_usd or 0,
            "sessions": sum(item.cost_usd or 0 for item in sessions),
            "days": sum(row.cost_usd or 0 for row in h.usage(by="day").rows),
        },
    }
    return {name: {**said, **sums.get(name, {})} for name, said in found.items()}


def differing(h: Hansard) -> dict[str, dict[str, Any]]:
    return {name: said for name, said in figures(h).items() if len(set(said.values())) > 1}


def test_calls_that_a_session_repeats_count_once(replayed: Hansard) -> None:
    found = figures(replayed)
    assert found["tool calls"]["tools"] == 3
    assert found["failed calls"]["tools"] == 1
    assert found["lines added"]["tools"] == 4
    about = replayed.session(ONE)
    assert (about.tool_calls, about.tool_errors, about.lines_added, about.lines_removed) == (3, 1, 4, 2)
    assert Counter({row.path: row.changes for row in replayed.files().files}) == {"/p/a.py": 2}


def test_every_face_says_the_same(replayed: Hansard) -> None:
    assert differing(replayed) == {}


def test_every_face_of_the_demo_says_the_same(demo: Kept) -> None:
    assert differing(demo.h) == {}


def test_every_face_of_the_hard_session_says_the_same(hard: Kept) -> None:
    assert differing(hard.h) == {}


def test_every_face_of_the_public_corpus_says_the_same(public: Kept) -> None:
    assert differing(public.h) == {}
