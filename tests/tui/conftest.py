"""Stores that the tests of the terminal app read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import hansard
from tests.cli.conftest import OTHER, SESSION, said, write_log

HOSTILE = "Wrap [red]now[/red] [@click=app.exit]x[/] \x1b[31m!\x1b]0;title\x07 \u202e"

DEMO_NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
"""When the demo history ends."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two sessions of two projects, one with a hostile title."""
    root = tmp_path / "claude"
    write_log(root, SESSION, [said(1, "When is high tide?"), said(2, "At noon.", role="assistant")])
    later = [
        said(40, HOSTILE, session=OTHER, cwd="/src/sail"),
        said(41, "Done.", role="assistant", session=OTHER, cwd="/src/sail"),
    ]
    write_log(root, OTHER, later, "-src-sail")
    return root


@pytest.fixture
def store(tmp_path: Path, root: Path) -> Path:
    """A store with these sessions."""
    with hansard.open(tmp_path / "store", roots=[root]) as h:
        h.sync()
    return tmp_path / "store"


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the demo history."""
    from tests.demo_history.history import write_history

    place = tmp_path_factory.mktemp("tui-demo")
    write_history(place / "claude", seed=3, now=DEMO_NOW)
    with hansard.open(place / "store", roots=[place / "claude"]) as h:
        h.sync()
    return place / "store"
