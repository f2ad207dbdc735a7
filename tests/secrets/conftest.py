"""A store with planted secrets that were searched for, shared by the tests that only read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import hansard
from hansard.engine import Hansard
from tests.secrets.planting import write_planted_history


class PlantedStore(NamedTuple):
    """Where it is, and the id of its largest session."""

    home: Path
    root: Path
    session: str


@pytest.fixture(scope="package")
def planted(tmp_path_factory: pytest.TempPathFactory) -> PlantedStore:
    place = tmp_path_factory.mktemp("planted")
    session = write_planted_history(place / "claude")
    with hansard.open(place / "store", [place / "claude"]) as h:
        h.sync()
        h.scan_secrets()
    return PlantedStore(place / "store", place / "claude", session)


@pytest.fixture
def h(planted: PlantedStore) -> Iterator[Hansard]:
    with hansard.open(planted.home, [planted.root]) as opened:
        yield opened


@pytest.fixture
def redacting(planted: PlantedStore) -> Iterator[Hansard]:
    with hansard.open(planted.home, [planted.root], redact=True) as opened:
        yield opened
