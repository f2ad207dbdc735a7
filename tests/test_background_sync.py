"""Keeping current beside a second process that writes the store."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import background_sync
from hansard.background_sync import BackgroundSync, StoreState
from hansard.engine import Hansard
from hansard.errors import StoreBusy
from hansard.model.secrets import ScanReport
from hansard.sync.report import SyncReport
from tests.cli.conftest import SESSION, said, write_log


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for another attempt."""
    monkeypatch.setattr(background_sync, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(background_sync, "_FIRST_PAUSE", 0.01)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_log(tmp_path / "claude", SESSION, [said(1, "Begin")])
    return tmp_path / "claude"


class Watched:
    """A store that is kept current, and the states that were reported."""

    def __init__(self, home: Path, root: Path, *, syncing: bool) -> None:
        self.home, self.root = home, root
        self.states: queue.SimpleQueue[StoreState] = queue.SimpleQueue()
        self.sync = BackgroundSync(self.open, self.states.put, syncing=syncing)

    def open(self) -> Hansard:
        return hansard.open(self.home, [self.root])

    def next(self, *, after: int = 0) -> StoreState:
        """The next state without a sync under way and with another revision."""
        while (state := self.states.get()).syncing or state.revision == after:
            pass
        return state


@contextmanager
def watching(home: Path, root: Path, *, syncing: bool) -> Iterator[Watched]:
    watched = Watched(home, root, syncing=syncing)
    watched.sync.start()
    try:
        yield watched
    finally:
        watched.sync.stop(60)


def add(root: Path, number: int) -> None:
    path = next(root.glob("projects/*/*.jsonl"))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(said(number, f"Line {number}")) + "\n")


def sync_elsewhere(home: Path, root: Path) -> None:
    command = [sys.executable, "-m", "hansard", "sync", "--home", str(home), "--root", str(root)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "HANSARD_CONFIG": os.devnull})


@pytest.mark.parametrize("syncing", [True, False])
def test_what_another_process_syncs_is_reported(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, syncing: bool
) -> None:
    """Whether or not a sync of ours runs first, and even if it always finds nothing new."""
    home = tmp_path / "home"
    sync_elsewhere(home, root)
    with watching(home, root, syncing=syncing) as watched:
        state = watched.next()
        monkeypatch.setattr(Hansard, "sync", lambda *_, **__: SyncReport())
        for number in range(2, 5):
            add(root, number)
            sync_elsewhere(home, root)
            state = watched.next(after=state.revision)
        with watched.open() as h:
            assert h.revision() == state.revision
            assert h.session(SESSION).prompts == 4


def test_both_processes_sync_and_nothing_is_left_out(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with watching(home, root, syncing=True) as watched:
        watched.next()
        with subprocess.Popen(
            [sys.executable, "-m", "hansard", "watch", "--home", str(home), "--root", str(root)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as other:
            try:
                for number in range(2, 22):
                    add(root, number)
                    with watched.open() as h:
                        while h.session(SESSION).prompts < number:
                            watched.states.get()
            finally:
                other.terminate()


def test_an_index_that_is_rebuilt_is_read_again(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    sync_elsewhere(home, root)
    with watching(home, root, syncing=False) as watched:
        before = watched.next().revision
        with watched.open() as h:
            h.rebuild()
        add(root, 2)
        sync_elsewhere(home, root)
        assert watched.next(after=before).revision > before


def test_catching_up_syncs_once_and_reports_why_it_could_not(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(tmp_path / "home", root, syncing=False)
    assert watched.sync.catch_up(60) == StoreState()
    with watched.open() as h:
        assert h.session(SESSION).prompts == 1

    def fail(*_: object, **__: object) -> None:
        raise StoreBusy("somebody writes")

    with monkeypatch.context() as failing:
        failing.setattr(Hansard, "sync", fail)
        assert watched.sync.catch_up(60).trouble == "somebody writes"
    assert watched.sync.catch_up(60).trouble is None


def test_what_comes_is_searched_for_secrets(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports: queue.SimpleQueue[ScanReport] = queue.SimpleQueue()
    scan = Hansard.scan_secrets

    def searched(h: Hansard, **more: Any) -> ScanReport:
        report = scan(h, **more)
        reports.put(report)
        return report

    monkeypatch.setattr(Hansard, "scan_secrets", searched)
    with watching(tmp_path / "home", root, syncing=True) as watched:
        assert reports.get().secrets == 0
        path = next(root.glob("projects/*/*.jsonl"))
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(said(2, "Use ghp_" + "aB3d" * 9)) + "\n")
        while not reports.get().secrets:
            pass
        with watched.open() as h:
            assert h.secret_counts() == {SESSION: 1}
    assert not [thread for thread in threading.enumerate() if thread.name == "secrets"]
