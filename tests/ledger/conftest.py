"""Histories with a store each, and the same histories read slowly."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hansard
from hansard.clients.roots import open_roots
from hansard.demo import write_history
from hansard.engine import Hansard
from hansard.sync.report import SyncRequest
from hansard.sync.run import sync
from tests.hard_session import write_hard_session
from tests.ledger.making import GROUPS
from tests.ledger.slowly import Book, Message, read
from tests.sync.making import memory_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.recordings import History, Recording

END = datetime(2026, 5, 1, 12, tzinfo=UTC)


@dataclass
class Kept:
    """A config directory, its store, and what the slow way finds in it."""

    config: Path
    h: Hansard

    @cached_property
    def messages(self) -> list[Message]:
        return read(self.config)

    @cached_property
    def book(self) -> Book:
        return Book(self.h.rates())


def keep(config: Path, home: Path) -> Kept:
    """Sync a config directory into a store of its own."""
    roots = open_roots([str(config)])
    sync(str(home), roots, SyncRequest(workers=False))
    return Kept(config, Hansard(str(home), roots, groups=GROUPS))


@contextmanager
def kept_of(recording: Recording) -> Iterator[Kept]:
    """A recorded scenario with its store."""
    with hansard.open(recording.store, [recording.root]) as h:
        yield Kept(recording.root, h)


@pytest.fixture(scope="session")
def memory() -> Iterator[Path]:
    """A place for stores that live as long as the tests."""
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def demo(memory: Path) -> Iterator[Kept]:
    """The demo history: every layout, forks, subagents."""
    write_history(memory / "demo" / "claude", now=END)
    kept = keep(memory / "demo" / "claude", memory / "demo" / "store")
    yield kept
    kept.h.close()


@pytest.fixture(scope="session")
def hard(memory: Path) -> Iterator[Kept]:
    """The session with everything in it."""
    write_hard_session(memory / "hard" / "claude")
    kept = keep(memory / "hard" / "claude", memory / "hard" / "store")
    yield kept
    kept.h.close()


@pytest.fixture(scope="session")
def public(histories: dict[str, History]) -> Iterator[Kept]:
    """The real history of several people."""
    history = histories["public"]
    with hansard.open(history.store, history.roots, groups=GROUPS) as h:
        yield Kept(history.roots[0], h)
