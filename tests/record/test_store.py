from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import apsw
import pytest
from msgspec.structs import astuple

from hansard.errors import StoreBusy, StoreCorrupt, StoreNewer, StoreUnusable
from hansard.record import schema
from hansard.record.schema import CHUNK, SCHEMA, Migration
from hansard.record.store import GONE, LIVE, Record
from hansard.sources.tail import Mark, settled
from hansard.storage.sqlite import PAGE_SIZE, checksum_vfs, connect, is_checksummed, page_checksum
from tests.record.making import LOG, NOTE, flip_bit, keep_log, keep_more, keep_whole, mark, whole

if TYPE_CHECKING:
    from pathlib import Path

posix_only = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
not_root = pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user")


def files_in(directory: Path) -> dict[str, bytes]:
    """All that is stored; SQLite's shared memory and an empty log hold nothing."""
    found = {path.name: path.read_bytes() for path in directory.iterdir() if not path.name.endswith("-shm")}
    return {name: content for name, content in found.items() if content}


@posix_only
def test_all_files_are_private_from_the_start(place: Path) -> None:
    before = os.umask(0)
    try:
        with Record.open(str(place)) as record:
            keep_log(record, b"line\n")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in place.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"record.db": 0o600, "record.db-wal": 0o600, "record.db-shm": 0o600}
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700


def test_a_store_keeps_its_identity_and_counts_its_writes(place: Path) -> None:
    with Record.open(str(place)) as record:
        first = record.store_id
        assert record.revision() == 0
        keep_log(record, b"line\n")
        assert record.revision() == 1
        with record.writing():
            record.root_id("/src/.claude", ".claude")
        assert record.revision() == 1, "nothing was changed"
    with Record.open(str(place), readonly=True) as record:
        assert (record.store_id, record.revision()) == (first, 1)
    with Record.open(str(place.with_name("other.db"))) as other:
        assert other.store_id != first


def test_durability_settings(record: Record) -> None:
    assert record._db.pragma("journal_mode") == "wal"
    assert record._db.pragma("synchronous") == 2
    assert record._db.pragma("application_id") == schema.APPLICATION_ID
    assert record._db.pragma("user_version") == schema.MIGRATIONS[-1].version
    assert record._db.pragma("page_size") == PAGE_SIZE


def test_every_table_and_column_of_the_layout_is_explained() -> None:
    body = [line for line in SCHEMA.splitlines() if line and not line.startswith((")", "CREATE INDEX", "--"))]
    for number, line in enumerate(SCHEMA.splitlines()):
        if line.startswith("CREATE TABLE"):
            assert SCHEMA.splitlines()[number - 1].startswith("-- "), line
    obvious = ("  id ", "  root_id ", "  file_id ", "  generation_id ", "  content_id ", "  started_at ", "  size ")
    for line in body:
        if not line.startswith(("CREATE TABLE", "  UNIQUE", "  PRIMARY KEY", *obvious)):
            assert "-- " in line, line


def test_writing_is_all_or_nothing(record: Record) -> None:
    generation = keep_log(record, b"kept\n")

    def fail() -> None:
        with record.writing():
            record.append(generation, b"lost\n")
            record.leave_out(1, "projects/x/big", 9, "too large")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert whole(record, generation) == b"kept\n"
    assert record.left_out() == []
    assert record.revision() == 1
    keep_more(record, generation, b"more\n")
    assert whole(record, generation) == b"kept\nmore\n"


def test_changes_need_a_transaction(record: Record) -> None:
    with pytest.raises(RuntimeError, match="inside"):
        record.root_id("/new", "new")
    with pytest.raises(RuntimeError, match="inside"):
        record.start_generation(1, LOG, "main", "new")
    with pytest.raises(RuntimeError, match="already open"), record.writing(), record.writing():
        pass
    with record.writing():
        assert record.root_id("/new", "new") == 1


def test_roots(record: Record) -> None:
    odd = "/srv/\udcff/claude"
    with record.writing():
        ids = [record.root_id("/a", "a"), record.root_id(odd, "\udcff", "other"), record.root_id("/a", "renamed")]
    assert ids == [1, 2, 1]
    assert [astuple(root) for root in record.roots()] == [
        (1, "/a", "renamed", "claude-code"),
        (2, odd, "\udcff", "other"),
    ]


