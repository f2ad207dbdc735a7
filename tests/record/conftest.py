"""A record to test with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hansard.record.store import Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "data" / "record.db"


@pytest.fixture
def record(place: Path) -> Iterator[Record]:
    with Record.open(str(place)) as opened:
        yield opened
