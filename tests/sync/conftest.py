"""Histories to sync."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hansard.demo import write_history
from tests.sync.making import Tree, memory_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

END = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo history: every layout, forks, subagents, summaries in other files. Tests copy from it."""
    place = tmp_path_factory.mktemp("demo") / "claude"
    write_history(place, now=END)
    return place


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """As everywhere, but in memory where that can be: these tests wait for the disk more than for anything else."""
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        yield Path(folder)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """An empty config directory."""
    return Tree(tmp_path / "claude", tmp_path / "store")