def test_known_tells_what_is_kept(record: Record) -> None:
    generation = keep_log(record, b"one\ntwo\n")
    keep_whole(record, b"note")
    keep_log(record, b"x", root="/other")
    known = record.known(1)
    assert set(known) == {LOG, NOTE}
    log, note = known[LOG], known[NOTE]
    assert (log.kind, log.state, log.generation, log.size, log.mark) == ("main", LIVE, generation, 8, mark(8))
    assert (note.kind, note.generation, note.size, note.mark) == ("tool_result", 1, 4, mark(4, 5))
    assert record.known(99) == {}


def test_known_judges_as_the_sources_do(record: Record) -> None:
    keep_log(record, b"12345678")
    known = record.known(1)[LOG]
    assert known.mark is not None
    when = known.mtime_ns
    for size, mtime_ns, inode in [(8, when, 7), (9, when, 7), (8, when + 1, 7), (8, when, 8), (8, when, 0)]:
        assert known.settled(size, mtime_ns, when, inode) == settled(known.mark, size, mtime_ns, when, inode)


SECOND_NS = 1_000_000_000


@pytest.mark.parametrize("ctime", [None, 0, 100 * SECOND_NS])
@pytest.mark.parametrize("seen", [99, 100, 101, 102, 103])
@pytest.mark.parametrize("since", [90, 98, 99])
@pytest.mark.parametrize("inode", [0, 7])
def test_the_status_that_proves_a_file_unchanged_is_the_one_that_settles_it(
    record: Record, ctime: int | None, seen: int, since: int, inode: int
) -> None:
    noted = Mark(3, 100 * SECOND_NS, ctime, inode, b"h", b"l", seen * SECOND_NS, since * SECOND_NS)
    with record.writing():
        record.snapshot(record.root_id("/r", "r"), "\udcff name", "note", b"abc", noted, 0o600)
    known = record.known(1)["\udcff name"]
    status = record.settled_files(1)["\udcff name"]
    same = (3, noted.mtime_ns, ctime or 0, inode)
    assert (status == same) == known.settled(*same)
    assert status in {None, same}


def test_only_live_files_can_be_unchanged(record: Record) -> None:
    keep_log(record, b"x")
    keep_whole(record, b"note")
    with record.writing():
        record.set_state([record.known(1)[NOTE].file_id], GONE, "2026-01-01T00:00:00.000Z")
        record.append(record.start_generation(1, LOG + ".jsonl", "main", "new"), b"abc")
    when = mark(1).mtime_ns
    assert record.settled_files(1) == {LOG: (1, when, when, 7), LOG + ".jsonl": None}


def test_known_before_a_log_was_settled(record: Record) -> None:
    with record.writing():
        record.append(record.start_generation(record.root_id("/r", "r"), LOG, "main", "new"), b"abc")
    known = record.known(1)[LOG]
    assert known.mark is None
    assert not known.settled(0, 0, 0, 0)
    assert whole(record, known.generation) == b"abc"


@pytest.mark.parametrize("inode", [0, 7, (1 << 63) - 1])
def test_any_inode_comes_back(record: Record, inode: int) -> None:
    with record.writing():
        record.snapshot(record.root_id("/r", "r"), NOTE, "note", b"", mark(0, inode=inode), 0o600)
    assert record.known(1)[NOTE].mark == mark(0, inode=inode)


@pytest.mark.parametrize("name", ["ünïcode", "\udcff\udcfe raw", "\ud800 lone", "日本\udc80", "a\\udcff"])
def test_any_name_comes_back(record: Record, name: str) -> None:
    path = f"projects/{name}/x.jsonl"
    generation = keep_log(record, b"x", path)
    keep_whole(record, b"y", path + ".txt")
    with record.writing():
        record.leave_out(1, path + ".big", 1, "too large")
    assert list(record.known(1)) == [path, path + ".txt"]
    assert record.generation(generation).path == path
    assert [snapshot.path for snapshot in record.snapshots()] == [path + ".txt"]
    assert record.left_out()[0].path == path + ".big"


def test_state_goes_and_comes_back(record: Record) -> None:
    generation = keep_log(record, b"x\n")
    with record.writing():
        record.set_state([1], GONE, "2026-01-02T03:04:05Z")
    assert record.known(1)[LOG].state == GONE
    assert record.generation(generation).state == GONE
    revision = record.revision()
    with record.writing():
        record.set_state([1], GONE, "2026-02-02T03:04:05Z")
    assert record.revision() == revision, "it was gone already"
    keep_more(record, generation, b"y\n")
    assert record.known(1)[LOG].state == LIVE


