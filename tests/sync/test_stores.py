"""Stores that are busy, damaged, put back, full or closed to writing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hansard.errors import StoreCorrupt, StoreUnusable
from hansard.record.store import Record
from hansard.storage.sqlite import connect
from hansard.sync.data_files import sync_lock
from hansard.sync.rebuild import rebuild
from tests.sync.dumping import Dump, assert_same, dump
from tests.sync.hard import OLD, files
from tests.sync.making import Tree, main_path, raw, session, user

PROJECT = Path(__file__).resolve().parents[2]
HOLD = """
import sys
from hansard.sync.data_files import sync_lock
with sync_lock(sys.argv[1], 5) as held:
    print(held, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def synced(tree: Tree) -> Tree:
    for path, content in files().items():
        tree.write(path, content)
    tree.sync()
    return tree


@pytest.fixture
def expected(synced: Tree) -> Dump:
    return dump(synced.home)


def test_one_sync_at_a_time(synced: Tree) -> None:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    command = [sys.executable, "-c", HOLD, str(synced.home)]
    synced.append(main_path(OLD), [user(OLD, "more", "More.", 9)])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline().strip() == b"True"
        report = synced.sync(wait_seconds=0.05)
        assert report.busy
        assert rebuild(str(synced.home), wait_seconds=0.05).busy
        assert synced.rows("SELECT prompts FROM sessions WHERE session_id = ?", OLD) == [(1,)]  # readers read on
        other.kill()  # the system lets go of a dead holder's lock
    report = synced.sync(wait_seconds=5)
    assert (report.busy, report.changed) == (False, 1)
    assert synced.rows("SELECT prompts FROM sessions WHERE session_id = ?", OLD) == [(2,)]


def test_readers_see_the_last_commit_while_a_sync_writes(synced: Tree) -> None:
    with closing(apsw.Connection(str(synced.home / "index.db"), flags=apsw.SQLITE_OPEN_READONLY)) as reader:
        reader.execute("BEGIN")
        before = reader.execute("SELECT count(*) FROM records").fetchall()
        synced.append(main_path(OLD), [user(OLD, "more", "More.", 9)])
        synced.sync()
        assert reader.execute("SELECT count(*) FROM records").fetchall() == before
        reader.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM records").fetchall() != before


def _garbage(place: Path) -> None:
    place.write_bytes(b"This was a database once." * 400)


def _cut(place: Path) -> None:
    with place.open("r+b") as file:
        file.truncate(place.stat().st_size // 2)


def _scribbled(place: Path) -> None:
    """The header is well, a page in the middle is not."""
    with closing(connect(str(place))) as db:
        db.pragma("wal_checkpoint(TRUNCATE)")
    size = place.stat().st_size
    with place.open("r+b") as file:
        for page in range(1, size // 8192):
            file.seek(page * 8192)
            file.write(b"\xaa" * 64)


def _emptied(place: Path) -> None:
    place.write_bytes(b"")


def _removed(place: Path) -> None:
    place.unlink()


def _foreign(place: Path) -> None:
    place.unlink()
    with closing(apsw.Connection(str(place))) as db:
        db.execute("CREATE TABLE notes (x)")


def _older_layout(place: Path) -> None:
    with closing(connect(str(place))) as db:
        db.execute("DROP TABLE IF EXISTS transcripts; DROP TABLE IF EXISTS cursors")


def _other_version(place: Path) -> None:
    with closing(connect(str(place))) as db:
        db.execute("PRAGMA user_version = 999")


@pytest.mark.parametrize("name", ["index.db", "text.db"])
@pytest.mark.parametrize(
    "damage", [_garbage, _cut, _scribbled, _emptied, _removed, _foreign, _older_layout, _other_version]
)
def test_a_damaged_index_is_made_again(synced: Tree, expected: Dump, name: str, damage: object) -> None:
    assert callable(damage)
    for suffix in ("-wal", "-shm"):
        (synced.home / f"{name}{suffix}").unlink(missing_ok=True)
    damage(synced.home / name)
    synced.append(main_path(OLD), b"")
    synced.sync()
    assert_same(expected, dump(synced.home))


def test_damage_on_the_way_does_not_reach_the_record(synced: Tree, expected: Dump) -> None:
    with closing(connect(str(synced.home / "index.db"))) as db:
        db.execute("DROP TABLE sessions")
    synced.append(main_path(OLD), b"")
    before = (synced.home / "record.db").stat().st_ino
    synced.sync()
    assert_same(expected, dump(synced.home))
    assert (synced.home / "record.db").stat().st_ino == before


def test_a_record_put_back_to_an_older_copy(tree: Tree) -> None:
    everything = files()
    tree.write(main_path(OLD), everything[main_path(OLD)])
    tree.sync()
    backup = tree.home.with_name("backup.db")
    with closing(apsw.Connection(str(tree.home / "record.db"))) as db:
        db.execute("VACUUM INTO ?", (str(backup),))
    for path, content in everything.items():
        tree.write(path, content)
        tree.sync()
    for suffix in ("-wal", "-shm"):
        (tree.home / f"record.db{suffix}").unlink(missing_ok=True)
    shutil.copy(backup, tree.home / "record.db")
    for path, content in everything.items():  # as many commits as the lost copy had, of other things
        tree.write(path, content.replace(b"callers", b"CALLERS"))
        tree.sync()
    found = dump(tree.home)
    rebuild(str(tree.home), workers=False)
    assert_same(dump(tree.home), found)


def test_an_upgrade_is_noticed_without_a_change_of_the_sources(synced: Tree, expected: Dump) -> None:
    for name in ("index.db", "text.db"):
        _other_version(synced.home / name)
    synced.sync()
    assert_same(expected, dump(synced.home))


def test_a_record_put_back_and_one_large_step(synced: Tree) -> None:
    """The text's file must be found unfit before the record has gone on."""
    with closing(connect(str(synced.home / "record.db"))) as db:
        db.execute("DELETE FROM entry WHERE revision_id = (SELECT max(id) FROM revision)")
        db.execute("DELETE FROM revision WHERE id = (SELECT max(id) FROM revision)")
    synced.append(main_path(OLD), [user(OLD, "more", "Unheard of.", 9)])
    with closing(connect(str(synced.home / "text.db"))) as db:
        db.execute("UPDATE cursors SET size = 1 << 30, indexed = 1 << 30")
    synced.sync()
    twin = Tree(synced.config, synced.home.with_name("twin"))
    twin.sync()
    assert_same(dump(twin.home), dump(synced.home))


def test_another_record(synced: Tree, tmp_path: Path) -> None:
    other = Tree(tmp_path / "other", tmp_path / "other store")
    other.write(main_path(session(9)), [user(session(9), "u", "Else.", 0)])
    other.sync()
    for name in ("index.db", "text.db"):
        for suffix in ("", "-wal", "-shm"):
            (other.home / f"{name}{suffix}").unlink(missing_ok=True)
        shutil.copy(synced.home / name, other.home / name)
    other.sync()
    assert other.rows("SELECT session_id FROM sessions") == [(session(9),)]


def test_a_damaged_record_is_left_alone(synced: Tree) -> None:
    place = synced.home / "record.db"
    for suffix in ("-wal", "-shm"):
        (synced.home / f"record.db{suffix}").unlink(missing_ok=True)
    _garbage(place)
    before = place.read_bytes()
    with pytest.raises(StoreCorrupt, match=r"record\.db"):
        synced.sync()
    assert place.read_bytes() == before
    assert (synced.home / "index.db").stat().st_size > 0


@pytest.mark.parametrize("name", ["index.db", "text.db"])
def test_a_full_disk(synced: Tree, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def no_more(db: apsw.Connection) -> None:
        if Path(db.filename).name == name:
            db.execute("PRAGMA max_page_count = 1")  # SQLite takes this for: no more than now

    words = [user(OLD, f"w{number}", f"word{number} " * 50, 9) for number in range(800)]
    synced.append(main_path(OLD), words)
    monkeypatch.setattr(apsw, "connection_hooks", [no_more])
    with pytest.raises(StoreUnusable, match="no space left"):
        synced.sync()
    monkeypatch.undo()
    assert synced.rows("SELECT prompts FROM sessions WHERE session_id = ?", OLD) in ([(1,)], [(801,)])
    synced.sync()
    twin = Tree(synced.config, synced.home.with_name("twin"))
    twin.sync()
    assert_same(dump(twin.home), dump(synced.home))


def test_a_full_disk_for_the_record(synced: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(db: apsw.Connection) -> None:
        if Path(db.filename).name == "record.db":
            db.execute("PRAGMA max_page_count = 1")

    noise = b"".join(raw([{"type": "noise", "x": os.urandom(3000).hex()}]) for _ in range(200))
    synced.append(main_path(OLD), noise)
    monkeypatch.setattr(apsw, "connection_hooks", [no_more])
    with pytest.raises(StoreUnusable, match="no space left"):
        synced.sync()
    monkeypatch.undo()
    assert synced.sync().changed == 1


@pytest.mark.parametrize("name", ["sync.lock", "index.db", "text.db", "record.db"])
def test_a_folder_in_the_place_of_a_file(tree: Tree, name: str) -> None:
    tree.write(main_path(OLD), files()[main_path(OLD)])
    (tree.home / name).mkdir(parents=True)
    with pytest.raises(StoreUnusable, match=str(tree.home)):
        tree.sync()
    (tree.home / name).rmdir()
    assert tree.sync().transcripts == 1


def test_a_file_in_the_place_of_the_home(tree: Tree) -> None:
    tree.home.write_bytes(b"")
    with pytest.raises(StoreUnusable, match="the data directory cannot be created"):
        tree.sync()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_home_closed_to_writing(synced: Tree) -> None:
    synced.home.chmod(0o500)
    try:
        assert synced.sync().changed == 0  # nothing to write, nothing wrong
        synced.append(main_path(OLD), [user(OLD, "more", "More.", 9)])
        with pytest.raises(StoreUnusable):
            synced.sync()
    finally:
        synced.home.chmod(0o700)


def test_what_sqlite_says_of_a_closed_home_is_told(synced: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """As above, also where root runs the tests."""

    def closed(db: apsw.Connection) -> None:
        db.execute("PRAGMA query_only = 1")

    synced.append(main_path(OLD), [user(OLD, "more", "More.", 9)])
    monkeypatch.setattr(apsw, "connection_hooks", [closed])
    with pytest.raises(StoreUnusable):
        synced.sync()


def test_files_are_private(synced: Tree) -> None:
    if os.name != "posix":
        pytest.skip("modes mean nothing here")
    assert synced.home.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in synced.home.iterdir()} == {0o600}
    rebuild(str(synced.home), workers=False)
    assert {path.stat().st_mode & 0o777 for path in synced.home.iterdir()} == {0o600}


def test_the_lock_is_let_go_after_an_error(tmp_path: Path) -> None:
    def fail_while_holding() -> None:
        with sync_lock(str(tmp_path), 0) as held:
            assert held
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_while_holding()
    with sync_lock(str(tmp_path), 0) as held:
        assert held


def test_rebuild_without_a_record(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="no record here yet"):
        rebuild(str(tmp_path))


def test_rebuild_in_two_processes(synced: Tree, expected: Dump, monkeypatch: pytest.MonkeyPatch) -> None:
    from hansard.sync import text

    monkeypatch.setattr(text, "WORKER_BYTES", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setenv("PYTHONPATH", str(PROJECT / "src"))
    shutil.rmtree(synced.config)
    report = rebuild(str(synced.home))
    with Record.open(str(synced.home / "record.db"), readonly=True) as record:
        assert report.bytes_read == sum(item.size for item in record.generations())
    assert_same(expected, dump(synced.home))
