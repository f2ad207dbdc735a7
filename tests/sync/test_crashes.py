"""Killed at any moment, a sync or a rebuild leaves a store that the next sync repairs by itself."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from hansard import workers
from hansard.errors import StoreCorrupt
from hansard.model.store_requests import VerifyRequest
from hansard.record.store import Record
from hansard.record.verify import verify
from hansard.storage.sqlite import PAGE_SIZE, checksum_vfs
from hansard.sync import text
from hansard.sync.remarking import naming, remark
from hansard.sync.verify import verify as verify_store
from hansard.workers import Worker
from tests.record.making import chunk_pages, flip_bit
from tests.sync.crashing import PROJECT, crashed_stores
from tests.sync.dumping import Dump, assert_same, dump
from tests.sync.hard import BRANCH, FORK, OLD, files
from tests.sync.making import Tree, assistant, main_path, raw, session, user

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs that die are forks")


@pytest.fixture
def crashed(tree: Tree) -> Tree:
    """A small history that is not synced yet."""
    for path, content in files().items():
        tree.write(path, content)
    return tree


def _repaired(config: Path, home: Path, expected: Dump) -> None:
    tree = Tree(config, home)
    tree.sync()
    assert_same(expected, dump(home))
    with Record.open(str(home / "record.db"), readonly=True) as record:
        report = verify(record, tree.roots, deep=True)
    assert not report.mismatches
    assert not report.changed


@pytest.mark.parametrize("work", ["sync", "staged", "workers"])
def test_a_first_sync(crashed: Tree, tmp_path: Path, work: str, soak: int) -> None:
    crashed.sync()
    expected = dump(crashed.home)
    homes = crashed_stores(work, crashed, tmp_path / "none", tmp_path / "out", soak)
    assert len(homes) > 15
    for home in homes:
        _repaired(crashed.config, home, expected)
        shutil.rmtree(home)


def test_an_increment(crashed: Tree, tmp_path: Path, soak: int) -> None:
    crashed.sync()
    template = shutil.copytree(crashed.home, tmp_path / "template")
    new = session(99)
    crashed.write(main_path(new), [user(new, "u1", "A new one."), assistant(new, "a1", "msg_01new", "Yes.", 1)])
    crashed.append(main_path(OLD), raw([user(OLD, "o9", "Another word.", 2)]) + b'{"type":"us')
    crashed.write(main_path(FORK), files()[main_path(FORK)][:2000])
    crashed.place(main_path(BRANCH)).unlink()
    crashed.sync()
    expected = dump(crashed.home)
    homes = crashed_stores("sync", crashed, template, tmp_path / "out", soak)
    assert len(homes) > 8
    for home in homes:
        _repaired(crashed.config, home, expected)
        shutil.rmtree(home)


def test_a_rebuild(crashed: Tree, tmp_path: Path, soak: int) -> None:
    crashed.sync()
    expected = dump(crashed.home)
    homes = crashed_stores("rebuild", crashed, crashed.home, tmp_path / "out", soak)
    assert len(homes) > 20
    for home in homes:
        _repaired(crashed.config, home, expected)
        crashed.append(main_path(OLD), b"")
        Tree(crashed.config, home).sync()
        assert {path.name for path in home.iterdir() if not path.name.endswith(("-wal", "-shm", "-journal"))} == {
            "index.db",
            "last-sync.json",
            "prices.json",
            "record.db",
            "sync.lock",
            "sync.lock-queue",
            "text.db",
        }
        shutil.rmtree(home)


@pytest.mark.skipif(checksum_vfs() is None, reason="this apsw carries no cksumvfs")
def test_a_repair(tree: Tree, tmp_path: Path, soak: int) -> None:
    """The next repair goes on, whether or not a sync comes first."""
    for path, content in list(files().items())[:4]:
        tree.write(path, content)
    tree.write(main_path(OLD), files()[main_path(OLD)])
    tree.sync()
    remark(str(tree.home), naming(OLD, "Mine"))
    expected = dump(tree.home)
    record = tree.home / "record.db"
    for page in chunk_pages(record):
        flip_bit(record, page * PAGE_SIZE * 8 + 40_001)
    damaged = record.read_bytes()
    homes = crashed_stores("repair", tree, tree.home, tmp_path / "out", soak)
    assert len(homes) > 20
    for number, home in enumerate(homes):
        copy = Tree(tree.config, home)
        if number % 2:
            with suppress(StoreCorrupt):  # while the damaged record is in its place
                copy.sync()
        assert not verify_store(str(home), copy.roots, VerifyRequest(repair=True)).mismatches
        _repaired(tree.config, home, expected)
        left = sorted(home.glob("record.db.*"))
        assert len(left) == 1, (home.name, [path.name for path in left])
        (kept,) = left
        assert kept.read_bytes() == damaged
        shutil.rmtree(home)


def test_a_remark(crashed: Tree, tmp_path: Path, soak: int) -> None:
    crashed.sync()
    without = dump(crashed.home)
    template = shutil.copytree(crashed.home, tmp_path / "template")
    remark(str(crashed.home), naming(OLD, "Mine"))
    with_it = dump(crashed.home)
    homes = crashed_stores("remark", crashed, template, tmp_path / "out", soak)
    assert len(homes) > 4
    for home in homes:
        with Record.open(str(home / "record.db"), readonly=True) as record:
            kept = bool(record.remarks())
        assert kept or "before-1" in home.name, "only a crash before the first commit loses it"
        _repaired(crashed.config, home, with_it if kept else without)
        shutil.rmtree(home)


WORKER = """
import sys
from tests.sync.crashing import _die_at
from hansard.workers import main
_die_at(sys.argv[1], int(sys.argv[2]))
main()
"""


@pytest.mark.parametrize(
    "pure_python", ["0", "1"]
)  # what it leaves to the first process is prepared by the native module
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2])
def test_only_the_second_process(
    crashed: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, number: int, pure_python: str
) -> None:
    died: list[int] = []

    class Watched(Worker):
        def close(self) -> None:
            died.append(self.process.wait())
            super().close()

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PROJECT / "src"), str(PROJECT)]))
    monkeypatch.setenv("HANSARD_PURE_PYTHON", pure_python)
    monkeypatch.setattr(text, "WORKER_BYTES", 0)
    monkeypatch.setattr(text, "Worker", Watched)
    monkeypatch.setattr(workers, "command", lambda: [sys.executable, "-c", WORKER, moment, str(number)])
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    crashed.sync(workers=True)
    assert died[0] == -signal.SIGKILL
    disturbed = dump(crashed.home)

    undisturbed = Tree(crashed.config, tmp_path / "undisturbed")
    undisturbed.sync(workers=False)
    assert_same(dump(undisturbed.home), disturbed)


def test_the_second_process_ends_when_the_first_is_gone(crashed: Tree) -> None:
    crashed.sync()
    (crashed.home / "text.db").unlink()
    worker = Worker("hansard.sync.text:index_text", str(crashed.home), "text.db", {})
    assert worker.process.stdin is not None
    assert worker.send("more")
    worker.process.stdin.close()  # without the last word
    assert worker.receive() is None
    assert worker.process.wait() == 0
    worker.close()
    _repaired(crashed.config, crashed.home, dump(_twin(crashed)))


def _twin(tree: Tree) -> Path:
    twin = Tree(tree.config, tree.home.with_name("twin"))
    twin.sync()
    return twin.home
