"""A figure of one name is the same number in every front end, on what real clients wrote and what people published."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from click.testing import CliRunner

import hansard
from hansard.cli.app import hansard as command
from hansard.config import Settings
from hansard.engine import Hansard
from hansard.mcp.server import Server
from hansard.mcp.store import Repository, Store
from hansard.model.ledger import Unrecorded
from hansard.render.format import listed_cost, prompt_counts, session_cost, session_counts
from tests.mcp.conftest import Call, caller
from tests.recordings import History
from tests.web.elements import read
from tests.web.serving import Site, site

if TYPE_CHECKING:
    import httpx

_MIDDLE = datetime(2025, 11, 1, tzinfo=UTC)


class FrontEnds(NamedTuple):
    """All ways to ask about one history."""

    h: Hansard
    running: Site
    client: httpx.Client
    mcp: Call
    words: tuple[str, ...]  # of its longest session

    def run(self, *arguments: str) -> str:
        """What a command prints."""
        where = ["--home", self.running.settings.home, "--no-sync"]
        return CliRunner().invoke(command, [*arguments, *where], catch_exceptions=False).stdout

    def refusal(self, *arguments: str) -> str:
        """What a command says where it has no answer."""
        where = ["--home", self.running.settings.home, "--no-sync"]
        return CliRunner().invoke(command, [*arguments, *where], catch_exceptions=False).stderr

    def json(self, *arguments: str) -> Any:
        """The same for programs."""
        return json.loads(self.run(*arguments, "--json"))


@pytest.fixture(scope="module", params=["public", "real clients", "all clients"])
def ends(histories: dict[str, History], request: pytest.FixtureRequest) -> Iterator[FrontEnds]:
    history = histories[request.param]
    settings = Settings(str(history.store), (), 1 << 26)
    with (
        hansard.open(history.store) as h,
        site(history.store) as running,
        running.client() as client,
    ):
        words = ("Emden",) if request.param == "all clients" else ("the", "error", "is:error")
        asked = caller(Server(Store(settings, syncing=False), Repository("/nowhere")))
        yield FrontEnds(h, running, client, asked, words)


def test_sessions(ends: FrontEnds) -> None:
    every = ends.json("sessions", "--all", "-n", "0")
    status = ends.json("status")
    found = {
        "list": ends.json("sessions", "-n", "1")["total"],
        "all without the empty ones": sum(not session["debris"] for session in every["sessions"]),
        "status": status["sessions"],
        "all without those of status": every["total"] - status["empty_sessions"],
        "projects": sum(project["sessions"] for project in ends.json("projects")["projects"]),
        "activity": ends.h.activity().sessions,
        "api": ends.client.get("/api/sessions?limit=1").json()["total"],
        "mcp": ends.mcp("sessions", scope="all", limit=1)["total"],
    }
    assert len(set(found.values())) == 1, found


def test_prompts(ends: FrontEnds) -> None:
    page = ends.h.prompts(limit=1)
    listed = page.sources["prompt"] + page.sources.get("queued", 0)
    shown = ends.client.get("/prompts?part=count").text
    groups = ends.h.session_groups(by="project", limit=10_000).groups
    found = {
        "list": listed,
        "by source": sum(ends.h.prompts(source=source, limit=1).total for source in ("prompt", "queued")),
        "projects": sum(project["prompts"] for project in ends.json("projects")["projects"]),
        "groups": sum(group.prompts for group in groups),
        "activity": ends.h.activity().prompts,
        "api": ends.client.get("/api/activity").json()["prompts"],
        "the page that figures link to": int(re.match(r"[\d,]+(?= prompts?\b)", shown)[0].replace(",", "")),  # type: ignore[index]
    }
    assert len(set(found.values())) == 1, found
    assert shown == prompt_counts(page)
    assert sum(page.sources.values()) == page.total


def test_messages(ends: FrontEnds) -> None:
    every = ends.h.sessions(limit=None, debris=True).sessions
    listed = {project["project"] for project in ends.json("projects")["projects"]}
    in_parts = [
        ends.h.activity(since=since, until=until).messages
        for since, until in ((None, _MIDDLE), (_MIDDLE, datetime.max.replace(tzinfo=UTC)))
    ]
    found = {
        "status": ends.json("status")["messages"],
        "sessions": sum(session.messages for session in every),
        "projects": sum(project["messages"] for project in ends.json("projects")["projects"])
        + sum(session.messages for session in every if session.project not in listed),
        "activity": ends.h.activity().messages,
        "activity in two periods": sum(in_parts),
    }
    assert len(set(found.values())) == 1, found


def test_api_messages(ends: FrontEnds) -> None:
    found = {
        "usage": ends.json("usage", "--by", "total")["totals"]["api_messages"],
        "sessions": sum(session.api_messages for session in ends.h.sessions(limit=None, debris=True).sessions),
        "api": ends.client.get("/api/usage?by=total").json()["totals"]["api_messages"],
        "mcp": ends.mcp("usage", scope="all")["total"].get("api_messages", 0),
    }
    assert len(set(found.values())) == 1, found


def test_audit(ends: FrontEnds) -> None:
    report = ends.json("audit", "-n", "0")
    totals = report["totals"]
    assert totals["sessions"] == ends.json("sessions", "-n", "1")["total"]
    assert totals["calls"] == ends.json("tools")["totals"]["calls"] == sum(one["calls"] for one in report["modes"])
    assert totals["errors"] == ends.json("tools")["totals"]["errors"]
    messages = ends.json("usage", "--by", "total")["totals"]["api_messages"]
    assert sum(one["api_messages"] for one in report["models"]) == messages
    assert sum(one["operations"] for one in report["by_rule"]) == sum(totals["operations"].values())


def test_messages_and_money_of_each_session_and_project(ends: FrontEnds) -> None:
    reported = {row.key["session"]: row for row in ends.h.usage(by="session").rows}
    for session in ends.h.sessions(limit=None, debris=True).sessions:
        row = reported.get(session.session_id)
        assert session.messages >= session.api_messages == (row.api_messages if row else 0)
        assert session.messages == session.api_messages or session.client != "claude-code"
        assert f"{session.messages:,} message" in " ".join(session_counts(session))
    of_projects = {row.key["project"]: row for row in ends.h.usage(by="project").rows}
    messages: Counter[str] = Counter()
    for session in ends.h.sessions(limit=None, debris=True).sessions:
        messages[session.project] += session.messages
    for project in ends.h.projects():
        spent = of_projects.get(project.project or None)
        assert project.messages == messages[project.project]
        assert (project.cost_usd or 0) == (spent.cost_usd or 0 if spent else 0)


def test_usage_that_is_not_recorded_is_null_everywhere(ends: FrontEnds) -> None:
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd")
    silent = {one.session_id: one for one in ends.h.sessions(limit=None, debris=True).sessions if one.has_no_usage}
    columns = f"SELECT session_id, {', '.join(names)} FROM sessions"
    answers: dict[str, list[Any]] = {
        "cli": ends.json("sessions", "--all", "-n", "0")["sessions"],
        "api": ends.client.get("/api/sessions?limit=200").json()["sessions"],
        "sql": [dict(zip(("session_id", *names), row, strict=True)) for row in ends.h.sql(columns, limit=None).rows],
    }
    for name, listed in answers.items():
        shown = {one["session_id"] for one in listed if all(one[field] is None for field in names)}
        assert shown == {one["session_id"] for one in listed} & silent.keys(), name
    rows = ends.mcp("sessions", scope="all", limit=50)["sessions"]
    for row in rows:
        session = ends.h.session(row["session"])
        assert not (session.has_no_usage and row.get("cost_usd"))
    for session in list(silent.values())[:5]:
        assert (session.tokens, session.cost_usd, listed_cost(session)) == (None, None, "-")
        assert session_cost(session) == "tokens not recorded"
        assert f"not recorded by {session.client}" in ends.client.get(f"/sessions/{session.session_id}").text
        assert "recorded no usage for this session" in ends.refusal("explain", session.session_id)
        for asked in ({"target": session.session_id}, {"by": "session", "key": session.session_id}):
            page = ends.client.get("/explain", params=asked)
            assert page.status_code == 200
            assert f"{session.client} recorded no usage for it" in page.text
    report = ends.h.usage(by="client")
    if not silent:
        assert report.unrecorded is None
        return
    clients = {session.client for session in silent.values()}
    assert report.unrecorded == Unrecorded(
        len(silent), sum(session.messages for session in silent.values()), tuple(sorted(clients))
    )
    words = report.unrecorded.words
    assert any(note.startswith(words) for note in report.pricing.notes)
    assert ends.json("usage", "--by", "client")["unrecorded"]["sessions"] == len(silent)
    assert ends.client.get("/api/usage?by=client").json()["unrecorded"]["sessions"] == len(silent)
    assert words in " ".join(ends.run("usage", "--by", "client").split())
    assert words in read(ends.client.get("/usage?by=client&since=2000-01-01").text).text
    assert words[1:] in ends.mcp("usage", by="client", scope="all")["more"]


def test_a_client_without_usage_costs_nothing_known(ends: FrontEnds) -> None:
    reported = {row.key["client"] for row in ends.h.usage(by="client").rows}
    for client in {session.client for session in ends.h.sessions(limit=None).sessions} - reported:
        assert all(project.has_no_usage for project in ends.h.projects(text=f"client:{client}"))
        assert all(
            group.tokens is None for group in ends.h.session_groups(query=f"client:{client}", by="project").groups
        )
        assert "$" not in ends.run("projects", f"client:{client}")
        assert ends.h.usage(query=f"client:{client}", by="total").totals.cost_usd is None
        assert "no usage is recorded" in ends.refusal("usage", f"client:{client}")
        of_client = "SELECT session_id FROM sessions WHERE client = $client"
        turns = f"SELECT sum(cost_usd), sum(output_tokens) FROM turns WHERE session_id IN ({of_client})"
        (row,) = ends.h.sql(turns, parameters={"client": client}).rows
        assert tuple(row) == (None, None)


def test_tool_calls(ends: FrontEnds) -> None:
    found = {
        "tools": ends.json("tools")["totals"]["calls"],
        "list": ends.h.calls(limit=1).total,
        "work": ends.json("usage", "--by", "total", "--work")["totals"]["work"]["calls"],
        "status": ends.json("status")["tool_calls"],
        "projects": sum(project["tool_calls"] for project in ends.json("projects")["projects"]),
        "activity": ends.h.activity().tool_calls,
    }
    assert len(set(found.values())) == 1, found


def test_matches_in_a_session(ends: FrontEnds) -> None:
    """The panel counts the entries that its keys step through."""
    longest = max(ends.h.sessions(limit=None).sessions, key=lambda session: session.prompts)
    for word in ends.words:
        place = f"/sessions/{longest.session_id}"
        steps = ends.client.get(f"{place}/matches", params={"q": word}).json()["offsets"]
        panel = read(ends.client.get(f"{place}/find", params={"q": word, "bare": "1"}).text)
        words = panel.text
        assert steps
        assert re.search(rf"\b{len(steps):,} match(es)? in this thread", words), words[:80]