def test_left_out_is_replaced(record: Record) -> None:
    with record.writing():
        root = record.root_id("/r", "r")
        record.leave_out(root, "a", 1, "too large")
        record.leave_out(root, "b", 2, "too large")
    with record.writing():
        record.leave_out(root, "b", 3, "unreadable")
        record.forget_left_out(root, keep={"b"})
    assert [astuple(row) for row in record.left_out()] == [(root, "b", 3, "unreadable")]
    revision = record.revision()
    with record.writing():
        record.leave_out(root, "b", 3, "unreadable")
        record.forget_left_out(root, keep={"b"})
    assert record.revision() == revision


# What can be wrong with the file.


def test_reading_needs_a_record(place: Path) -> None:
    with pytest.raises(StoreUnusable, match="hansard sync"):
        Record.open(str(place), readonly=True)
    assert not place.parent.exists()


def test_reading_refuses_to_write(record: Record, place: Path) -> None:
    keep_log(record, b"x")
    with (
        Record.open(str(place), readonly=True) as reader,
        pytest.raises(StoreUnusable, match="opened read-only"),
        reader.writing(),
    ):
        pass


def test_a_file_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a directory")
    with pytest.raises(StoreUnusable, match=r"not a directory.*--home"):
        Record.open(str(tmp_path / "data" / "record.db"))
    with pytest.raises(StoreUnusable, match=r"not a directory.*--home"):
        Record.open(str(tmp_path / "data" / "deeper" / "record.db"))


