"""The reports of a team's database are those of one store with the files of all machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

import hansard
from hansard.engine import Hansard
from hansard.errors import UsageError
from hansard.model.requests import DIMENSIONS, SessionsRequest, UsageRequest
from hansard.model.serialize import plain
from hansard.query.meanings import MEANINGS
from hansard.team.compile import TEAM_MEANINGS
from hansard.team.usage import OFFERED
from tests.team.conftest import HISTORIES, Place, Twice, push

GROUPED = sorted(DIMENSIONS.keys() - {"commit", "group"})
FILTERED: list[dict[str, Any]] = [
    {"model": "OPUS"},
    {"query": "-model:haiku"},
    {"query": "is:subagent OR branch:main"},
    {"query": "tool:Bash OR tool:mcp__*"},
    {"query": "2026"},
    {"query": "since:2026-05-03T10:07:30 until:2026-05-20"},
    {"query": "is:error -is:fork"},
    {"query": "agent:Explore"},
    {"query": "cost:>0.01 tokens:<5m"},
    {"query": "client:claude-code is:live"},
    {"query": "version:2"},
    {"mode": "calculate"},
    {"mode": "recorded"},
    {"timezone": "Asia/Kathmandu"},
    {"breakdown": True},
    {"work": True},
]


def check_reports(h: Hansard, place: Place) -> None:
    """By every dimension and with every kind of filter, as JSON."""
    asked = [
        *(UsageRequest(by=by, timezone="UTC") for by in GROUPED),
        *(UsageRequest(by="day,model", **{"timezone": "UTC", **given}) for given in FILTERED),
        *(UsageRequest(by=by, timezone="UTC", work=True) for by in ("session", "model", "tool", "project", "agent")),
    ]
    with place.team() as team:
        for request in asked:
            ours, theirs = plain(h.usage(request)), plain(team.usage(request))
            for row in (*ours["rows"], *theirs["rows"]):
                for name in ("title", "agent_type", "description"):
                    row.pop(name, None)  # PostgreSQL cannot store every character; a subagent may be at another machine
            assert theirs == ours, request


@pytest.mark.parametrize("name", HISTORIES)
def test_reports_are_those_of_usage(name: str, twice: Callable[[str], Twice]) -> None:
    """Also if the same history is pushed by two machines."""
    check_reports(*twice(name))


def test_sessions_without_recorded_usage_are_counted(twice: Callable[[str], Twice]) -> None:
    """Clients that record none: the reports name them, over machines as on one."""
    h, place = twice("all clients")
    first, last = min(ended := [one.ended_at for one in h.sessions(limit=None).sessions if one.ended_at]), max(ended)
    middle = first + (last - first) / 2
    asked: list[dict[str, Any]] = [
        *({}, {"since": middle}, {"until": middle}, {"since": first, "until": middle}, {"query": "client:aider"}),
        *({"query": "project:app"}, {"query": "-is:error"}, {"model": "gpt"}, {"project": "nowhere"}),
    ]
    with place.team() as team:
        found = []
        for given in asked:
            request = UsageRequest(by="total", timezone="UTC", **given)
            ours, theirs = h.usage(request), team.usage(request)
            assert theirs.unrecorded == ours.unrecorded, given
            assert theirs.pricing.notes == ours.pricing.notes
            found.append(ours.unrecorded)
        assert found[0] is not None
        assert len(found[0].clients) > 1
        assert len(set(found)) > 3
        assert {str(row.key["machine"]) for row in team.usage(UsageRequest(by="machine")).rows}
        assert team.usage(UsageRequest(), person="nobody").unrecorded is None


def test_machines_report_as_one_store(metered: dict[str, Hansard], place: Place) -> None:
    for machine in ("bob", "ann"):
        push(metered[machine], place, machine)
    check_reports(metered["both"], place)
    with place.team() as team:
        by_machine = team.usage(UsageRequest(by="machine,person"))
        assert [row.key for row in by_machine.rows]
        assert {row.key["person"] for row in by_machine.rows} == {"keeper"}
        for row in by_machine.rows:
            alone = team.usage(UsageRequest(by="total"), machine=row.key["machine"])
            assert replace(alone.totals, key={}) == replace(row, key={})
        assert not team.usage(UsageRequest(), person="nobody").rows


def test_groups_are_those_of_the_configuration(metered: dict[str, Hansard], place: Place) -> None:
    h = metered["ann"]
    push(h, place, "laptop")
    name = h.projects()[0].project
    with place.team() as team, hansard.open(h.home, groups={"product": (name,)}) as grouped:
        ours = plain(grouped.usage(by="group", timezone="UTC"))
        assert plain(team.usage(UsageRequest(by="group", timezone="UTC"), groups={"product": (name,)})) == ours


def test_every_dimension_is_offered_or_refused(place: Place) -> None:
    assert set(OFFERED) == {*DIMENSIONS, "machine", "person"} - {"commit"}
    with place.team() as team:
        with pytest.raises(UsageError, match="no commits"):
            team.usage(UsageRequest(by="commit"))
        with pytest.raises(UsageError, match="group usage by"):
            team.usage(UsageRequest(by="nothing"))


def test_every_field_has_a_meaning() -> None:
    assert TEAM_MEANINGS.keys() == MEANINGS.keys()


QUERIES = (
    "project:webshop OR project:api",
    "-is:error",
    "is:fork",
    "is:subagent has:image",
    "has:diff",
    "is:live OR is:gone",
    "tool:Bash -tool:Edit",
    "tool:mcp__*",
    "file:README",
    "changed:py",
    "title:a",
    "branch:main",
    "model:claude",
    "agent:Explore",
    "version:2",
    "client:claude-code",
    "cost:>0.05",
    "tokens:>1k",
    "since:2026-05-02",
    "before:2026-05-10",
    "on:2026-05-04",
    "tag:x OR is:pinned OR has:pin OR note:x",
    "folder:/",
)


@pytest.mark.parametrize("name", HISTORIES)
def test_sessions_are_those_of_the_list(name: str, twice: Callable[[str], Twice]) -> None:
    h, place = twice(name)
    without = {"project_dir", "machine", "person", "notes", "title", "first_prompt", "pull_requests", "tags"}
    with place.team() as team:
        for query in (None, *QUERIES):
            asked = SessionsRequest(query=query, limit=None, debris=True)
            ours = {one.session_id: plain(one) for one in h.sessions(asked).sessions}
            theirs = team.sessions(asked)
            assert theirs.total == len(ours) == len(theirs.sessions), query
            for one in theirs.sessions:
                shown = plain(one)
                known = ours[one.session_id]
                assert {key: value for key, value in shown.items() if key not in without} == {
                    key: value for key, value in known.items() if key not in without
                }
        for sort in ("ended", "started", "cost", "tokens", "title", "project", "errors"):
            asked = SessionsRequest(sort=sort, limit=2 + len(h.sessions(limit=None).sessions) // 5)
            pages, page = [], team.sessions(asked)
            while True:
                pages += [one.session_id for one in page.sessions]
                if page.next_cursor is None:
                    break
                page = team.sessions(replace(asked, cursor=page.next_cursor))
            assert pages == [one.session_id for one in h.sessions(sort=sort, limit=None).sessions], sort


def test_what_a_team_cannot_answer_is_refused(place: Place) -> None:
    with place.team() as team:
        with pytest.raises(UsageError, match="no last session"):
            team.sessions(SessionsRequest(query="session:@last"))
        with pytest.raises(UsageError, match="by query and text only"):
            team.sessions(SessionsRequest(fuzzy="x"))
