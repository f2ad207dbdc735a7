"""The hard session, and a hostile one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import hansard
from tests.hard_session import write_hard_session
from tests.render.payloads import SESSION, write_hostile_history

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from hansard.model.sessions import Session


@pytest.fixture(scope="session")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hansard, Session]]:
    """A store with the demo's hard session."""
    place = tmp_path_factory.mktemp("hard")
    name = write_hard_session(place / "claude")
    with hansard.open(place / "home", [place / "claude"]) as store:
        store.sync()
        yield store, store.session(name)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hansard, Session]]:
    """A store with a payload in every place of a transcript."""
    place = tmp_path_factory.mktemp("hostile")
    write_hostile_history(place / "claude")
    with hansard.open(place / "home", [place / "claude"]) as store:
        store.sync()
        yield store, store.session(SESSION)