def test_a_directory_in_place_of_the_file(place: Path) -> None:
    place.mkdir(parents=True)
    with pytest.raises(StoreUnusable, match="a directory is where"):
        Record.open(str(place))


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(30, "Read-only file system")])
def test_a_home_that_cannot_be_written(place: Path, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def refuse(*_: object) -> int:
        raise error

    place.parent.mkdir()
    with monkeypatch.context() as closed:  # given back at once: tidying up opens directories too
        closed.setattr(os, "open", refuse)
        with pytest.raises(StoreUnusable, match=r"cannot be created \((Permission denied|Read-only).*--home"):
            Record.open(str(place))


@not_root
def test_a_home_without_permission(place: Path) -> None:
    with Record.open(str(place)) as record:
        generation = keep_log(record, b"line\n")
    place.chmod(0o400)
    place.parent.chmod(0o500)
    try:
        with Record.open(str(place), readonly=True) as record:
            assert whole(record, generation) == b"line\n"
        with pytest.raises(StoreUnusable, match="--home"), Record.open(str(place)) as record:
            keep_more(record, generation, b"more\n")
        with pytest.raises(StoreUnusable, match="--home"):
            Record.open(str(place.with_name("new.db")))
    finally:
        place.parent.chmod(0o700)


@pytest.mark.parametrize("content", [b"this is no database, but some text " * 40, b"short"])
def test_not_a_database(place: Path, content: bytes) -> None:
    place.parent.mkdir()
    place.write_bytes(content)
    for readonly in (False, True):
        with pytest.raises(StoreCorrupt, match=r"not a readable Hansard record.*restore it from a backup"):
            Record.open(str(place), readonly=readonly)
    assert files_in(place.parent) == {"record.db": content}


def test_another_programs_database(place: Path) -> None:
    place.parent.mkdir()
    with closing(apsw.Connection(str(place))) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = files_in(place.parent)
    with pytest.raises(StoreUnusable, match="another program"):
        Record.open(str(place))
    assert files_in(place.parent) == before


@pytest.mark.parametrize("part", [0.3, 0.9])
def test_a_truncated_store_is_refused_and_untouched(place: Path, part: float) -> None:
    with Record.open(str(place)) as record:
        keep_log(record, os.urandom(3 * CHUNK))
    content = place.read_bytes()
    place.write_bytes(content[: int(len(content) * part)])
    before = files_in(place.parent)
    with pytest.raises(StoreCorrupt, match=r"record\.db"):
        Record.open(str(place))
    assert files_in(place.parent) == before


def test_a_damaged_page_is_told(place: Path) -> None:
    with Record.open(str(place)) as record:
        keep_log(record, b"line\n")
        page = record._one("SELECT rootpage FROM sqlite_schema WHERE name = 'file'")[0]
    with place.open("r+b") as file:
        file.seek((page - 1) * PAGE_SIZE)
        file.write(b"\xa5" * 200)
    with Record.open(str(place)) as record, pytest.raises(StoreCorrupt, match=r"record\.db.*backup"):
        record.known(1)


@pytest.mark.skipif(checksum_vfs() is None, reason="this apsw carries no cksumvfs")
@pytest.mark.parametrize("byte", [3, 16, 18, 20, 27, 56, 97, 1000, 5000, PAGE_SIZE - 1])
def test_a_flipped_bit_in_the_first_page_is_not_taken_for_another_programs_write(place: Path, byte: int) -> None:
    """Byte 20 says whether pages have checksums at all; a program that knows of none changes more than one bit."""
    with Record.open(str(place)) as record:
        keep_log(record, b"line\n")
    for bit in range(8):
        flip_bit(place, byte * 8 + bit)
        damaged = place.read_bytes()
        for readonly in (True, False):
            with pytest.raises((StoreCorrupt, StoreNewer, StoreUnusable)):
                Record.open(str(place), readonly=readonly)
        assert place.read_bytes() == damaged
        flip_bit(place, byte * 8 + bit)


def test_a_newer_store_is_refused_and_untouched(place: Path) -> None:
    with Record.open(str(place)) as record:
        keep_log(record, b"line\n")
    # With a log that was never folded in, as after a crash of the newer program.
    db = connect(str(place))
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.pragma("user_version", schema.MIGRATIONS[-1].version + 1)
    db.close()
    before = files_in(place.parent)
    assert len(before["record.db-wal"]) > 0
    for readonly in (False, True):
        with pytest.raises(StoreNewer, match=r"newer Hansard.*Nothing was changed"):
            Record.open(str(place), readonly=readonly)
    assert files_in(place.parent) == before


def test_a_full_disk_undoes_the_step_and_leaves_the_rest(record: Record) -> None:
    generation = keep_log(record, b"kept\n")
    record._db.pragma("max_page_count", record._db.pragma("page_count") + 8)
    with pytest.raises(StoreUnusable, match=r"no space left.*intact"):
        keep_more(record, generation, os.urandom(4 * CHUNK))
    assert whole(record, generation) == b"kept\n"
    assert record.revision() == 1
    record._db.pragma("max_page_count", 1 << 30)
    keep_more(record, generation, b"more\n")
    assert whole(record, generation) == b"kept\nmore\n"


def test_a_failed_write_that_is_caught_still_undoes_the_step(record: Record) -> None:
    generation = keep_log(record, b"kept\n")
    record._db.pragma("max_page_count", record._db.pragma("page_count") + 8)

    def go_on_after_failure() -> None:
        with record.writing():
            with suppress(StoreUnusable):
                record.append(generation, os.urandom(4 * CHUNK))
            with suppress(StoreUnusable):
                record.leave_out(1, "projects/x/big", 9, "too large")

    with pytest.raises(StoreUnusable, match="all of it is undone"):
        go_on_after_failure()
    assert (record.left_out(), record.revision(), whole(record, generation)) == ([], 1, b"kept\n")


def test_a_busy_store_says_so_and_readers_do_not_wait(record: Record, place: Path) -> None:
    generation = keep_log(record, b"kept\n")
    with Record.open(str(place), busy_seconds=0.01) as other:
        with record.writing():
            record.append(generation, b"more\n")
            with pytest.raises(StoreBusy, match=r"another process.*run this again"), other.writing():
                pass
            assert whole(other, generation) == b"kept\n"
        assert whole(other, generation) == b"kept\nmore\n"


def test_two_processes_may_create_it_together(place: Path) -> None:
    script = f"from hansard.record.store import Record; r = Record.open({str(place)!r}); print(r.store_id)"
    running = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    answers = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0] * 4
    assert len(answers) == 1


