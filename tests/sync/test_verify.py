"""A store is verified as a whole: the record, the chain of its writes, and both indexes against a fresh reading."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hansard.model.store_requests import VerifyRequest
from hansard.record.store import Record
from hansard.storage.sqlite import PAGE_SIZE, checksum_vfs, connect
from hansard.sync.verify import verify
from tests.sync.dumping import assert_same, dump
from tests.sync.hard import OLD, files
from tests.sync.making import Tree, assistant, main_path, session, user

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.record.verify import VerifyReport

pytestmark = pytest.mark.usefixtures("at_rest")
needs_checksums = pytest.mark.skipif(checksum_vfs() is None, reason="this apsw carries no cksumvfs")


@pytest.fixture
def synced(tree: Tree) -> Tree:
    for path, content in files().items():
        tree.write(path, content)
    tree.sync()
    return tree


def checked(tree: Tree, **options: Any) -> VerifyReport:
    return verify(str(tree.home), tree.roots, VerifyRequest(**options))


def test_a_sound_store(synced: Tree) -> None:
    for options in ({}, {"deep": True}, {"full": True}, {"repair": True}):
        before = {path.name: path.read_bytes() for path in synced.home.glob("*.db")}
        report = checked(synced, **options)
        assert report.mismatches == []
        assert report.rederived > 3
        assert {path.name: path.read_bytes() for path in synced.home.glob("*.db")} == before


ROWS = {
    "records": "UPDATE records SET ts = ts + 1",
    "blocks": "DELETE FROM blocks",
    "messages": "UPDATE messages SET model = 'other'",
    "tool_calls": "UPDATE tool_calls SET is_error = 1 - is_error",
    "prompts": "UPDATE prompts SET text = text || '.'",
    "issues": "DELETE FROM issues",
}
DERIVED = {
    "usage": "UPDATE usage SET output = output + 1",
    "sessions": "UPDATE sessions SET title = 'other'",
    "spending": "UPDATE spending SET input = input + 1",
    "rates": "UPDATE rates SET output = output + 1 WHERE output IS NOT NULL",
    "links": "DELETE FROM links",
    "session_files": "UPDATE session_files SET added = added + 1",
}


@pytest.mark.parametrize("table", ROWS)
def test_a_row_that_the_record_does_not_give(synced: Tree, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hansard.sync.verify.SAMPLE", 1000)
    with closing(connect(str(synced.home / "index.db"))) as db:
        db.execute(ROWS[table])
    assert any(f"table {table} " in item.reason for item in checked(synced).mismatches)


@pytest.mark.parametrize("table", ROWS | DERIVED)
def test_anything_that_the_record_does_not_give(synced: Tree, table: str) -> None:
    with closing(connect(str(synced.home / "index.db"))) as db:
        db.execute((ROWS | DERIVED)[table])
    assert any(f"table {table} " in item.reason for item in checked(synced, full=True).mismatches)
    assert not (synced.home / "index.db.check").exists()


MODELS = ("claude-opus-4-1", "claude-haiku-4-5", "claude-3-5-sonnet-20241022")


@pytest.fixture
def priced(tree: Tree) -> Tree:
    """A store whose syncs met models in another order than a rebuild, and one model that a later line replaced."""
    for number, model in [*enumerate(("zz-draft", *MODELS)), (0, MODELS[0])]:
        answer = assistant(session(number), "a", f"msg_{number}", "Yes.", number)
        answer["message"]["model"] = model
        tree.write(main_path(session(number)), [answer])
        tree.sync()
    return tree


def test_increments_leave_no_mismatch(priced: Tree) -> None:
    """Rates are numbered in the order in which syncs met them; only what they say is compared."""
    assert priced.rows("SELECT id, model FROM rates ORDER BY id") != priced.rows(
        "SELECT id, model FROM rates ORDER BY model"
    )
    assert checked(priced, full=True).mismatches == []


@pytest.mark.parametrize(
    ("change", "table"),
    [
        ("UPDATE spending SET rate = (SELECT max(id) FROM rates) WHERE rate = 1", "spending"),
        ("UPDATE spending SET rate = rate + 1000", "spending"),
        (
            "CREATE TEMP TABLE again AS SELECT * FROM rates; UPDATE again SET id = NULL; INSERT INTO rates SELECT * FROM again",
            "rates",
        ),
        ("DELETE FROM rates WHERE model = 'claude-opus-4-1'", "rates"),
    ],
)
def test_another_rate_is_a_mismatch(priced: Tree, change: str, table: str) -> None:
    with closing(connect(str(priced.home / "index.db"))) as db:
        db.execute(change)
    assert any(f"table {table} " in item.reason for item in checked(priced, full=True).mismatches)


@pytest.mark.parametrize("full", [False, True])
def test_a_text_that_is_not_found(synced: Tree, full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hansard.sync.verify.SAMPLE", 1000)
    with closing(connect(str(synced.home / "text.db"))) as db:
        db.execute("DELETE FROM talk")
    assert any("talk" in item.reason for item in checked(synced, full=full).mismatches)


def _flip(path: Path, page: int, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(page * PAGE_SIZE + at)
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 4]))


@needs_checksums
@pytest.mark.parametrize("name", ["index.db", "text.db"])
def test_a_flipped_bit_in_an_index_is_found_and_the_index_made_again(synced: Tree, name: str) -> None:
    expected = dump(synced.home)
    chance = random.Random(name)
    place = synced.home / name
    sound = place.read_bytes()
    for _ in range(12):
        place.write_bytes(sound)
        page = chance.randrange(1, len(sound) // PAGE_SIZE)
        _flip(place, page, chance.randrange(PAGE_SIZE))
        assert checked(synced).mismatches, f"page {page}"
    report = checked(synced, repair=True)
    assert (report.mismatches, report.repaired > 0) == ([], True)
    assert_same(expected, dump(synced.home))


@needs_checksums
def test_a_flipped_bit_in_the_record_is_found_wherever_it_is(synced: Tree) -> None:
    chance = random.Random(5)
    place = synced.home / "record.db"
    sound = place.read_bytes()
    for _ in range(20):
        place.write_bytes(sound)
        page = chance.randrange(1, len(sound) // PAGE_SIZE)
        _flip(place, page, chance.randrange(PAGE_SIZE))
        try:
            found = bool(checked(synced, deep=True).mismatches)
        except Exception as error:  # noqa: BLE001 - some pages are needed to open it at all
            found = "record.db" in str(error)
        assert found, f"page {page}"


def test_a_damaged_chunk_is_mended_from_the_source(synced: Tree) -> None:
    with Record.open(str(synced.home / "record.db")) as record:
        (generation,) = [item.id for item in record.generations() if item.path == main_path(OLD)]
        whole = b"".join(record.read(generation))
    with closing(connect(str(synced.home / "record.db"))) as db:
        db.execute("UPDATE chunk SET data = zeroblob(20) WHERE generation_id = ?", (generation,))
        db.execute("UPDATE content SET data = zeroblob(20)")
    found = checked(synced).mismatches
    assert {item.path for item in found} >= {main_path(OLD)}
    assert len(found) > 1
    report = checked(synced, repair=True)
    assert (report.mismatches, report.repaired) == ([], len(found))
    with Record.open(str(synced.home / "record.db")) as record:
        assert b"".join(record.read(generation)) == whole


def test_what_the_source_no_longer_has_cannot_be_mended(synced: Tree) -> None:
    synced.place(main_path(OLD)).unlink()
    with closing(connect(str(synced.home / "record.db"))) as db:
        db.execute("UPDATE chunk SET data = zeroblob(20) WHERE start = 0")
    report = checked(synced, repair=True)
    assert [item.path for item in report.mismatches] == [main_path(OLD)]
    assert report.repaired > 0


def test_a_source_that_differs_is_read_again(synced: Tree) -> None:
    place = synced.place(main_path(OLD))
    data = place.read_bytes()
    place.write_bytes(data[:-20] + data[-20:].swapcase())
    with Record.open(str(synced.home / "record.db")) as record, record.writing():
        status = place.stat()
        record._run(
            "UPDATE file SET mark_ctime_ns = ?, mark_mtime_ns = ?, mark_seen_ns = ? WHERE path = ?",
            (status.st_ctime_ns, status.st_mtime_ns, status.st_ctime_ns, main_path(OLD)),
        )
    assert not synced.sync().changed
    assert [item.path for item in checked(synced, deep=True).mismatches] == [main_path(OLD)]
    assert checked(synced, repair=True).mismatches == []
    with Record.open(str(synced.home / "record.db")) as record:
        kept = [b"".join(record.read(item.id)) for item in record.generations() if item.path == main_path(OLD)]
    assert kept == [data, place.read_bytes()]


def test_the_index_of_a_copy_that_went_another_way_is_not_trusted(synced: Tree) -> None:
    """Two copies of one store, both with as many writes: only the chain of their hashes tells them apart."""
    copy = synced.home.with_name("copy")
    shutil.copytree(synced.home, copy)
    synced.append(main_path(OLD), [user(OLD, "one", "This way.", 9)])
    synced.sync()
    synced.append(main_path(OLD), b"")
    other = Tree(synced.config, copy)
    other.append(main_path(OLD), [user(OLD, "two", "That way.", 9)])
    other.sync()
    for name in ("index.db", "text.db"):
        for suffix in ("-wal", "-shm"):
            (synced.home / f"{name}{suffix}").unlink(missing_ok=True)
        shutil.copy(copy / name, synced.home / name)
    synced.sync()
    twin = Tree(synced.config, synced.home.with_name("twin"))
    twin.sync()
    assert dump(synced.home).keys() == dump(twin.home).keys()
    assert not checked(synced, full=True).mismatches
