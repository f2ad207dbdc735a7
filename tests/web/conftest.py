"""Web apps to ask: one on the demo history, one on hostile transcripts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hansard
from hansard.demo import write_history
from tests.hard_session import write_hard_session
from tests.render.payloads import write_hostile_history
from tests.web.serving import Site, site

if TYPE_CHECKING:
    import httpx

    from hansard.engine import Hansard


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The root and the home of a synced demo history, with the hard session in it."""
    place = tmp_path_factory.mktemp("web-demo")
    write_history(place / "claude", now=datetime.now(UTC))
    write_hard_session(place / "claude")
    with hansard.open(place / "home", [place / "claude"]) as h:
        h.sync()
    return place / "claude", place / "home"


@pytest.fixture(scope="session")
def demo(demo_store: tuple[Path, Path]) -> Iterator[Site]:
    """The web app on the demo history; tests that change something take `own` instead."""
    root, home = demo_store
    with site(home, root) as running:
        yield running


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The web app on transcripts with a payload in every place where they can have text."""
    place = tmp_path_factory.mktemp("web-hostile")
    write_hostile_history(place / "claude")
    with hansard.open(place / "home", [place / "claude"]) as h:
        h.sync()
    with site(place / "home", place / "claude") as running:
        yield running


@pytest.fixture
def client(demo: Site) -> Iterator[httpx.Client]:
    """A program that was let in."""
    with demo.client() as given:
        yield given


@pytest.fixture(scope="module")
def engine(demo_store: tuple[Path, Path]) -> Iterator[Hansard]:
    """The engine on the demo history."""
    root, home = demo_store
    with hansard.open(home, [root]) as opened:
        yield opened
