"""One sync at a time, in turn."""

from __future__ import annotations

import threading
from pathlib import Path

from hansard.files import FileLock
from hansard.sync.data_files import sync_lock


def _is_held(path: Path) -> bool:
    with FileLock(str(path), 0.0) as held:
        return not held


def test_a_lock_is_passed_on_to_the_process_that_waits_for_it(tmp_path: Path) -> None:
    order: list[str] = []
    is_done = threading.Event()

    def wait() -> None:
        with sync_lock(str(tmp_path), 60) as held:
            order.append("waited" if held else "gave up")
            is_done.wait(60)

    waiting = threading.Thread(target=wait)
    with sync_lock(str(tmp_path), 1) as held:
        assert held
        waiting.start()
        while not _is_held(tmp_path / "sync.lock-queue"):
            pass
        with sync_lock(str(tmp_path), 0.01) as too_early:
            assert not too_early
    # A process that syncs without a break asks again at once.
    with sync_lock(str(tmp_path), 0.5) as held:
        assert not held
    is_done.set()
    waiting.join()
    assert order == ["waited"]
