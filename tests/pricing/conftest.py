"""The price data that comes with the package, converted once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hansard.pricing.book import Book, load

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return load(str(tmp_path_factory.mktemp("prices")))


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A data directory with nothing in it."""
    return str(tmp_path / "store")