def test_an_unchanged_store_is_looked_at_without_zstandard(record: Record, place: Path) -> None:
    keep_log(record, b"x\n")
    script = f"""
        import sys
        from hansard.record.store import Record
        with Record.open({str(place)!r}) as record:
            assert record.known(1) and list(record.generations())
        assert "zstandard" not in sys.modules, "imported too early"
        assert not [name for name in ("urllib.parse", "tempfile") if name in sys.modules]
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


# Layout changes.

NEXT = schema.MIGRATIONS[-1].version + 1
SECOND = Migration(NEXT, "test only: count the visits", "ALTER TABLE root ADD COLUMN visits INTEGER NOT NULL DEFAULT 3")
BROKEN = Migration(NEXT, "test only: fails half way", "CREATE TABLE half (x) STRICT; SELECT no_such_function()")


def test_a_migration_keeps_a_backup(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Record.open(str(place)) as record:
        generation = keep_log(record, b"line\n" * 1000)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, SECOND))
    with pytest.raises(StoreUnusable, match=r"older layout.*hansard sync"):
        Record.open(str(place), readonly=True)
    with Record.open(str(place)) as record:
        assert record._db.pragma("user_version") == NEXT
        assert record._one("SELECT visits FROM root")[0] == 3
        assert whole(record, generation) == b"line\n" * 1000
    monkeypatch.undo()
    (backup,) = place.parent.glob("*.backup")
    if os.name == "posix":
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with Record.open(str(backup), readonly=True) as record:
        assert whole(record, generation) == b"line\n" * 1000
    with pytest.raises(StoreNewer):
        Record.open(str(place))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is ended in the middle")
def test_a_backup_that_was_interrupted_is_removed_by_the_next_one(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Record.open(str(place)) as record:
        keep_log(record, b"line\n" * 1000)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, SECOND))
    child = os.fork()
    if not child:
        monkeypatch.setattr(os, "replace", lambda *_: os._exit(9))
        Record.open(str(place))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    (partial,) = place.parent.glob("*.backup.*")
    with Record.open(str(place)):
        pass
    assert not partial.exists()
    assert len(list(place.parent.glob("*.backup*"))) == 1


def test_a_failed_migration_changes_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Record.open(str(place)) as record:
        generation = keep_log(record, b"line\n")
    before = files_in(place.parent)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, BROKEN))
    with pytest.raises(apsw.SQLError):  # a mistake of ours: the file is not to blame
        Record.open(str(place))
    monkeypatch.undo()
    assert files_in(place.parent) == before
    with Record.open(str(place)) as record:
        assert whole(record, generation) == b"line\n"


def test_a_new_store_takes_every_step(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, SECOND))
    with Record.open(str(place)) as record, closing(connect(str(place))) as db:
        assert db.pragma("user_version") == NEXT
        assert record.revision() == 0
    assert not list(place.parent.glob("*.backup"))


@pytest.mark.skipif(checksum_vfs() is None, reason="this apsw carries no cksumvfs")
@pytest.mark.parametrize("how", ["backup", "vacuum into"])
def test_a_copy_that_another_program_made_is_read_and_gets_its_checksums_again(
    record: Record, place: Path, how: str
) -> None:
    """SQLite's own shell knows nothing of checksums, and is what people make backups with."""
    generation = keep_log(record, b"line\n" * 100_000)
    keep_log(record, b"other\n", "projects/x/y.jsonl")
    copy = place.with_name("copy.db")
    with closing(apsw.Connection(str(place))) as db:
        if how == "vacuum into":
            db.execute("VACUUM INTO ?", (str(copy),))
        else:
            with closing(apsw.Connection(str(copy))) as target, target.backup("main", db, "main") as steps:
                steps.step(-1)
    assert not is_checksummed(str(copy))
    with Record.open(str(copy), readonly=True) as again:
        assert whole(again, generation) == b"line\n" * 100_000
    with Record.open(str(copy)) as again:
        assert whole(again, generation) == b"line\n" * 100_000
    assert is_checksummed(str(copy))
    content = copy.read_bytes()
    checked = [content[start : start + PAGE_SIZE] for start in range(0, len(content), PAGE_SIZE)]
    assert all(page_checksum(page[:-8]) == page[-8:] for page in checked)


def test_without_checksums_everything_works(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store goes from a machine whose apsw carries the extension to one whose apsw does not, and back."""
    with Record.open(str(place)) as record:
        first = keep_log(record, b"line\n" * 1000)
    monkeypatch.setattr("hansard.storage.sqlite.checksum_vfs", lambda: None)
    with Record.open(str(place)) as record:
        second = keep_log(record, b"other\n" * 1000, "projects/x/y.jsonl")
        assert whole(record, first) == b"line\n" * 1000
    monkeypatch.undo()
    with Record.open(str(place)) as record:
        assert whole(record, second) == b"other\n" * 1000
    if checksum_vfs() is not None:
        assert is_checksummed(str(place))
