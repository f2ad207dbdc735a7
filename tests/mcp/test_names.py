"""The injection corpus as names of every kind (ids, tools, files, branches, models, titles), through every tool, resource and prompt."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import msgspec
import pytest

import hansard
from hansard.guard.passages import estimate_tokens
from hansard.mcp.answer import DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS
from hansard.mcp.tools import NAMES
from hansard.model.names import is_handle, shown_id
from tests.git.making import Workshop
from tests.mcp.conftest import server_on
from tests.mcp.hostile import ATTEMPTS, check, check_text
from tests.mcp.writing import Log

Ask = Callable[..., dict[str, Any]]
Send = Callable[[dict[str, Any]], bytes]
NAMED = (
    *ATTEMPTS,
    "@last",
    "sk-ant-" + "api03-" + "aB3dE5gH7jK9mN1pQ2rS4tU6",
    shown_id("another's id"),
    "../../etc/passwd",
    "' OR 1=1 --",
)
AGENT_USAGE = {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


def as_file(name: str) -> str:
    """As much of a name as a file system takes."""
    plain = re.sub(r"[/\x00]", "_", name[:60]).encode("utf-8", "replace").decode()
    return plain.encode()[:150].decode("utf-8", "ignore").strip(".") or "_"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A repository with one session for each attempt, which has it for a name wherever transcripts have names."""
    shop = Workshop(tmp_path_factory.mktemp("names"))
    root, projects = str(shop.root), shop.config / "projects" / str(shop.root).replace("/", "-")
    projects.mkdir(parents=True)
    for number, name in enumerate(NAMED):
        log = Log(name, cwd=root, branch=name[:3_000], day=1 + number, uuid=f"{name} ", file=f"session {number}")
        log.prompt("findme in the first prompt")
        log.reply("findme in the first reply")
        log.call(name[:300], {"findme": name}, "findme in a result")
        content = f"written_by_{number} = 'findme'\n" * 3
        (shop.root / f"written_{number}.py").write_text(content)
        given = {"file_path": f"{root}/written_{number}.py", "content": content}
        made = {"type": "create", "filePath": given["file_path"], "content": content, "structuredPatch": []}
        log.call("Write", given, "done", toolUseResult=made)
        log.edit(f"{root}/{name[:900]}", "old", "findme")
        log.lines[-2]["message"]["model"] = name[:200]
        side = log.prompt("findme in a sidechain")
        log.lines[-1] |= {"isSidechain": True, "parentUuid": None}
        log.reply("findme in the reply of a sidechain")
        log.lines[-1] |= {"isSidechain": True, "parentUuid": side}
        log.lines.append({"type": "ai-title", "aiTitle": name, "sessionId": name})
        log.lines.append(
            {
                "type": "pr-link",
                "sessionId": name,
                "prNumber": 1,
                "prUrl": f"https://x.invalid/{name}/pull/1",
                "prRepository": name,
            }
        )
        log.write(shop.config)
        agent = Log(name, cwd=root, day=1 + number, uuid=f"agent {name} ", file=f"agent-{as_file(name)}{number}")
        agent.prompt("findme by a subagent")
        agent.reply("findme in a subagent's reply")
        for line in agent.lines:
            line |= {"isSidechain": True, "agentId": f"{as_file(name)}{number}"}
        agent.write(shop.config)
        words = re.sub(r"[\x00-\x1f]", " ", name[:200]).encode("utf-8", "replace").decode()
        shop.git("add", "-A")
        shop.git("commit", "-q", "-m", f"{words}.", author=f"Mira {words}")
    with hansard.open(shop.folder / "home", [shop.config]) as h:
        h.sync()
    return shop


