"""`verify --repair` heals a damaged record from its readable parts and the sources, in one command, and says what it cannot heal."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hansard.errors import StoreCorrupt
from hansard.model.store_requests import VerifyRequest
from hansard.record.store import Record
from hansard.storage.sqlite import PAGE_SIZE, checksum_vfs, connect
from hansard.sync.remarking import naming, remark
from hansard.sync.verify import verify
from tests.record.making import chunk_pages, flip_bit
from tests.sync.dumping import assert_same, dump
from tests.sync.hard import OLD, files
from tests.sync.making import Tree, main_path

if TYPE_CHECKING:
    from hansard.record.verify import VerifyReport

pytestmark = [
    pytest.mark.usefixtures("at_rest"),
    pytest.mark.skipif(checksum_vfs() is None, reason="this apsw carries no cksumvfs"),
]


@pytest.fixture
def synced(tree: Tree) -> Tree:
    for path, content in files().items():
        tree.write(path, content)
    tree.sync()
    remark(str(tree.home), naming(OLD, "Mine"))
    return tree


def repaired(tree: Tree) -> VerifyReport:
    return verify(str(tree.home), tree.roots, VerifyRequest(repair=True))


def pages_of(home: Path, *names: str) -> list[int]:
    """The numbers of the pages of some tables, from 0."""
    with closing(connect(str(home / "record.db"), readonly=True)) as db:
        rows = db.execute("SELECT pageno, name FROM dbstat").fetchall()
    return [int(page) - 1 for page, name in rows if name in names]  # type: ignore[arg-type]


def spoil(home: Path, pages: list[int], dice: random.Random) -> None:
    """Fill pages with noise, as a lost sector does."""
    with (home / "record.db").open("r+b") as file:
        for page in pages:
            file.seek(page * PAGE_SIZE)
            file.write(dice.randbytes(PAGE_SIZE))


def sources(tree: Tree) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(tree.config)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in tree.config.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    "table",
    "sqlite_schema store root file generation chunk content snapshot revision entry sqlite_autoindex_chunk_1 sqlite_autoindex_file_1".split(),
)
def test_a_lost_page_of_any_table_is_healed_from_the_sources(synced: Tree, table: str) -> None:
    expected, before = dump(synced.home), sources(synced)
    spoil(synced.home, pages_of(synced.home, table)[:1], random.Random(table))
    damaged = (synced.home / "record.db").read_bytes()
    report = repaired(synced)
    assert (report.mismatches, report.repaired > 0) == ([], True)
    assert_same(expected, dump(synced.home))
    assert report.damaged_copy is not None
    assert Path(report.damaged_copy).read_bytes() == damaged
    assert sources(synced) == before
    with Record.open(str(synced.home / "record.db"), readonly=True) as record:
        kept = {item.path: b"".join(record.read(item.id)) for item in record.generations() if item.current}
        assert [item.value for item in record.remarks()] == ["Mine"]
    assert kept == {path: before[path][0] for path in kept}
    assert verify(str(synced.home), synced.roots, VerifyRequest(full=True)).mismatches == []


def test_a_healed_record_goes_on_in_the_same_chain(synced: Tree) -> None:
    with Record.open(str(synced.home / "record.db"), readonly=True) as record:
        noted = str(record.head())
    dice = random.Random(1)
    spoil(synced.home, pages_of(synced.home, "chunk", "content"), dice)
    assert repaired(synced).mismatches == []
    assert verify(str(synced.home), synced.roots, VerifyRequest(since=noted)).mismatches == []


@pytest.mark.parametrize("bit", range(0, 400, 41))
def test_a_remark_is_the_only_copy_and_is_corrected(synced: Tree, bit: int) -> None:
    (page,) = pages_of(synced.home, "remark")
    flip_bit(synced.home / "record.db", ((page + 1) * PAGE_SIZE - 8) * 8 - 1 - bit)
    assert repaired(synced).mismatches == []
    with Record.open(str(synced.home / "record.db"), readonly=True) as record:
        assert [(item.session_id, item.value) for item in record.remarks()] == [(OLD, "Mine")]


def test_what_no_source_has_is_reported_and_the_rest_healed(synced: Tree) -> None:
    gone = synced.place(main_path(OLD))
    before = gone.read_bytes()
    gone.unlink()
    synced.sync()
    spoil(synced.home, chunk_pages(synced.home / "record.db"), random.Random(2))
    report = repaired(synced)
    assert {item.path for item in report.mismatches} == {main_path(OLD)}
    assert [(item.path, item.offset) for item in repaired(synced).mismatches] == [(main_path(OLD), 0)]
    gone.write_bytes(before)
    synced.sync()
    assert repaired(synced).mismatches == []


def test_a_record_of_which_nothing_can_be_read_is_made_from_the_sources(synced: Tree) -> None:
    record = synced.home / "record.db"
    record.write_bytes(random.Random(3).randbytes(record.stat().st_size))
    with pytest.raises(StoreCorrupt, match="hansard verify --repair"):
        synced.sync()
    report = repaired(synced)
    assert [item.path for item in report.mismatches] == [str(record)]
    assert "nothing of it could be read" in report.mismatches[0].reason
    assert repaired(synced).mismatches == []
    twin = Tree(synced.config, synced.home.with_name("twin"))
    twin.sync()
    expected, found = dump(twin.home), dump(synced.home)
    assert_same(expected, found)


def test_the_last_writes_are_not_lost_with_the_log_of_the_record(synced: Tree) -> None:
    """What is still in the write-ahead log counts too, and the old log is not applied to the new record."""
    held = connect(str(synced.home / "record.db"), readonly=True)
    held.execute("SELECT count(*) FROM chunk").fetchall()
    synced.append(main_path(OLD), b'{"type":"system"}\n')
    synced.sync()
    remark(str(synced.home), naming(OLD, "Later"))
    copy = Tree(synced.config, shutil.copytree(synced.home, synced.home.with_name("copy")))
    held.close()
    assert (copy.home / "record.db-wal").stat().st_size
    expected = dump(copy.home)
    spoil(copy.home, pages_of(copy.home, "content")[:1], random.Random(4))  # not among the pages in the log
    report = repaired(copy)
    assert report.mismatches == []
    assert_same(expected, dump(copy.home))
    assert report.damaged_copy is not None
    assert Path(report.damaged_copy + "-wal").stat().st_size


def test_a_flipped_bit_in_the_log_of_the_record_is_noticed(synced: Tree) -> None:
    """SQLite ends the log at a frame that does not fit, without a word."""
    held = connect(str(synced.home / "record.db"), readonly=True)
    held.execute("SELECT count(*) FROM chunk").fetchall()
    synced.append(main_path(OLD), b'{"type":"system"}\n')
    synced.sync()
    copy = Tree(synced.config, shutil.copytree(synced.home, synced.home.with_name("copy")))
    held.close()
    (copy.home / "record.db-shm").unlink()
    expected = dump(copy.home)
    flip_bit(copy.home / "record.db-wal", 400 * 8)
    found = verify(str(copy.home), copy.roots, VerifyRequest()).mismatches
    assert ["its last writes are lost" in item.reason for item in found] == [True]
    assert repaired(copy).mismatches == []
    assert_same(expected, dump(copy.home))


def test_a_file_system_without_hard_links(synced: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(synced.home, chunk_pages(synced.home / "record.db"), random.Random(5))
    damaged = (synced.home / "record.db").read_bytes()

    def refuse(*_: object) -> None:
        raise OSError(1, "not here")

    monkeypatch.setattr("hansard.sync.repair.os.link", refuse)
    report = repaired(synced)
    assert report.mismatches == []
    assert report.damaged_copy is not None
    assert Path(report.damaged_copy).read_bytes() == damaged
    if os.name != "nt":
        assert Path(report.damaged_copy).stat().st_mode & 0o777 == 0o600


def test_what_a_killed_verification_left_is_removed_by_the_next_sync(synced: Tree) -> None:
    for name in ("index.db.check", "index.db.check-wal", "text.db.check", "record.db.repaired.partial"):
        (synced.home / name).write_bytes(b"unfinished")
    sample = synced.home / "verify-abc"
    sample.mkdir()
    (sample / "index.db").touch()
    mine = synced.home / "notes.check"
    mine.touch()
    synced.append(main_path(OLD), b'{"type":"system"}\n')
    synced.sync()
    left = {path.name for path in synced.home.iterdir()}
    assert not {name for name in left if ".db.check" in name or "partial" in name or name.startswith("verify-")}
    assert mine.exists()
