"""The protocol by itself, over in-memory streams: versions, errors, cancellation, the end of a connection."""

from __future__ import annotations

import io
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.guard.passages import estimate_tokens
from hansard.mcp.server import HANDSHAKE_VERSIONS, INSTRUCTIONS, STATELESS_VERSION, Server
from hansard.mcp.stdio import Connection
from hansard.mcp.store import Repository, folder_of_uri, is_inside, repository_of
from hansard.mcp.tools import NAMES, find_tool
from tests.mcp.writing import APP, FIRST

MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": STATELESS_VERSION}}


def ask(server: Server, method: str, params: Any = None, id_: Any = 1) -> dict[str, Any]:
    response = server.handle({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
    assert response is not None
    assert response["id"] == id_
    return response


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_version_that_is_known_is_spoken(server: Server, version: str) -> None:
    assert ask(server, "initialize", {"protocolVersion": version})["result"]["protocolVersion"] == version


def test_other_versions(server: Server) -> None:
    assert (
        ask(server, "initialize", {"protocolVersion": "1999-01-01"})["result"]["protocolVersion"]
        == HANDSHAKE_VERSIONS[-1]
    )
    assert STATELESS_VERSION in ask(server, "server/discover", MODERN)["result"]["supportedVersions"]
    assert ask(server, "tools/list", MODERN)["result"]["resultType"] == "complete"
    assert "resultType" not in ask(server, "tools/list")["result"]
    wrong = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}}
    assert ask(server, "tools/list", wrong)["error"]["code"] == -32022


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ([], -32600),
        ("text", -32600),
        ({"id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "no/such"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": 7}}, -32002),
        ({"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "x"}}, -32602),
        (
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "prompts/get",
                "params": {"name": "continue_from", "arguments": {"session": 1}},
            },
            -32602,
        ),
    ],
)
def test_what_is_no_request_gets_an_error(server: Server, message: Any, code: int) -> None:
    response = server.handle(message)
    assert response is not None
    assert response["error"]["code"] == code


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["initialize", "ping", "tools/list", "prompts/list", "server/discover", "x"]), JSON, JSON)
def test_any_message_gets_one_answer_at_most(method: str, id_: Any, params: Any) -> None:
    server = Server(None, Repository("/"))  # type: ignore[arg-type]  # none of these asks the store
    response = server.handle({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
    assert response is not None
    assert ("result" in response) != ("error" in response)
    json.dumps(response)


def test_notifications_get_no_answer(server: Server) -> None:
    for method in ("notifications/initialized", "notifications/cancelled", "x"):
        assert server.handle({"jsonrpc": "2.0", "method": method}) is None
    assert server.handle({"jsonrpc": "2.0", "id": 3, "result": {}}) is None


# -- what models read before they call


def test_descriptions_are_short_and_instructions_name_every_tool() -> None:
    listed = [find_tool(name).listed() for name in NAMES]
    texts = [tool["description"] for tool in listed]
    texts += [
        field["description"]
        for tool in listed
        for field in tool["inputSchema"]["properties"].values()
        if "description" in field
    ]
    assert sum(map(estimate_tokens, texts)) < 2_000
    assert all("Examples: {" in tool["description"] for tool in listed)
    assert len(INSTRUCTIONS) <= 4_096
    assert all(f"- {name}: " in INSTRUCTIONS for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_examples_in_descriptions_are_valid(name: str) -> None:
    tool = find_tool(name)
    text = tool.description.partition("Examples: ")[2]
    decoder, place, count = json.JSONDecoder(), 0, 0
    while place < len(text):
        given, place = decoder.raw_decode(text, place)
        tool.read_arguments(given)
        place += len("; ")
        count += 1
    assert count >= 2


# -- over streams


def talk(server: Server, *messages: Any) -> list[dict[str, Any]]:
    """What a client hears that sends these lines and closes its side."""
    lines = [message if isinstance(message, bytes) else json.dumps(message).encode() for message in messages]
    responses = io.BytesIO()
    Connection(server, io.BytesIO(b"\n".join(lines) + b"\n"), responses).run()
    return [json.loads(line) for line in responses.getvalue().splitlines()]


def request(id_: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def test_what_was_asked_before_the_end_is_answered(server: Server) -> None:
    heard = talk(server, request(1, "tools/call", name="usage", arguments={}), b"", b"{not json", request(2, "ping"))
    assert {one["id"]: "result" in one for one in heard} == {1: True, None: False, 2: True}
    assert next(one for one in heard if one["id"] is None)["error"]["code"] == -32700


@pytest.mark.parametrize("id_", [[1], {"a": 1}, None, True, 1.5])
def test_a_malformed_id_is_refused_and_the_rest_is_answered(server: Server, id_: Any) -> None:
    heard = talk(
        server,
        request(id_, "tools/call", name="usage", arguments={}),
        {"jsonrpc": "2.0", "id": 3, "method": ["tools/call"]},
        request(2, "tools/call", name="usage", arguments={}),
    )
    assert [(one["id"], one.get("error", {}).get("code")) for one in heard] == [(None, -32600), (3, -32600), (2, None)]


def test_a_mistake_of_ours_does_not_end_the_answers(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    real = server.handle
    monkeypatch.setattr(
        server, "handle", lambda message: {1: lambda: 1 // 0}.get(message["id"], lambda: real(message))()
    )
    heard = talk(server, *(request(number, "tools/call", name="usage", arguments={}) for number in (1, 2)))
    assert [(one["id"], one.get("error", {}).get("code")) for one in heard] == [(1, -32603), (2, None)]


def test_a_cancelled_request_gets_no_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    started, cancelled = threading.Event(), threading.Event()
    real = server.handle

    def slowly(message: Any) -> dict[str, Any] | None:
        if message.get("id") == 1:
            started.set()
            assert cancelled.wait(30)
        return real(message)

    class Requests(io.RawIOBase):
        """Sends the cancellation when the first request is being answered, and the rest when it was taken."""

        def __init__(self) -> None:
            self.lines = [
                request(1, "tools/call", name="usage", arguments={}),
                request(2, "tools/call", name="usage", arguments={}),
                *(
                    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}
                    for id_ in (1, 2)
                ),
                request(3, "tools/call", name="usage", arguments={}),
            ]

        def readline(self, _size: int | None = -1, /) -> bytes:
            if len(self.lines) == 3:
                assert started.wait(30)
            if len(self.lines) == 1:
                cancelled.set()
            return json.dumps(self.lines.pop(0)).encode() + b"\n" if self.lines else b""

    monkeypatch.setattr(server, "handle", slowly)
    responses = io.BytesIO()
    Connection(server, Requests(), responses).run()  # type: ignore[arg-type]  # what it needs of a stream
    assert [json.loads(line)["id"] for line in responses.getvalue().splitlines()] == [3]


def test_a_client_that_is_gone_ends_the_server(server: Server) -> None:
    class Gone(io.BytesIO):
        def write(self, _data: Any, /) -> int:
            raise BrokenPipeError

    lines = b"".join(json.dumps(request(number, "ping")).encode() + b"\n" for number in range(1_000))
    requests = io.BytesIO(lines)
    Connection(server, requests, Gone()).run()
    assert requests.tell() < len(lines)


def test_the_roots_of_the_client_are_its_repository(app_store: tuple[Path, Path], server: Server) -> None:
    server._repository = Repository("/somewhere/else")
    heard = talk(
        server,
        request(0, "initialize", protocolVersion="2025-11-25", capabilities={"roots": {}}),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": "hansard-roots",
            "result": {"roots": [{"uri": f"file://{APP}", "name": "app"}, {"uri": 7}, 8]},
        },
        request(1, "tools/call", name="sessions", arguments={}),
    )
    assert [one.get("method") for one in heard] == [None, "roots/list", None]
    assert FIRST in str(heard[-1])


def test_a_chosen_project_comes_before_the_roots(server: Server) -> None:
    server._repository = Repository("/somewhere/else", is_chosen=True)
    server.use_roots({"result": {"roots": [{"uri": f"file://{APP}"}]}})
    assert server._repository.working_folder == os.path.realpath("/somewhere/else")


@pytest.mark.parametrize("uri", ["file://[::1", "file://]", "file:///a%00b", "file://" + "/x" * 70_000, ""])
def test_roots_that_make_no_sense_are_ignored(server: Server, uri: str) -> None:
    heard = talk(
        server,
        {"jsonrpc": "2.0", "id": "hansard-roots", "result": {"roots": [{"uri": uri}]}},
        request(1, "tools/call", name="sessions", arguments={}),
    )
    assert [one["id"] for one in heard] == [1]
    assert not heard[0]["result"]["isError"]


@pytest.mark.parametrize("excess", [1, 2, 70_000])
def test_an_overlong_message_is_refused_whole(server: Server, excess: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rest is not taken for a message of its own, even where it would be one."""
    longest = 1 << 20
    monkeypatch.setattr("hansard.mcp.stdio._LONGEST", longest)
    rest = json.dumps(request("smuggled", "ping")).encode().rjust(excess)
    heard = talk(server, b" " * longest + rest, request(1, "ping"), b" " * longest + rest.rstrip(b"}"))
    assert [(one["id"], one.get("error", {}).get("code")) for one in heard] == [
        (None, -32600),
        (1, None),
        (None, -32600),
    ]


def test_a_message_of_the_greatest_length_is_answered(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    message = json.dumps(request(1, "ping")).encode()
    monkeypatch.setattr("hansard.mcp.stdio._LONGEST", len(message))
    assert [one["id"] for one in talk(server, message)] == [1]
    responses = io.BytesIO()
    Connection(server, io.BytesIO(message), responses).run()  # without an end of line
    assert json.loads(responses.getvalue())["id"] == 1


# -- where the client works


def test_a_folder_belongs_to_its_repository(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / ".git" / "worktrees" / "side").mkdir(parents=True)
    (repository / "src").mkdir()
    side = tmp_path / "side"
    side.mkdir()
    (side / ".git").write_text(f"gitdir: {repository}/.git/worktrees/side\n")
    assert repository_of(str(side)) == str(side)  # the repository does not know of it
    (repository / ".git" / "worktrees" / "side" / "gitdir").write_text(f"{side}/.git\n")
    (tmp_path / "plain").mkdir()
    assert repository_of(str(repository / "src")) == str(repository)
    assert repository_of(str(side)) == str(repository)
    assert repository_of(str(tmp_path / "plain")) == str(tmp_path / "plain")


def test_names_that_begin_alike_are_outside() -> None:
    assert is_inside("/a/app", "/a/app")
    assert is_inside("/a/app/sub", "/a/app/")
    assert not is_inside("/a/app-secret", "/a/app")
    assert folder_of_uri("file:///home/me/a%20b") == "/home/me/a b"
    assert folder_of_uri("https://example.com/x") is None
    assert folder_of_uri("file://host/share") is None
