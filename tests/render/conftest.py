"""The hard session, synced once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import hansard
from hansard.demo.history import write_hard_session
from hansard.engine import Hansard


@pytest.fixture(scope="session")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hansard, str]]:
    """A store with the session that has everything in it, to be read only, and the id of that session."""
    place = tmp_path_factory.mktemp("hard")
    name = write_hard_session(place / "claude")
    with hansard.open(place / "store", roots=[place / "claude"]) as h:
        h.sync()
        yield h, name
