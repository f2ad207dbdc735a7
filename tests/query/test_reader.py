from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from hansard.errors import StoreCorrupt, StoreUnusable
from hansard.index.schema import VERSION
from hansard.query.reader import Reader
from hansard.storage.sqlite import checksum_vfs, connect, reserve_checksums
from tests.record.making import flip_bit
from tests.sync.making import Tree, main_path, session, user


def write_text(home: Path, version: int) -> None:
    db = connect(str(home / "text.db"), flags=apsw.SQLITE_OPEN_CREATE)
    reserve_checksums(db)
    db.execute("CREATE TABLE t (a)")
    db.pragma("user_version", version)
    db.close()


def test_a_full_text_of_another_version_is_the_same_trouble_every_time(tmp_path: Path) -> None:
    write_text(tmp_path, VERSION + 1)
    reader = Reader(str(tmp_path))
    for _ in range(3):
        with pytest.raises(StoreUnusable, match="another version"):
            _ = reader.has_text
    reader.close()


@pytest.mark.parametrize(("version", "is_there"), [(None, False), (0, False), (VERSION, True)])
def test_a_full_text_that_is_just_being_made_is_not_there_yet(
    tmp_path: Path, version: int | None, is_there: bool
) -> None:
    if version is not None:
        write_text(tmp_path, version)
    reader = Reader(str(tmp_path))
    assert reader.has_text is is_there
    assert reader.has_text is is_there
    reader.close()


@pytest.mark.parametrize(("version", "is_there"), [(0, False), (VERSION, True), (VERSION + 1, None)])
def test_the_full_text_may_be_asked_for_first_inside_a_transaction(
    tree: Tree, version: int, is_there: bool | None
) -> None:
    tree.write(main_path(session(1)), [user(session(1), "u", "A word.")])
    tree.sync()
    (tree.home / "text.db").unlink()
    write_text(tree.home, version)
    reader = Reader(str(tree.home))
    with reader.at_once():
        assert reader.one("SELECT count(*) FROM sessions") == (1,)
        for _ in range(2):
            if is_there is None:
                with pytest.raises(StoreUnusable, match="another version"):
                    _ = reader.has_text
            else:
                assert reader.has_text is is_there
        assert reader.one("SELECT count(*) FROM sessions") == (1,)
    (tree.home / "text.db").unlink()
    write_text(tree.home, VERSION)
    assert reader.has_text
    reader.close()


def test_a_mistake_in_our_own_sql_is_not_told_as_a_damaged_file(tmp_path: Path) -> None:
    reader = Reader(str(tmp_path))
    for sql in ("SELECT nothing FROM sessions", "SELECT 1 FROM no_table_of_ours", "SELEC", "SELECT no_function()"):
        with pytest.raises(apsw.SQLError):
            reader.one(sql)
    reader.close()


def test_an_index_that_lacks_a_table_is_damaged(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "index.db"))
    db.execute("CREATE TABLE t (a)")
    db.pragma("user_version", VERSION)
    db.close()
    reader = Reader(str(tmp_path))
    with pytest.raises(StoreCorrupt, match="hansard rebuild"):
        reader.one("SELECT 1 FROM sessions")
    reader.close()


@pytest.mark.skipif(checksum_vfs() is None, reason="this apsw carries no cksumvfs")
@pytest.mark.parametrize("byte", [3, 18, 20, 60, 5000])
def test_a_flipped_bit_in_the_first_page_is_damage(tree: Tree, byte: int) -> None:
    """Byte 20 says whether pages have checksums at all."""
    tree.write(main_path(session(1)), [user(session(1), "u", "A word.")])
    tree.sync()
    for bit in range(8):
        flip_bit(tree.home / "index.db", byte * 8 + bit)
        reader = Reader(str(tree.home))
        with pytest.raises((StoreCorrupt, StoreUnusable)), reader.at_once():
            reader.one("SELECT count(*) FROM sessions")
        reader.close()
        flip_bit(tree.home / "index.db", byte * 8 + bit)


def test_an_index_of_another_version_says_so(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "index.db"))
    db.execute("CREATE TABLE t (a)")
    db.pragma("user_version", VERSION + 1)
    db.close()
    with pytest.raises(StoreUnusable, match="another version"):
        Reader(str(tmp_path)).one("SELECT 1 FROM sessions")