@contextlib.contextmanager
def started(shop: Workshop, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server of its own."""
    command = [sys.executable, "-m", "hansard", "mcp", "--root", str(shop.config), "--home", str(shop.folder / "home")]
    command += ["--project", str(shop.root), "--no-sync", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        yield process
        process.stdin.close()
        process.terminate()


@pytest.fixture(scope="module")
def stdio(shop: Workshop) -> Iterator[Send]:
    with started(shop) as process:
        requests, responses = process.stdin, process.stdout
        assert requests is not None
        assert responses is not None

        def send(message: dict[str, Any]) -> bytes:
            requests.write(json.dumps(message).encode() + b"\n")
            requests.flush()
            return responses.readline()

        yield send


@pytest.fixture(scope="module")
def http(shop: Workshop) -> Iterator[Send]:
    with started(shop, "--http", "--port", "0") as process:
        assert process.stdout is not None
        settings = json.loads(process.stdout.readline())["mcpServers"]["hansard"]
        with httpx.Client(headers=settings["headers"], timeout=60) as client:
            yield lambda message: client.post(settings["url"], json=message).content


@pytest.fixture
def direct(shop: Workshop) -> Send:
    """A server in this process, without a transport."""
    server = server_on(shop.folder / "home", shop.config, folder=str(shop.root))
    return lambda message: msgspec.json.encode(server.handle(json.loads(json.dumps(message))))


@pytest.fixture
def ask(request: pytest.FixtureRequest) -> Ask:
    """Sends a request to a server, over a transport or not, and checks what is true of every response."""
    send: Send = request.getfixturevalue(getattr(request, "param", "direct"))

    def asked(method: str, **params: Any) -> dict[str, Any]:
        text = send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).decode()
        response: dict[str, Any] = json.loads(text)
        check_response(method, params, response, text)
        return response

    return asked


def check_response(method: str, params: dict[str, Any], response: dict[str, Any], text: str) -> None:
    if "error" in response:
        assert len(text) < 2_000
        check_text(text)
        return
    result = response["result"]
    if method == "tools/call":
        (content,) = result["content"]
        if result["isError"]:
            assert len(text) < 2_000
            check_text(text)
            return
        assert estimate_tokens(content["text"]) <= params["arguments"].get("max_tokens", DEFAULT_TOKENS)
        check(result["structuredContent"], content["text"])
    elif method == "prompts/get":
        said = result["messages"][0]["content"]["text"]
        assert estimate_tokens(said) <= DEFAULT_TOKENS
        check_text(said)
    elif method == "resources/read":
        said = result["contents"][0]["text"]
        assert estimate_tokens(said) <= DEFAULT_TOKENS
        check(json.loads(said), said)
    else:
        assert estimate_tokens(text) <= DEFAULT_TOKENS
        check_text(text)


def call(ask: Ask, name: str, **arguments: Any) -> dict[str, Any]:
    result = ask("tools/call", name=name, arguments=arguments)["result"]
    return {"error": result["content"][0]["text"]} if result["isError"] else result["structuredContent"]


def pages(ask: Ask, tool: str, items: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    """All items of a list, over its cursors."""
    cursor, seen = "", set()
    while True:
        answer = call(ask, tool, **arguments, cursor=cursor)
        yield from answer.get(items, [])
        cursor = answer.get("next_cursor", "")
        if not cursor:
            return
        assert cursor not in seen
        seen.add(cursor)


@pytest.mark.parametrize(
    ("ask", "tokens", "step"),
    [
        ("direct", DEFAULT_TOKENS, 1),
        ("direct", MIN_TOKENS, 6),
        ("direct", MAX_TOKENS, 6),
        ("stdio", DEFAULT_TOKENS, 6),
        ("http", DEFAULT_TOKENS, 6),
    ],
    indirect=["ask"],
)
def test_sessions_are_read_by_their_handles(ask: Ask, tokens: int, step: int) -> None:
    """Each is listed under a handle that leads back to it, by every way that takes a name."""
    listed = [row["session"] for row in pages(ask, "sessions", "sessions", limit=7, max_tokens=tokens)]
    known = {shown_id(name.encode("utf-8", "replace").decode()): name for name in NAMED}
    assert len(listed) == len(set(listed)) >= len(NAMED) - 1  # half a character is no JSON for every parser
    assert all(map(is_handle, listed))
    assert len(set(listed) & set(known)) >= len(NAMED) - 2  # nor is NUL kept in every id
    for session in listed[::step]:
        outline = call(ask, "read", target=session, max_tokens=tokens)
        assert outline["session"]["session"] == session
        turn = call(ask, "read", target=session, turn=1, include_tool_output=True, max_tokens=tokens)
        messages = {one["message"] for one in turn["passages"]}
        assert all(map(is_handle, messages))
        for message in sorted(messages)[:2]:
            whole = call(ask, "read", target=message, include_tool_output=True, max_tokens=tokens)
            assert {one["message"] for one in whole["passages"]} == {message}
            assert whole["session"]["session"] == session
        found = call(ask, "search", query=f"findme session:{session}", limit=50, max_tokens=tokens)
        assert {one["session"] for one in found["passages"]} == {session}
        (row,) = call(ask, "usage", by="session", query=f"session:{session}", max_tokens=tokens)["rows"]
        assert row["key"] == session
        (row,) = call(ask, "sessions", query=f"session:{session}", max_tokens=tokens)["sessions"]
        assert row["session"] == session
        assert "result" in ask("resources/read", uri=f"hansard://session/{session}")
        assert "result" in ask("resources/read", uri=f"hansard://session/{session}/turn/1")
        assert session in str(ask("prompts/get", name="continue_from", arguments={"session": session}))


def test_subagents_are_read_by_their_handles(ask: Ask) -> None:
    found = list(pages(ask, "search", "passages", query="findme subagent", limit=20, max_tokens=MAX_TOKENS))
    agents = {(one["session"], one["subagent"]) for one in found if one.get("subagent")}
    assert len(agents) >= len(NAMED) - 1
    for session, agent in agents:
        assert is_handle(agent) or agent.startswith("sidechain-")
        assert "by a subagent" in str(call(ask, "read", target=session, subagent=agent, turn=1)["passages"])


@pytest.mark.parametrize(
    ("ask", "tokens"),
    [("direct", MIN_TOKENS), ("stdio", DEFAULT_TOKENS), ("direct", MAX_TOKENS), ("http", DEFAULT_TOKENS)],
    indirect=["ask"],
)
def test_every_tool_answers(ask: Ask, shop: Workshop, tokens: int) -> None:
    budget = {"max_tokens": tokens, "scope": "all" if tokens == DEFAULT_TOKENS else "repository"}
    used = set()
    requests: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("search", "passages", {"query": "findme", "limit": 50, "include_tool_output": True}),
        ("search", "passages", {"query": "findme", "sort": "newest"}),
        ("search", "passages", {"query": "kind:title", "limit": 50}),
        ("recall", "sessions", {"question": "findme", "limit": 20}),
        ("read", "turns", {"target": "@last"}),
        ("sessions", "sessions", {"file": "written_1.py"}),
        ("sessions", "sessions", {"commit": shop.git("rev-parse", "HEAD").strip()}),
        ("files", "files", {"limit": 100}),
        ("files", "changes", {"path": f"{shop.root}/written_1.py", "include_changes": True}),
        ("blame", "ranges", {"file": str(shop.root / "written_1.py")}),
        ("blame", "edits", {"commit": "HEAD"}),
        ("sql", "rows", {"query": "SELECT * FROM sessions"}),
        ("sql", "rows", {"query": "SELECT message_text(transcript, byte_offset) FROM messages ORDER BY 1 DESC"}),
        *(("usage", "rows", {"by": by}) for by in ("day", "session", "project", "model", "branch", "commit")),
    )
    for tool, items, given in requests:
        answer = call(ask, tool, **given, **budget)
        assert answer.get(items), (tool, given, answer)
        used.add(tool)
    assert used == set(NAMES)
    assert ask("resources/list")["result"]["resources"]
    assert ask("resources/templates/list")["result"]
    assert ask("prompts/get", name="what_did_we_decide", arguments={"about": "findme"})["result"]
    assert len(list(pages(ask, "files", "files", limit=9, **budget))) >= len(NAMED)


@pytest.mark.parametrize("name", NAMED)
def test_names_that_clients_pass_on_do_no_harm(ask: Ask, name: str) -> None:
    """Wherever a request takes a name, also in the errors that repeat it."""
    name = name.encode("utf-8", "replace").decode()[:2_500]
    for tool, given in (
        ("read", {"target": name[:500]}),
        ("read", {"target": "@last", "subagent": name[:200]}),
        ("read", {"target": "@last", "cursor": name[:2_000]}),
        ("search", {"query": f'session:"{name[:1_900]}"'}),
        ("search", {"query": name[:2_000] or "x", "cursor": name[:2_000]}),
        ("sessions", {"cursor": name[:2_000], "branch": name[:300]}),
        ("sessions", {"commit": name[:64]}),
        ("files", {"path": name[:1_000]}),
        ("files", {"words": name[:300], "cursor": name[:2_000]}),
        ("blame", {"file": name[:1_000].partition("://")[0]}),  # of "://" a path keeps one slash
        ("blame", {"commit": name[:200]}),
        ("recall", {"question": f"findme {name}"[:1_000]}),
        (name[:300], {}),
    ):
        ask("tools/call", name=tool, arguments=given)
    ask("resources/read", uri=f"hansard://session/{name}")
    ask("prompts/get", name="continue_from", arguments={"session": name[:400]})
    ask("prompts/get", name="what_did_we_decide", arguments={"about": name})
    ask(name[:300])
