"""What the check of the databases finds, and how much it reads of a large full text."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import apsw
import pytest

import hansard
from hansard.index.schema import VERSION, text_tables
from hansard.query import diagnosis
from hansard.query.diagnosis import CheckedPages, check_pages, is_damaged
from hansard.storage import sqlite
from hansard.storage.sqlite import PAGE_SIZE, connect, reserve_checksums
from tests.counting import counted
from tests.sync.forking import talk
from tests.sync.making import Tree, main_path, session

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = 2500


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose full text has many leaves."""
    home = tmp_path_factory.mktemp("large")
    dice = random.Random(7)
    db = connect(str(home / "text.db"), flags=apsw.SQLITE_OPEN_CREATE)
    reserve_checksums(db)
    db.execute(text_tables())
    with db:
        db.pragma("user_version", VERSION)
        db.executemany(
            "INSERT INTO work (rowid, body, mark) VALUES (?, ?, 'kindresult')",
            ((number, " ".join(f"w{dice.randrange(1 << 40):x}" for _ in range(60))) for number in range(DOCUMENTS)),
        )
    db.close()
    return home


@pytest.fixture
def store(large: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    shutil.copy(large / "text.db", tmp_path / "text.db")
    return tmp_path


def _leaves(home: Path) -> list[int]:
    db = connect(str(home / "text.db"), flags=apsw.SQLITE_OPEN_CREATE)
    found = [row[0] for row in db.execute("SELECT id FROM work_data WHERE id > 10 ORDER BY id")]
    db.close()
    return found


def _spoil(home: Path, leaf: int) -> None:
    """Put nonsense into the middle of a leaf; for SQLite it is a blob like any other."""
    db = connect(str(home / "text.db"), flags=apsw.SQLITE_OPEN_CREATE)
    block = db.execute("SELECT block FROM work_data WHERE id = ?", (leaf,)).get
    assert isinstance(block, bytes)
    spoilt = block[:40] + b"\xff" * (len(block) - 80) + block[-40:]
    db.execute("UPDATE work_data SET block = ? WHERE id = ?", (spoilt, leaf))
    db.close()


def test_a_sound_store(tree: Tree) -> None:
    tree.write(main_path(session(1)), talk(session(1), "talk", 5))
    tree.sync()
    assert not any(is_damaged(str(tree.home), name) for name in ("index.db", "text.db", "missing.db"))


@pytest.mark.parametrize("name", ["index.db", "text.db"])
def test_a_page_is_overwritten(tree: Tree, name: str) -> None:
    tree.write(main_path(session(1)), talk(session(1), "talk", 5))
    tree.sync()
    path = tree.home / name
    data = bytearray(path.read_bytes())
    used = [start for start in range(8192, len(data), 8192) if data[start] in (2, 5, 10, 13)]
    start = used[len(used) // 2]
    data[start : start + 8192] = b"\xa5" * 8192
    path.write_bytes(data)
    assert is_damaged(str(tree.home), name)


def test_all_words_of_a_small_full_text_are_checked(store: Path) -> None:
    assert not is_damaged(str(store), "text.db")
    leaves = _leaves(store)
    _spoil(store, leaves[len(leaves) // 3])
    assert is_damaged(str(store), "text.db")


def test_a_large_full_text_is_checked_by_samples(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_ALL_WORDS", 0)
    assert not is_damaged(str(store), "text.db")
    # A run of damaged leaves is met, wherever it is.
    leaves = _leaves(store)
    apart = len(leaves) // diagnosis._PROBES + 2
    begin = random.Random(3).randrange(len(leaves) - 3 * apart)
    for leaf in leaves[begin : begin + 3 * apart]:
        _spoil(store, leaf)
    assert is_damaged(str(store), "text.db")


def test_the_samples_do_not_grow_with_the_text(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_ALL_WORDS", 0)
    assert len(_leaves(large)) > 2 * diagnosis._PROBES
    with counted() as work:
        assert not is_damaged(str(large), "text.db")
    probes = work.statements['SELECT cnt FROM temp."work_words" WHERE term >= ? LIMIT ?']
    assert diagnosis._PROBES <= probes <= 2 * diagnosis._PROBES


# -- large databases, a part at a time


@pytest.fixture
def some_pages(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A store whose databases count as large: three pages are a part."""
    tree.write(main_path(session(1)), talk(session(1), "talk", 5))
    tree.sync()
    monkeypatch.setattr(diagnosis, "_ALL_PAGES", 3)
    return tree


@pytest.mark.parametrize("name", ["record.db", "index.db", "text.db"])
def test_parts_follow_each_other_and_begin_again(some_pages: Tree, name: str) -> None:
    home, total = str(some_pages.home), (some_pages.home / name).stat().st_size // 8192
    parts = [check_pages(home, name) for _ in range(-(-total // 3) + 1)]
    assert parts[0] == CheckedPages(1, 3, total)
    assert parts[1] == CheckedPages(4, min(6, total), total)
    assert parts[-2] is not None
    assert parts[-2].last == total
    assert parts[-1] == parts[0]


def test_a_small_database_is_checked_as_a_whole(tree: Tree) -> None:
    tree.write(main_path(session(1)), talk(session(1), "talk", 5))
    tree.sync()
    assert check_pages(str(tree.home), "index.db") is None
    assert check_pages(str(tree.home), "missing.db") is None


@pytest.mark.parametrize("written", [b"\xa5" * 8192, bytes(8192)])
@pytest.mark.parametrize("name", ["record.db", "index.db", "text.db"])
def test_a_damaged_page_is_found_when_its_part_comes(some_pages: Tree, name: str, written: bytes) -> None:
    home, path = str(some_pages.home), some_pages.home / name
    data = bytearray(path.read_bytes())
    page = max(start for start in range(8192, len(data), 8192) if data[start] in (2, 5, 10, 13)) // 8192
    data[page * 8192 : (page + 1) * 8192] = written
    path.write_bytes(data)
    for first in range(0, page // 3 * 3, 3):
        assert check_pages(home, name) == CheckedPages(first + 1, first + 3, len(data) // 8192)
    assert [check_pages(home, name), check_pages(home, name)] == [None, None]  # it is not passed over
    with hansard.open(some_pages.home) as h:
        assert not h.doctor().is_healthy


def test_doctor_says_which_part_it_checked(some_pages: Tree) -> None:
    with hansard.open(some_pages.home) as h:
        first, second = ([item.text for item in h.doctor().findings if "pages" in item.text] for _ in range(2))
    assert [text.partition(" of ")[0] for text in first] == [
        "pages 1 to 3", "index.db: pages 1 to 3", "text.db: pages 1 to 3",
    ]  # fmt: skip
    assert all("pages 4 to" in text and "hansard verify" in text for text in second)


def test_the_page_that_sqlite_never_writes_has_no_checksum(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write(main_path(session(1)), talk(session(1), "talk", 5))
    tree.sync()
    path = tree.home / "index.db"
    data = bytearray(path.read_bytes())
    data[3 * PAGE_SIZE : 4 * PAGE_SIZE] = bytes(PAGE_SIZE)
    path.write_bytes(data)
    assert not sqlite.pages_match(str(path), 2, 3)
    monkeypatch.setattr(sqlite, "_LOCKED", 3 * PAGE_SIZE)
    assert sqlite.pages_match(str(path), 2, 3)
