"""How `hansard mcp` starts: the handshake needs no server, and the server goes on where it ended."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hansard.cli import mcp_start
from hansard.cli.background import START
from hansard.config import Settings
from hansard.mcp.server import SUBSCRIPTION_KEY, Server
from hansard.mcp.store import Repository, Store
from tools.make_docs import mcp_answers

_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {"name": "claude-code"}}
_TELL = "import atexit, os, sys; atexit.register(lambda: sys.stderr.write(' '.join(sys.modules)));"


class Client:
    """What a client sends and gets."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def send(self, *messages: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        lines = b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages)
        self.process.stdin.write(lines)
        self.process.stdin.flush()

    def get(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        got: dict[str, Any] = json.loads(self.process.stdout.readline())
        return got

    def ask(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        self.send({"id": number, "method": method, "params": params})
        answer = self.get()
        assert answer["id"] == number
        result: dict[str, Any] = answer["result"]
        return result


@contextmanager
def started(home: Path, *options: str) -> Iterator[Client]:
    command = [sys.executable, "-P", "-c", _TELL + START, "mcp", "--home", str(home), *options]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=home
    ) as process:
        yield Client(process)


def test_the_answers_are_those_of_the_server() -> None:
    """If this fails, run tools/make_docs.py."""
    assert Path(mcp_start.ANSWERS).read_text() == mcp_answers()


def test_a_handshake_needs_neither_server_nor_store(tmp_path: Path) -> None:
    with started(tmp_path) as client:
        hello = client.ask(0, "initialize", **_HELLO)
        assert (hello["protocolVersion"], hello["serverInfo"]["name"]) == ("2025-06-18", "hansard")
        client.send({"method": "notifications/initialized"})
        assert client.get()["method"] == "roots/list"
        assert len(client.ask(1, "tools/list")["tools"]) == 8
        assert client.ask(2, "prompts/list")["prompts"]
        assert client.ask(3, "resources/list") == {"resources": []}
        client.send({"id": "hansard-roots", "result": {"roots": []}})
        assert client.ask(4, "ping") == {}
        _, loaded = client.process.communicate()
        modules = set(loaded.decode().split())
    assert not modules & {"hansard.mcp", "hansard.engine", "msgspec", "click", "json", "apsw", "typing"}
    assert not any(tmp_path.iterdir())


def test_the_server_goes_on_with_what_was_said(tmp_path: Path) -> None:
    """The first message that needs it comes together with others, before and behind it."""
    with started(tmp_path, "--root", str(tmp_path)) as client:
        assert client.ask(0, "initialize", **_HELLO)
        client.send(
            {"id": 1, "method": "tools/list"},
            {"id": 2, "method": "tools/call", "params": {"name": "sessions", "arguments": {}}},
            {"id": 3, "method": "ping"},
            {"method": "notifications/roots/list_changed"},
        )
        assert client.get()["id"] == 1
        others = [client.get() for _ in range(3)]
        assert {other.get("id") for other in others} == {2, 3, "hansard-roots"}


_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2.1.327"},
    "io.modelcontextprotocol/clientCapabilities": {"roots": {"listChanged": True}},
}
_LISTEN = {"notifications": {"resourcesListChanged": True}, "_meta": _META}


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot wait for a pipe there")
def test_a_client_without_a_handshake_needs_neither_server_nor_store(tmp_path: Path) -> None:
    """As Claude Code 2.1.327 begins."""
    server = Server(Store(Settings("", (), 0), syncing=False), Repository("/"))
    with started(tmp_path) as client:
        for number, method in enumerate(("server/discover", "prompts/list", "tools/list", "resources/templates/list")):
            request = {"jsonrpc": "2.0", "id": f"probe-{number}", "method": method, "params": {"_meta": _META}}
            client.send(request)
            assert client.get() == msgspec.json.decode(msgspec.json.encode(server.handle(request)))
        client.send({"id": "listen:0", "method": "subscriptions/listen", "params": _LISTEN})
        heard = client.get()
        assert heard["method"] == "notifications/subscriptions/acknowledged"
        assert heard["params"]["_meta"] == {SUBSCRIPTION_KEY: "listen:0"}
        listed = client.ask(7, "resources/list", _meta=_META)
        assert (listed["resources"], listed["ttlMs"], listed["resultType"]) == ([], 0, "complete")
        _, loaded = client.process.communicate()
    assert not set(loaded.decode().split()) & {"hansard.mcp", "hansard.engine", "msgspec", "json", "apsw", "typing"}
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot wait for a pipe there")
def test_a_subscription_is_told_of_the_resources(tmp_path: Path) -> None:
    with started(tmp_path, "--root", str(tmp_path)) as client:
        client.send({"id": "listen:0", "method": "subscriptions/listen", "params": _LISTEN})
        assert client.get()["method"] == "notifications/subscriptions/acknowledged"
        assert client.ask(1, "resources/list", _meta=_META)["resources"] == []
        told = client.get()
        assert told["method"] == "notifications/resources/list_changed"
        assert told["params"] == {"_meta": {SUBSCRIPTION_KEY: "listen:0"}}
        client.send({"id": 2, "method": "resources/list", "params": {"_meta": _META}})
        assert client.get()["id"] == 2
        client.send({"id": "listen:1", "method": "subscriptions/listen", "params": _LISTEN})
        assert client.get()["params"]["_meta"] == {SUBSCRIPTION_KEY: "listen:1"}


@pytest.mark.parametrize(
    "method", ["versions", "stateless", "every result", "prompts/list claude-code", "server/discover"]
)
def test_what_is_no_method_is_left_to_the_server(tmp_path: Path, method: str) -> None:
    with started(tmp_path) as client:
        client.send({"id": 1, "method": method})
        answer = client.get()
        assert answer.get("error", {}).get("code") == -32601 or answer["result"]["resultType"] == "complete"


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot wait for a pipe there")
def test_resources_come_when_the_client_is_quiet(tmp_path: Path) -> None:
    with started(tmp_path, "--root", str(tmp_path)) as client:
        assert client.ask(0, "initialize", **_HELLO)["capabilities"]["resources"] == {"listChanged": True}
        assert client.ask(1, "resources/list") == {"resources": []}
        assert client.get()["method"] == "notifications/resources/list_changed"
        client.send({"id": 2, "method": "resources/list"})
        assert client.get()["id"] == 2


@pytest.mark.parametrize("line", [b"{", b"[]", b"1", b'{"jsonrpc": "2.0", "id": 1}', b"x" * (1 << 17)])
def test_a_message_that_is_none_is_refused_by_the_server(tmp_path: Path, line: bytes) -> None:
    with started(tmp_path) as client:
        assert client.process.stdin is not None
        client.process.stdin.write(line + b"\n")
        client.process.stdin.flush()
        assert "error" in client.get()
        assert client.ask(5, "ping") == {}


def test_all_words_typed_behind_a_prompt_arrive() -> None:
    """Claude Code gives each declared argument one word, and drops the others."""
    from hansard.mcp import resources

    (about,) = (one for one in resources.list_prompts("claude-code")["prompts"] if one["name"] == "what_did_we_decide")
    words = "why did we leave the old parser".split()
    given = {argument["name"]: word for argument, word in zip(about["arguments"], words, strict=False)}
    prompt = resources.get_prompt(lambda _: {}, "what_did_we_decide", given)
    assert "why did we leave the old parser" in json.dumps(prompt)
    (plain,) = (one for one in resources.list_prompts("other")["prompts"] if one["name"] == "what_did_we_decide")
    assert len(plain["arguments"]) == 1
