"""The public views count what the reports count, on made and on real histories."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import hansard
from hansard.engine import Hansard
from hansard.model.sessions import Session
from hansard.sql.table import Table
from hansard.sql.views import VIEWS
from tests.recordings import History

JSON_LISTS = ("models", "unpriced_models", "branches", "versions", "pull_requests", "tags", "notes", "pinned_messages")
OTHER_NAMES = {"debris": "is_empty", "pinned": "is_pinned"}
NOT_PUBLIC = {"project_dir"}


@pytest.fixture(scope="module", params=["public", "real clients", "all clients", "hard"])
def h(request: pytest.FixtureRequest) -> Iterator[Hansard]:
    if request.param == "hard":
        yield request.getfixturevalue("hard")[0]
        return
    histories: dict[str, History] = request.getfixturevalue("histories")
    history = histories[request.param]
    with hansard.open(history.store, history.roots) as opened:
        yield opened


def rows(h: Hansard, name: str, session_ids: list[str] | None = None) -> list[dict[str, Any]]:
    table = Table(h.reader, name, session_ids)
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows()]


def counted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if not row["is_copy"]]


def test_usage_costs_what_the_report_says(h: Hansard) -> None:
    report = h.usage(by=["model", "day"], timezone="UTC")
    costs: dict[Any, Decimal] = defaultdict(Decimal)
    tokens: dict[Any, int] = defaultdict(int)
    for row in rows(h, "usage"):
        key = row["model"], None if row["at"] is None else f"{row['at']:%Y-%m-%d}"
        costs[key] += row["cost_usd"] or 0
        tokens[key] += row["output_tokens"]
    reported = {(row.key["model"], row.key["day"]): row for row in report.rows}
    assert {key: row.output_tokens for key, row in reported.items()} == tokens
    assert {key: row.cost_usd or 0 for key, row in reported.items()} == costs
    assert sum(costs.values()) == (report.totals.cost_usd or 0)


def test_sessions_are_those_of_the_list(h: Hansard) -> None:
    listed = {session.session_id: session for session in h.sessions(limit=None, debris=True).sessions}
    found = {row["session_id"]: row for row in rows(h, "sessions")}
    assert set(found) == set(listed)
    for session_id, row in found.items():
        for name in Session.__struct_fields__:
            if name in NOT_PUBLIC:
                continue
            value = row[OTHER_NAMES.get(name, name)]
            wanted = getattr(listed[session_id], name)
            assert (tuple(json.loads(value)) if name in JSON_LISTS else value) == wanted, name


def test_prompts_and_calls_count_once(h: Hansard) -> None:
    assert len(counted(rows(h, "prompts"))) == h.prompts(limit=1).total
    calls = counted(rows(h, "tool_calls"))
    report = h.tools()
    assert len(calls) == report.totals.calls
    assert sum(call["is_error"] for call in calls) == report.totals.errors
    changed = counted(rows(h, "file_changes"))
    of_one_file = {(call["transcript"], call["tool_use_id"]) for call in calls if call["path"]}
    assert [change for change in changed if (change["transcript"], change["tool_use_id"]) in of_one_file] == [
        {name: call[{"at": "called_at"}.get(name, name)] for name in changed[0]}
        for call in calls
        if call["change"] and call["path"]
    ]
    for column in ("lines_added", "lines_removed"):
        assert sum(change[column] for change in changed) == sum(call[column] for call in calls if call["change"])
    assert {change["tool_use_id"] for change in changed} == {call["tool_use_id"] for call in calls if call["change"]}


def test_projects_are_those_of_the_list(h: Hansard) -> None:
    listed = {project.project: project for project in h.projects()}
    found = {row["project"]: row for row in rows(h, "projects")}
    assert set(found) == set(listed)
    for project, row in found.items():
        for name in ("sessions", "first_at", "last_at", "input_tokens", "output_tokens", "cost_usd"):
            assert row[name] == getattr(listed[project], name), name


def test_turns_begin_where_threads_begin_theirs(h: Hansard) -> None:
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows(h, "turns"):
        found[row["session_id"], row["agent_id"]].append(row)
    threads = 0
    for session in h.sessions(limit=None, debris=True).sessions:
        thread = h.read(session.session_id)
        own = found.pop((session.session_id, ""), [])
        if session.client != "zed" or own:  # a reader also sees a thread that cannot be read, as a turn
            assert [turn["byte_offset"] for turn in own] == [start.offset for start in thread.starts]
        assert [turn["turn"] for turn in own] == list(range(1, len(own) + 1))
        assert [turn["end_offset"] for turn in own] == [*(turn["byte_offset"] for turn in own[1:]), None][: len(own)]
        outline = thread.outline(1, len(own)) if own else []
        assert [turn["kind"] for turn in own] == [turn.kind for turn in outline]
        for agent in thread.agents:
            threads += 1
            told = found.pop((session.session_id, agent.agent_id), None)
            if told is not None:  # others are inside the main file
                starts = h.read(session.session_id, agent.agent_id).starts
                assert [turn["byte_offset"] for turn in told] == [start.offset for start in starts]
    assert threads
    assert not found


def test_turns_use_what_messages_used(h: Hansard) -> None:
    """Every API message that counts is in the turn around it, unless nothing of its thread is read."""
    turns = rows(h, "turns")
    threads: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for turn in turns:
        threads[turn["transcript"]].append((turn["byte_offset"], turn["end_offset"] or 1 << 40))
    inside = [
        row
        for row in rows(h, "usage")
        if any(start <= row["byte_offset"] < end for start, end in threads[row["transcript"]])
    ]
    assert sum(turn["cost_usd"] or 0 for turn in turns) == sum(row["cost_usd"] or 0 for row in inside)
    assert sum(turn["output_tokens"] or 0 for turn in turns) == sum(row["output_tokens"] for row in inside)


def test_messages_that_are_no_copies_are_distinct(h: Hansard) -> None:
    messages = rows(h, "messages")
    own = [row["uuid"] for row in counted(messages) if row["uuid"]]
    assert len(own) == len(set(own)) == len({row["uuid"] for row in messages if row["uuid"]})


@pytest.mark.parametrize("name", VIEWS)
def test_some_sessions_have_just_their_rows(h: Hansard, name: str) -> None:
    ids = [session.session_id for session in h.sessions(limit=None, debris=True).sessions]
    every = sorted(map(repr, Table(h.reader, name, None).raw()))
    halves = [sorted(map(repr, Table(h.reader, name, half).raw())) for half in (ids[::2], ids[1::2])]
    assert set(halves[0]) | set(halves[1]) <= set(every)
    if name not in ("links", "projects"):  # which both halves may have
        assert not set(halves[0]) & set(halves[1])
    if name not in ("transcripts", "issues", "prompts"):  # some are of no session
        assert set(halves[0]) | set(halves[1]) == set(every)
