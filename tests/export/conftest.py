"""Stores to export from: the demo's history, the hard session, and a small one that a test may change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

import hansard
from hansard.demo import write_history
from hansard.engine import Hansard
from hansard.export import Exported
from tests.cli.conftest import OTHER, SESSION, said, write_log
from tests.hard_session import write_hard_session

NOW = datetime(2026, 5, 2, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's history and the hard session, synced; read only."""
    place = tmp_path_factory.mktemp("demo")
    write_history(place / "claude", now=NOW)
    write_hard_session(place / "claude")
    with hansard.open(place / "store", [place / "claude"]) as h:
        h.sync()
    return place


@pytest.fixture
def demo(demo_store: Path) -> Iterator[Hansard]:
    with hansard.open(demo_store / "store", [demo_store / "claude"]) as h:
        yield h


@pytest.fixture(scope="session")
def exported(demo_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Exported]:
    """What an export of the demo's history in a format did, once for all tests, which only read its folder."""

    @cache
    def export(form: str) -> Exported:
        with hansard.open(demo_store / "store", [demo_store / "claude"]) as h:
            return h.export(None, tmp_path_factory.mktemp("exported") / form, format=form)

    return export


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A config directory with two small sessions."""
    place = tmp_path / "claude"
    write_log(place, SESSION, [said(1, "When is high tide?"), said(2, "At noon.", role="assistant")])
    write_log(
        place,
        OTHER,
        [said(1, "Wrap the sail", session=OTHER), said(2, "Wrapped.", role="assistant", session=OTHER)],
        "-src-sail",
    )
    return place


@pytest.fixture
def small(root: Path, tmp_path: Path) -> Iterator[Hansard]:
    """The two small sessions, synced."""
    with hansard.open(tmp_path / "store", [root]) as h:
        h.sync()
        yield h


def tree_of(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file with its time, its inode and its content."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
