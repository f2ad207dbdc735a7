"""A repository with sessions, and the store that has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from tests.git.making import Workshop


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


@pytest.fixture
def h(tmp_path: Path, shop: Workshop) -> Iterator[Hansard]:
    with hansard.open(tmp_path / "store", [shop.config]) as engine:
        yield engine
