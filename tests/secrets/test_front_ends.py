"""With redaction on, no page, API answer, MCP answer or word for git has a planted secret: a search of all their bytes."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from hansard.cli.app import hansard as command
from hansard.guard.detection import detector
from hansard.guard.kept_rules import kept_version
from hansard.guard.redaction import Redactor, redact
from hansard.mcp.tools import NAMES
from hansard.web.app import local_routes
from tests.guard.planted_secrets import KINDS
from tests.mcp.conftest import Call, caller, server_on
from tests.secrets.conftest import PlantedStore
from tests.secrets.planting import BARE, ENCODED, PARTED, PLANTED, SPLIT
from tests.secrets.test_redacted import leaked
from tests.web.serving import Site, site

pytestmark = pytest.mark.skipif(kept_version() is None, reason="the extra `secrets` is not installed")
QUERIES = {
    "/sessions": ("", "group=project", "group=day", "q=harbour"),
    "/sessions/{session_id}/raw": ("offset=0", "form=bytes"),
    "/sessions/{session_id}/export": ("format=html", "format=markdown", "format=json", "format=jsonl"),
    "/export/sessions.zip": tuple(
        f"format={form}&session={{session}}" for form in ("html", "markdown", "json", "jsonl")
    ),
    "/search": ("", "q=tide", "q=kind:title", "q=token"),
    "/search/results": ("q=tide", "q=kind:reply", "q=tool:Bash", "q=key&sort=newest"),
    "/search/facets": ("q=tide",),
    "/search/values": tuple(f"field={field}" for field in ("project", "branch", "file", "tag", "session")),
    "/search/palette": ("", "q=a"),
    "/sessions/{session_id}/find": ("q=tide&bare=1", "q=key&bare=1"),
    "/sessions/{session_id}/matches": ("q=tide",),
    "/usage": ("", "by=project", "by=session", "by=branch"),
    "/usage.csv": ("by=session,project,branch",),
    "/explain": ("by=total", "target={session}"),
    "/files": ("", "view=changes", "view=folders"),
    "/tools": ("", "tool=Bash"),
    "/prompts": ("", "q=tide"),
    "/api/sessions": ("limit=200", "all=1&limit=200"),
    "/api/search": tuple(f"q={query}&limit=100" for query in ("tide", "kind:title", "kind:reply", "token", "key")),
    "/api/prompts": ("limit=200",),
    "/api/files": ("limit=200",),
    "/api/calls": ("limit=100&subjects=1&outputs=1", "limit=100"),
    "/api/usage": ("by=project", "by=session", "by=branch"),
    "/api/explain": ("target={session}",),
}
# They have no text of a transcript, never end, or need the place of something; `test_settings` and `test_gate` have those.
LEFT_OUT = {
    "/static/{edition}/{name}", "/favicon.ico", "/api/events", "/sessions/{session_id}/news", "/sessions/{session_id}/agent",
    "/sessions/{session_id}/text", "/files/history", "/files/change", "/prompts/text", "/commits", "/commits/{commit}", "/files/blame",
    "/api/files/history",
}  # fmt: skip
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("search", {"query": query, "limit": 50, "include_tool_output": True}) for query in ("tide", "token", "kind:title", "key")),
    *(("recall", {"question": question, "limit": 20}) for question in ("tide", "which keys are there", "token")),
    *(("read", {"target": target, "include_tool_output": True}) for target in (SPLIT, ENCODED, BARE, PARTED)),
    *(("read", {"target": ENCODED, "turn": turn, "include_tool_output": True}) for turn in range(1, 9)),
    *(("read", {"target": target, "turn": 1, "include_tool_output": True}) for target in (SPLIT, BARE, PARTED)),
    ("sessions", {"limit": 50}),
    ("sessions", {"query": "tide"}),
    ("files", {"limit": 100}),
    ("blame", {"commit": "HEAD"}),
    *(("usage", {"by": by}) for by in ("session", "project", "branch")),
    *(("sql", {"query": f"SELECT * FROM {name}"}) for name in ("sessions", "turns", "prompts")),
    ("sql", {"query": "SELECT record(transcript, byte_offset), hex(session_id) FROM messages"}),
)  # fmt: skip
HARMLESS = (
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "id 123e4567-e89b-12d3-a456-426614174000, trace 4bf92f3577b34da6a3ce929d0e0e4736",
    "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY are in every manual",
    'password = "changeme"', "API_KEY=your-api-key-here", "TOKEN=<your token>", "export TOKEN=${GITHUB_TOKEN}",
    "Authorization: Bearer $TOKEN", "postgres://user:password@localhost/db", "password: ********",
    '"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="',
    "msg_01XFDUDYJgAACzvnptvVoYEL", "toolu_01A09q90qw90lq917835lq9", "req_011CSHoEeqs5C35K2UUqR7Fy",
    "def password(self) -> str: return self._password", "src/hansard/guard/redaction.py:120", "ghp_ is how they begin",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
)  # fmt: skip


def addresses() -> list[tuple[str, str]]:
    return [
        (route.path, query)
        for route in local_routes()
        if "GET" in (route.methods or ()) and route.path not in LEFT_OUT
        for query in QUERIES.get(route.path, ("",))
    ]


@pytest.fixture(scope="module")
def running(planted: PlantedStore) -> Iterator[Site]:
    with site(planted.home, planted.root, redact="on") as made:
        yield made


def test_enough_is_planted() -> None:
    assert len({planted.kind for planted in PLANTED}) == len(KINDS) >= 60
    assert len(PLANTED) >= 300


@pytest.mark.parametrize(("path", "query"), addresses())
def test_no_page_has_a_secret(running: Site, planted: PlantedStore, path: str, query: str) -> None:
    sessions = (planted.session, SPLIT, ENCODED, BARE, PARTED) if "{session" in path + query else ("",)
    with running.client() as client:
        for session in sessions:
            address = path.replace("{session_id}", session).replace("{session}", session)
            answer = client.get(f"{address}?{query.replace('{session}', session)}")
            is_verbatim = path.endswith("/raw") or "format=jsonl" in query
            allowed = {403} if is_verbatim else {200} if path in QUERIES else {200, 303, 400, 404}
            assert answer.status_code in allowed, answer.text[:300]
            body = answer.content
            if body[:2] == b"PK":
                with zipfile.ZipFile(io.BytesIO(body)) as archive:
                    body = b"\n".join(name.encode() + archive.read(name) for name in archive.namelist())
            assert leaked(body.decode("utf-8", "replace") + str(answer.headers)) == set()


@pytest.fixture
def call(planted: PlantedStore) -> Call:
    return caller(server_on(planted.home, planted.root))


@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=str)
def test_no_answer_to_an_agent_has_a_secret(call: Call, tool: str, arguments: dict[str, Any]) -> None:
    answer = call(tool, **arguments, scope="all", max_tokens=12_000) if tool != "blame" else call(tool, **arguments)
    assert leaked(json.dumps(answer, ensure_ascii=False)) == set()


def test_every_tool_is_called() -> None:
    assert {tool for tool, _ in CALLS} == set(NAMES)


@pytest.mark.parametrize("words", ["git message", "git branch", "git trailer", "handoff --to markdown"])
def test_no_word_for_git_or_another_agent_has_a_secret(planted: PlantedStore, words: str) -> None:
    for session in (planted.session, SPLIT, ENCODED, BARE, PARTED):
        done = CliRunner().invoke(
            command, [*words.split(), session, "--home", str(planted.home), "--root", str(planted.root), "--no-sync"]
        )
        assert done.exit_code == 0, done.stderr
        assert leaked(done.stdout) == set()


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text
    assert redact(json.dumps({"command": text})) == json.dumps({"command": text})
    assert Redactor(detector(), b"key")(f"{text}\n" * 3) == f"{text}\n" * 3
