"""Staying current: what the engine syncs when something changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hansard
from hansard.engine import Hansard
from hansard.sources import watch
from hansard.sync.report import SyncReport

if TYPE_CHECKING:
    import pytest


def test_after_a_sync_that_was_not_let_in_everything_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = iter([SyncReport(), SyncReport(busy=True), SyncReport(changed=2), SyncReport(), SyncReport(changed=1)])
    asked: list[Any] = []

    def sync(_: Hansard, *, only: Any = None, listener: Any, wait_seconds: float) -> SyncReport:
        assert wait_seconds == 7.0
        listener(only)
        return next(reports)

    def heard(progress: Any) -> None:
        asked.append(progress)

    def changes(*_: object, **__: object) -> Iterator[frozenset[str]]:
        yield from (frozenset({name}) for name in "abcd")

    monkeypatch.setattr(Hansard, "sync", sync)
    monkeypatch.setattr(watch, "watch", changes)
    with hansard.open(tmp_path) as h:
        told = list(h.watch(threading.Event(), listener=heard, wait_seconds=7.0))

    assert asked == [None, {"a"}, None, {"c"}, {"d"}]
    assert told == [SyncReport(), SyncReport(busy=True), SyncReport(changed=2), SyncReport(changed=1)]


def test_a_watch_that_is_stopped_ends_in_the_middle_of_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()

    def sync(_: Hansard, *, listener: Any, newest_only: bool = False, **__: Any) -> SyncReport:
        if not newest_only:
            stop.set()
        listener(None)
        return SyncReport(partial=True)

    monkeypatch.setattr(Hansard, "sync", sync)
    with hansard.open(tmp_path) as h:
        assert list(h.watch(stop, early=True)) == [SyncReport(partial=True)]
