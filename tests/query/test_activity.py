"""What happened in stretches of time: counted by hand, and again in a slow and simple way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import hansard
from hansard.demo import write_history
from hansard.query.sessions import PAUSE
from tests.sync.making import START, Tree, agent_path, assistant, call, main_path, result, session, user

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.engine import Hansard

ONE, TWO = session(1), session(2)
MINUTE = timedelta(minutes=1)


def at(minutes: float) -> datetime:
    return START + MINUTE * minutes


def opened(tree: Tree) -> Hansard:
    tree.sync()
    return hansard.open(tree.home)


def test_pauses_of_five_minutes_count_and_longer_ones_do_not(tree: Tree) -> None:
    tree.write(
        main_path(ONE),
        [
            user(ONE, "u1", "Go.", 0),
            assistant(ONE, "a1", "m1", "Yes.", 5),
            user(ONE, "u2", "On.", 10.01),  # a pause
            assistant(ONE, "a2", "m2", "Yes.", 11),
        ],
    )
    with opened(tree) as h:
        (found,) = h.activity_by_period((at(-60), at(60)))

        assert h.active_time(ONE) == found.worked

    assert PAUSE == 5 * MINUTE
    assert found.active == found.worked == 5 * MINUTE + timedelta(seconds=59.4)
    assert (found.sessions, found.prompts, found.tool_calls, found.errors) == (1, 2, 0, 0)


def test_sessions_and_subagents_at_the_same_time_count_once_by_the_clock(tree: Tree) -> None:
    tree.write(main_path(ONE), [user(ONE, "u1", "Go.", 0), assistant(ONE, "a1", "m1", "Yes.", 4)])
    tree.write(
        agent_path(ONE, "x1"),
        [
            {**user(ONE, "s1", "Do.", 1), "agentId": "x1", "isSidechain": True},
            {**assistant(ONE, "s2", "m2", "Done.", 3), "agentId": "x1", "isSidechain": True},
        ],
    )
    tree.write(main_path(TWO), [user(TWO, "w1", "Go.", 2), assistant(TWO, "b1", "m3", "Yes.", 6)])
    with opened(tree) as h:
        (found,) = h.activity_by_period((at(-60), at(60)))

    assert found.sessions == 2
    assert found.active == 6 * MINUTE
    assert found.worked == 8 * MINUTE


def test_a_stretch_has_what_lies_in_it(tree: Tree) -> None:
    tree.write(
        main_path(ONE),
        [
            user(ONE, "u1", "Go.", 0),
            assistant(ONE, "a1", "m1", [call("t1", "Read", file_path="/a")], 1),
            {**result(ONE, "r1", "t1", "no such file", 2), "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "no such file", "is_error": True}],
            }},
            assistant(ONE, "a2", "m2", [call("t2", "Bash", command="ls")], 3),
            result(ONE, "r2", "t2", "a b", 3.5),
            {**assistant(ONE, "a3", "m3", "API Error: 500", 4), "isApiErrorMessage": True},
        ],
    )  # fmt: skip
    with opened(tree) as h:
        whole, first, second, after = h.activity_by_period(
            (at(0), at(60)), (at(0), at(2)), (at(2), at(60)), (at(5), at(60))
        )

    assert (whole.prompts, whole.tool_calls, whole.tool_errors, whole.api_errors, whole.errors) == (1, 2, 1, 1, 2)
    assert (first.prompts, first.tool_calls, first.errors) == (1, 1, 1)
    assert (second.prompts, second.tool_calls, second.errors) == (0, 1, 1)
    assert first.active + second.active == whole.active == 4 * MINUTE
    assert (after.sessions, after.active) == (0, timedelta(0))


def test_nothing_is_asked_and_nothing_is_there(tree: Tree) -> None:
    with hansard.open(tree.home) as h:
        assert h.activity_by_period() == []
        (found,) = h.activity_by_period((at(0), at(1)))
        assert found.sessions == found.prompts == 0
        assert h.session_counts([at(0), at(1)]) == [0]
        assert h.live(at(0)) == {}


def test_a_copy_of_a_transcript_in_a_former_generation_does_not_count(tree: Tree) -> None:
    lines = [user(ONE, "u1", "Go.", 0), assistant(ONE, "a1", "m1", [call("t1", "Read", file_path="/a")], 1)]
    tree.write(main_path(ONE), lines)
    tree.sync()
    tree.write(main_path(ONE), [user(ONE, "u0", "Before.", -1), *lines])
    with opened(tree) as h:
        (found,) = h.activity_by_period((at(-60), at(60)))

    assert (found.prompts, found.tool_calls, found.active) == (2, 1, 2 * MINUTE)


def test_sessions_of_days_are_those_of_the_list(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    write_history(tmp_path / "claude", now=now)
    with hansard.open(tmp_path / "home", [tmp_path / "claude"]) as h:
        h.sync()
        last = now.replace(hour=0, minute=0, second=0, microsecond=0)
        days = [last - timedelta(days=back) for back in range(80, -2, -1)]
        counts = h.session_counts(days)
        happened = h.activity_by_period(*pairwise(days))
        listed = [h.sessions(since=day, until=end, limit=1).total for day, end in pairwise(days)]

        assert counts == [one.sessions for one in happened]
        assert counts == listed
        assert max(counts) > 0
        (whole,) = h.activity_by_period((days[0], days[-1]))
        for name in ("prompts", "tool_calls", "tool_errors", "api_errors"):
            assert sum(getattr(one, name) for one in happened) == getattr(whole, name)
        activity = h.activity(since=days[0], until=days[-1])
        assert (whole.prompts, whole.tool_calls) == (activity.prompts, activity.tool_calls)
        assert whole.active == _slowly(h, days[0], days[-1])
        ever = h.activity(since=datetime(1, 1, 2, tzinfo=UTC), until=datetime(9999, 1, 1, tzinfo=UTC))
        assert h.activity() == ever, "all there is, counted without a condition"


def test_a_session_belongs_to_the_days_on_which_something_happened(tree: Tree) -> None:
    day = 24 * 60
    tree.write(main_path(ONE), [user(ONE, "u1", "Go.", 0), assistant(ONE, "a1", "m1", "Yes.", 3 * day)])
    tree.write(main_path(TWO), [user(TWO, "w1", "Go.", day), assistant(TWO, "b1", "m2", "Yes.", day + 1)])
    edges = [at(day * number - 60) for number in range(5)]
    with opened(tree) as h:
        assert h.session_counts(edges) == [1, 1, 0, 1]
        assert [one.sessions for one in h.activity_by_period(*pairwise(edges))] == [1, 1, 0, 1]
        for low, high in pairwise(edges):
            listed = [one.session_id for one in h.sessions(since=low, until=high).sessions]
            happened = h.activity(since=low, until=high)
            on = f"since:{low:%Y-%m-%dT%H:%MZ} before:{high:%Y-%m-%dT%H:%MZ}"
            assert [one.session_id for one in h.sessions(on).sessions] == listed
            assert sum(project.sessions for project in h.projects(since=low, until=high)) == len(listed)
            assert (happened.sessions, happened.projects) == (len(listed), min(1, len(listed)))
        assert [one.session_id for one in h.sessions(since=edges[3], until=edges[4]).sessions] == [ONE]
        quiet = f"{edges[2] + timedelta(hours=12):%Y-%m-%d}"
        assert h.sessions(f"on:{quiet}", timezone="UTC").total == 0
        assert h.sessions(since=edges[2], limit=1).total == h.sessions(until=edges[1], limit=1).total == 1


def _slowly(h: Hansard, since: datetime, until: datetime) -> timedelta:
    """Active time, minute parts laid side by side."""
    low, high, pause = (round(value.timestamp() * 1000) for value in (since, until, datetime.fromtimestamp(300, UTC)))
    times: dict[str, list[int]] = {}
    rows = h.reader.rows(
        "SELECT t.session_id, r.ts FROM records r JOIN transcripts t ON t.id = r.id >> 40 WHERE t.current = 1"
        " AND r.ts >= ? AND r.ts < ? AND (t.id IN (SELECT transcript FROM sessions) OR t.id IN (SELECT transcript FROM agents))",
        (low, high),
    )
    for session_id, ts in rows:
        times.setdefault(session_id, []).append(ts)
    spans = sorted(
        (one, other) for found in times.values() for one, other in pairwise(sorted(found)) if other - one <= pause
    )
    total, end = 0, low
    for one, other in spans:
        total += max(0, other - max(one, end))
        end = max(end, other)
    return timedelta(milliseconds=total)


def test_live_is_what_has_a_recent_record_whenever_its_file_was_copied(tree: Tree) -> None:
    copied = int(at(30).timestamp() * 1e9)
    tree.write(main_path(ONE), [user(ONE, "u1", "Go.", 0)], mtime_ns=copied)
    tree.write(main_path(TWO), [user(TWO, "w1", "Go.", 3)], mtime_ns=copied)
    tree.write(
        agent_path(ONE, "x1"), [{**user(ONE, "s1", "Do.", 10), "agentId": "x1", "isSidechain": True}], mtime_ns=copied
    )
    with opened(tree) as h:
        assert list(h.live(at(-1))) == [ONE, TWO]
        assert list(h.live(at(5))) == [ONE]
        assert h.live(at(20)) == {}
    tree.write(main_path(TWO), [user(TWO, "w1", "Go.", 3), user(TWO, "w2", "Go.", 4_000_000_000)])
    with opened(tree) as h:
        assert list(h.live(at(5))) == [ONE]  # a date in the future says nothing
    tree.place(main_path(ONE)).unlink()
    with opened(tree) as h:
        assert h.live(at(5)) == {}


@pytest.mark.parametrize("hours", [0, 5, -8])
def test_bounds_are_moments_whatever_their_zone(tree: Tree, hours: int) -> None:
    from datetime import timezone

    tree.write(main_path(ONE), [user(ONE, "u1", "Go.", 0), assistant(ONE, "a1", "m1", "Yes.", 1)])
    zone = timezone(timedelta(hours=hours))
    with opened(tree) as h:
        (found,) = h.activity_by_period((at(0).astimezone(zone), at(1).astimezone(zone)))

    assert found.prompts == 1
