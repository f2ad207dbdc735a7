"""The official SDK's client over stdio: every tool, resource and prompt, in both eras of the protocol, and what goes wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from hansard.mcp.server import INSTRUCTIONS
from tests.mcp.writing import APP, FIRST, SECOND
from tests.web.serving import elsewhere

mcp = pytest.importorskip("mcp", reason="the SDK is not installed: `make install`")
from mcp.client import Client  # noqa: E402 - only where it is there
from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: E402 - the same

CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"query": "msgspec"}, FIRST),
    ("read", {"target": FIRST}, "Why is the parser slow?"),
    ("recall", {"question": "what did we decide about msgspec"}, "msgspec stays"),
    ("sessions", {"file": "parser.py"}, FIRST),
    ("files", {"path": "parser.py", "include_changes": True}, "+import msgspec"),
    ("usage", {"by": "model"}, "claude-opus-4-6"),
    ("sql", {"query": "SELECT model, $n AS n FROM usage", "parameters": {"n": 7}}, "claude-opus-4-6"),
]


@pytest.fixture(params=["legacy", "auto"])
def run(request: pytest.FixtureRequest, app_store: tuple[Path, Path]) -> Callable[..., None]:
    """Runs a test with a client whose server works in the repository."""
    root, home = app_store
    command = ["-m", "hansard", "mcp", "--root", str(root), "--home", str(home), "--project", APP, "--no-sync"]
    parameters = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))

    def running(work: Callable[[Client], Awaitable[None]]) -> None:
        async def main() -> None:
            async with Client(stdio_client(parameters), mode=request.param) as client:
                await work(client)

        elsewhere(lambda: anyio.run(main))

    return running


def test_every_tool_answers_in_its_schema(run: Callable[..., None]) -> None:
    async def work(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {"blame", *(name for name, _, _ in CALLS)}
        assert client.instructions == INSTRUCTIONS
        for name, given, wanted in CALLS:
            result = await client.call_tool(name, given)  # checks the answer against the schema
            assert not result.is_error, result
            assert wanted in str(result.structured_content)

    run(work)


def test_mistakes_are_told(run: Callable[..., None]) -> None:
    async def work(client: Client) -> None:
        result = await client.call_tool("search", {"query": "x", "limit": "many"})
        assert result.is_error
        assert "limit" in str(result.content)
        with pytest.raises(mcp.MCPError, match="unknown tool"):
            await client.call_tool("destroy", {})
        with pytest.raises(mcp.MCPError, match="no resource"):
            await client.read_resource("hansard://nothing")
        with pytest.raises(mcp.MCPError, match="about"):
            await client.get_prompt("what_did_we_decide", {})
        assert not (await client.call_tool("usage", {})).is_error  # and nothing is broken by it

    run(work)


def test_resources_and_prompts(run: Callable[..., None]) -> None:
    async def work(client: Client) -> None:
        listed = (await client.list_resources()).resources
        assert {str(one.uri) for one in listed} == {f"hansard://session/{id_}" for id_ in (FIRST, SECOND)}
        assert len((await client.list_resource_templates()).resource_templates) == 2
        outline = await client.read_resource(f"hansard://session/{FIRST}")
        assert "Why is the parser slow?" in str(outline.contents[0])
        turn = await client.read_resource(f"hansard://session/{FIRST}/turn/2")
        assert "Commit it" in str(turn.contents[0])
        assert [one.name for one in (await client.list_prompts()).prompts] == ["continue_from", "what_did_we_decide"]
        prompt = await client.get_prompt("what_did_we_decide", {"about": "msgspec"})
        assert "msgspec stays" in str(prompt.messages[0])
        prompt = await client.get_prompt("continue_from", {})
        assert "flaky" in str(prompt.messages[0])

    run(work)


INSPECTOR = os.environ.get("HANSARD_INSPECTOR") or shutil.which("mcp-inspector")


@pytest.mark.skipif(
    not INSPECTOR, reason="no MCP inspector: npm install -g @modelcontextprotocol/inspector, or HANSARD_INSPECTOR=PATH"
)
@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--method", "tools/list"], '"recall"'),
        (["--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=msgspec"], FIRST),
        (["--method", "resources/list"], f"hansard://session/{FIRST}"),
        (["--method", "resources/read", "--uri", f"hansard://session/{FIRST}"], "parser"),
        (["--method", "resources/templates/list"], "hansard://session/{session}"),
        (["--method", "prompts/list"], "continue_from"),
        (["--method", "prompts/get", "--prompt-name", "what_did_we_decide", "--prompt-args", "about=msgspec"], "msgspec"),
    ],
)  # fmt: skip
def test_the_inspector_has_no_complaint(app_store: tuple[Path, Path], arguments: list[str], wanted: str) -> None:
    root, home = app_store
    server = [sys.executable, "-m", "hansard", "mcp", "--root", str(root), "--home", str(home), "--project", APP]
    done = subprocess.run(
        [str(INSPECTOR), "--cli", *server, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert wanted in done.stdout
