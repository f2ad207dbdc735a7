"""What a sync looks at, what it tells, and what it leaves alone."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from hansard.clients.roots import open_roots
from hansard.record.store import Record
from hansard.storage.sqlite import connect
from hansard.sync import run, text
from hansard.sync.rebuild import rebuild
from hansard.sync.report import Progress, SyncRequest
from hansard.sync.run import sync
from tests.sync.dumping import assert_same, dump
from tests.sync.hard import FIRST, OLD, files
from tests.sync.making import FOLDER, Tree, main_path, session, user

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def full(tree: Tree) -> Tree:
    for path, content in files().items():
        tree.write(path, content)
    return tree


def _snapshot(folder: Path) -> dict[str, Any]:
    """Everything about a tree but the times of reading."""
    found: dict[str, Any] = {}
    for path in sorted([folder, *folder.rglob("*")]):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[path.as_posix()] = (
            status.st_mode,
            status.st_mtime_ns,
            status.st_ino,
            status.st_nlink,
            status.st_size,
            content,
        )
    return found


def test_the_source_is_never_touched(full: Tree) -> None:
    before = _snapshot(full.config)
    full.sync()
    full.sync()
    full.sync(only=[str(full.place(main_path(OLD)))])
    rebuild(str(full.home), workers=False)
    (full.home / "index.db").unlink()
    full.sync(workers=True)
    assert _snapshot(full.config) == before


@pytest.mark.usefixtures("at_rest")
def test_the_report(full: Tree) -> None:
    report = full.sync()
    logs = [path for path in files() if path.endswith(".jsonl")]
    assert report.transcripts == len(logs)
    assert report.changed == len(files())
    assert report.bytes_read == sum(map(len, files().values()))
    assert report.records == full.rows("SELECT sum(records) FROM transcripts")[0][0]
    assert report.issues == full.rows("SELECT sum(count) FROM issues")[0][0] > 4
    assert replace(full.sync(), seconds=0) == replace(report, changed=0, bytes_read=0, records=0, issues=0, seconds=0)


@pytest.mark.usefixtures("at_rest")
def test_nothing_is_written_or_locked_when_nothing_changed(full: Tree) -> None:
    full.sync()
    before = {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in full.home.iterdir()}
    (full.home / "sync.lock").unlink()
    full.sync()
    assert not (full.home / "sync.lock").exists()
    before.pop("sync.lock")
    after = {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in full.home.iterdir()}
    for name in ("record.db", "index.db", "text.db"):
        assert after[name] == before[name]


def test_only_the_files_that_are_named(full: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    full.sync()
    full.append(main_path(OLD), [user(OLD, "n1", "One.", 9)])
    full.append(main_path(FIRST), b'\n{"type":"no')
    monkeypatch.setattr(run, "survey", None)  # no walk
    report = full.sync(only=[str(full.place(main_path(OLD))), str(full.config / "settings.json.tmp"), "/elsewhere"])
    assert report.changed == 1
    assert report.transcripts == len([path for path in files() if path.endswith(".jsonl")])
    assert full.sync(only=[str(full.place(main_path(OLD)))]).changed == 0


@pytest.mark.parametrize("what", ["file", "folder", "new folder"])
def test_a_walk_where_names_do_not_tell(full: Tree, what: str) -> None:
    full.sync()
    if what == "file":
        changed = full.place(main_path(OLD))
        changed.unlink()
        assert full.sync(only=[str(changed)]).gone == 1
    elif what == "folder":
        changed = full.config / FOLDER / FIRST
        inside = len([path for path in files() if f"/{FIRST}/" in path])
        shutil.rmtree(changed)
        assert full.sync(only=[str(changed)]).gone == inside
    else:
        changed = full.config / "projects" / "-new"
        full.write(f"projects/-new/{session(50)}.jsonl", [user(session(50), "n1", "One.", 9)])
        assert full.sync(only=[str(changed)]).changed == 1


def test_the_first_sync_of_a_root_walks_it_all(full: Tree) -> None:
    assert full.sync(only=[str(full.place(main_path(OLD)))]).changed == len(files())


def test_two_roots_with_copies_of_a_session(full: Tree, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(full.config, copy)
    with (copy / main_path(OLD)).open("ab") as file:
        file.write(b'{"type":"custom-title","customTitle":"The copy went on","sessionId":"%s"}\n' % OLD.encode())
    os.utime(copy / main_path(OLD), ns=(10**18, 10**18))
    one, other = tmp_path / "one", tmp_path / "other"
    paths = [str(full.config), str(copy)]
    sync(str(one), open_roots(paths), SyncRequest(workers=False))
    sync(str(other), open_roots(paths[1:]), SyncRequest(workers=False))
    sync(str(other), open_roots(paths), SyncRequest(workers=False))
    assert_same(dump(one), dump(other))  # in whatever order the roots came
    single = Tree(full.config, tmp_path / "single")
    single.sync()
    assert dump(single.home)["session_usage"] == dump(one)["session_usage"]
    full.home = one
    assert full.rows("SELECT title, transcripts FROM sessions WHERE session_id = ?", OLD) == [("The copy went on", 2)]


@pytest.mark.usefixtures("at_rest")
def test_small_files_over_the_limit_are_left_out_and_listed(tree: Tree) -> None:
    path = f"{FOLDER}/{FIRST}/tool-results/large.txt"
    tree.write(path, b"x" * 2000)
    tree.write(main_path(FIRST), [user(FIRST, "u1", "x" * 3000)])
    tree.write(f"{FOLDER}/page.html", b"<p>")

    def left_out() -> dict[str, int]:
        with Record.open(str(tree.home / "record.db"), readonly=True) as record:
            return {row.path: row.size for row in record.left_out()}

    assert tree.sync(max_file=1000).changed == 1  # logs have no limit
    assert left_out() == {path: 2000, f"{FOLDER}/page.html": 3}
    (tree.home / "sync.lock").unlink()
    tree.sync(max_file=1000)
    assert not (tree.home / "sync.lock").exists()  # known and noted: nothing to do
    tree.write(path, b"x" * 2500)
    tree.sync(max_file=1000, only=[str(tree.place(path))])
    assert left_out()[path] == 2500
    assert tree.sync(max_file=5000).changed == 1
    assert left_out() == {f"{FOLDER}/page.html": 3}
    assert tree.rows("SELECT size FROM side_files") == [(2500,)]


def test_a_touched_file_is_compared_and_nothing_more(full: Tree) -> None:
    full.sync()
    place = full.place(main_path(OLD))
    os.utime(place, ns=(1_750_000_000_000_000_000,) * 2)
    note = full.place(f"{FOLDER}/{FIRST}/tool-results/toolu_edit.txt")
    os.utime(note, ns=(1_750_000_000_000_000_000,) * 2)
    assert full.sync().changed == 0
    assert full.rows("SELECT mtime FROM transcripts WHERE path = ?", main_path(OLD)) == [(1_750_000_000_000,)]
    dates = "SELECT mtime FROM side_files WHERE path LIKE '%toolu_edit.txt'"
    assert full.rows(dates) == [(1_750_000_000_000,)]
    # As after a crash between the two databases:
    with closing(connect(str(full.home / "index.db"))) as db:
        db.execute(
            "UPDATE side_files SET mtime = 0; UPDATE transcripts SET mtime = 0; UPDATE meta SET value = 0 WHERE name = 'revision'"
        )
    full.sync()
    assert full.rows(dates) == [(1_750_000_000_000,)]
    assert full.rows("SELECT count(*) FROM transcripts WHERE mtime = 0") == [(0,)]


@pytest.mark.parametrize("workers", [False, True])
def test_progress(full: Tree, monkeypatch: pytest.MonkeyPatch, workers: bool) -> None:
    told: list[tuple[str, int, int, int, int]] = []

    def listen(progress: Progress) -> None:
        told.append((progress.phase, progress.files, progress.files_total, progress.bytes, progress.bytes_total))

    monkeypatch.setattr(text, "WORKER_BYTES", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    full.sync(workers=workers, listener=listen)
    total = sum(map(len, files().values()))
    assert told[0] == ("reading", 0, len(files()), 0, total)
    assert ("reading", len(files()), len(files()), total, total) in told
    assert [phase for number, (phase, *_) in enumerate(told) if number == 0 or told[number - 1][0] != phase] == [
        "reading",
        "indexing",
        "text",
    ]
    told.clear()
    rebuild(str(full.home), listen, workers=workers)
    assert [phase for number, (phase, *_) in enumerate(told) if number == 0 or told[number - 1][0] != phase] == [
        "indexing",
        "text",
    ]
    logs = {path: len(content) for path, content in files().items() if path.endswith(".jsonl")}
    assert ("indexing", len(logs), len(logs), sum(logs.values()), sum(logs.values())) in told
    for phase, done, of, size, total in told:
        assert 0 <= done <= of, phase
        assert 0 <= size <= total, phase
    assert told[-1][3] == told[-1][4]


def test_a_listener_that_stops_the_sync_leaves_a_good_store(full: Tree) -> None:
    def stop(progress: Progress) -> None:
        if progress.phase == "text":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        full.sync(listener=stop)
    full.sync()
    twin = Tree(full.config, full.home.with_name("twin"))
    twin.sync()
    assert_same(dump(twin.home), dump(full.home))
