"""A source tree to ask about."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sync.making import Tree, memory_folder

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def tree() -> Iterator[Tree]:
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        yield Tree(Path(folder) / "claude", Path(folder) / "store")
