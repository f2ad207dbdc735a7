"""A history with two repositories, one session of which opens a pull request, and servers on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.config import Settings
from hansard.mcp.server import Server
from hansard.mcp.store import Repository, Store
from tests.mcp.writing import APP, write_app_history

Call = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def app_store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The root and the home of a synced history of two repositories."""
    place = tmp_path_factory.mktemp("mcp")
    write_app_history(place / "claude")
    with hansard.open(place / "home", [place / "claude"]) as h:
        h.sync()
    return place / "claude", place / "home"


def server_on(home: Path, *roots: Path, folder: str = APP, syncing: bool = False, **other: Any) -> Server:
    settings = Settings(str(home), tuple(map(str, roots)), 1 << 26, **other)
    return Server(Store(settings, syncing=syncing), Repository(folder))


@pytest.fixture
def server(app_store: tuple[Path, Path]) -> Server:
    """A server that works in the first repository."""
    return server_on(app_store[1], app_store[0])


@pytest.fixture
def call(server: Server) -> Call:
    """Calls a tool, and gives its structured answer."""
    return caller(server)


def caller(server: Server) -> Call:
    def called(name: str, **arguments: Any) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        response = server.handle(message)
        assert response is not None
        result: dict[str, Any] = response["result"]
        if result["isError"]:
            return {"error": result["content"][0]["text"]}
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return dict(result["structuredContent"])

    return called
