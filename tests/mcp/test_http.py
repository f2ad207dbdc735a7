"""The HTTP transport: behind the web app's guard, one message for each POST."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hansard.web.rpc import PATH, read_token
from tests.mcp.writing import APP, FIRST

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture(scope="module")
def served(app_store: tuple[Path, Path]) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a running server, and the headers that let a program in."""
    root, home = app_store
    command = [
        sys.executable,
        "-m",
        "hansard",
        "mcp",
        "--http",
        "--port",
        "0",
        "--root",
        str(root),
        "--home",
        str(home),
    ]
    with subprocess.Popen([*command, "--project", APP, "--no-sync"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        settings = json.loads(process.stdout.readline())["mcpServers"]["hansard"]
        yield settings["url"], settings["headers"]
        process.terminate()
        assert process.wait(30) == 0


def post(served: tuple[str, dict[str, str]], message: Any, **headers: str) -> httpx.Response:
    url, own = served
    return httpx.post(
        url, content=json.dumps(message), headers={**own, "content-type": "application/json", **headers}, timeout=60
    )


def test_messages_are_answered(served: tuple[str, dict[str, str]]) -> None:
    assert post(served, PING).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "msgspec"}},
    }
    assert FIRST in post(served, call).text
    answer = post(served, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status_code, answer.content) == (202, b"")


def test_the_guard_stands_in_front(served: tuple[str, dict[str, str]]) -> None:
    url, own = served
    assert httpx.post(url, json=PING).status_code in (401, 403)
    assert httpx.post(url, json=PING, headers={"authorization": "Bearer wrong"}).status_code in (401, 403)
    assert post(served, PING, host="evil.example").status_code == 421
    assert post(served, PING, origin="https://evil.example").status_code == 403
    assert httpx.get(url, headers=own).status_code == 405
    assert httpx.post(url.replace(PATH, "/other"), json=PING, headers=own).status_code == 403
    assert httpx.post(url, content=b"{", headers=own).json()["error"]["code"] == -32700
    assert httpx.post(url, content=b" " * 70_000, headers=own).status_code == 413


def test_the_token_stays_the_same_and_private(tmp_path: Path) -> None:
    token = read_token(str(tmp_path / "home"))
    assert read_token(str(tmp_path / "home")) == token
    path = tmp_path / "home" / "mcp-token"
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("short")
    assert read_token(str(tmp_path / "home")) != token
