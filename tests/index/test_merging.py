"""The segments of the full text: merged after a backlog, a little at a time, and then left alone by small syncs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from hansard.index import text as index_text
from hansard.index.store import IndexDamaged
from hansard.index.text import TextIndex
from hansard.storage import OFFSET_BITS
from hansard.sync import text as sync_text
from hansard.sync.rebuild import rebuild
from tests.sync.hard import files
from tests.sync.making import Tree

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")


class Origin:
    """A record that has never been anywhere else."""

    store_id = "store"

    def head(self) -> tuple[int, bytes]:
        return 1, b""

    def has_revision(self, number: object, hash_: object) -> bool:
        return (number, hash_) == (1, b"")


@pytest.fixture
def text(tmp_path: Path) -> Iterator[TextIndex]:
    index = TextIndex(str(tmp_path / "text.db"), Origin())
    yield index
    index.close()


def put(text: TextIndex, transcript: int, blocks: int) -> None:
    """A transcript of so many blocks, in a transaction of its own, which makes a segment."""
    with text.transaction():
        for number in range(blocks):
            words = " ".join(f"{word}{number * 31 % 997}" for word in WORDS)
            text._insert("work", (transcript << OFFSET_BITS) + number, f"{words} {transcript}", "kindresult")
        text.db.execute("INSERT INTO cursors VALUES (?, ?, ?, 0, x'')", (transcript, blocks, blocks))


def segments(text: TextIndex) -> set[int]:
    return {row[0] for row in text.db.execute("SELECT DISTINCT segid FROM work_idx")}


def matches(text: TextIndex) -> list[list[int]]:
    return [
        [row[0] for row in text.db.execute("SELECT rowid FROM work WHERE work MATCH ? ORDER BY rowid", (asked,))]
        for asked in ("alpha31", "beta* AND 3", "theta0", "x", "mark : kindresult")
    ]


def fill(text: TextIndex, blocks: int = 300) -> list[list[int]]:
    text.begin_bulk()
    for transcript in range(1, 10):
        put(text, transcript, blocks)
    assert len(segments(text)) == 9
    return matches(text)


def test_a_backlog_becomes_one_segment(text: TextIndex) -> None:
    before = fill(text)
    text.finish_bulk()
    assert len(segments(text)) == 1
    assert matches(text) == before
    text.db.execute("INSERT INTO work (work) VALUES ('integrity-check')")


def test_small_syncs_leave_it_alone(text: TextIndex) -> None:
    fill(text)
    text.finish_bulk()
    (whole,) = segments(text)
    for transcript in range(10, 400):
        put(text, transcript, 1)
        text.finish_bulk()
        assert whole in segments(text), f"merged again by sync {transcript - 9}"
    assert len(segments(text)) < 16


def test_it_goes_on_where_it_was_cut_off(text: TextIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_text, "_MERGE_LEAVES", 1)
    monkeypatch.setattr(index_text, "_MERGES", 1)
    before = fill(text)
    steps = iter(range(10))
    text.finish_bulk(lambda: next(steps) < 5)
    assert len(segments(text)) > 1, "it stopped half-way"
    assert matches(text) == before
    text.finish_bulk()
    assert len(segments(text)) == 1
    assert matches(text) == before


def test_the_file_grows_by_a_step_and_not_by_a_copy(text: TextIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_text, "_MERGE_LEAVES", 8)
    fill(text, 2000)
    pages = text.db.pragma("page_count")
    text.finish_bulk()
    assert text.db.pragma("page_count") < pages * 1.25


def test_a_backlog_that_is_small_beside_the_rest_does_not_rewrite_it(text: TextIndex) -> None:
    fill(text)
    text.finish_bulk()
    (whole,) = segments(text)
    text.begin_bulk()
    for transcript in range(20, 26):
        put(text, transcript, 40)
    text.finish_bulk()
    assert whole in segments(text)
    assert len(segments(text)) == 2
    text.begin_bulk()
    put(text, 30, 3000)
    text.finish_bulk()
    assert len(segments(text)) == 1


def test_without_a_backlog_nothing_is_merged(text: TextIndex) -> None:
    for transcript in range(1, 4):
        put(text, transcript, 2)
    text.finish_bulk()
    assert len(segments(text)) == 3


@pytest.mark.parametrize("workers", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_a_sync_of_much_merges(tree: Tree, monkeypatch: pytest.MonkeyPatch, workers: bool, again: bool) -> None:
    monkeypatch.setattr(sync_text, "WORKER_BYTES", 0)
    monkeypatch.setattr(sync_text, "_COMMIT_BYTES", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for path, content in files().items():
        tree.write(path, content)
    tree.sync(workers=workers)
    if again:
        rebuild(str(tree.home), workers=workers)
    db = apsw.Connection(str(tree.home / "text.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        assert db.execute("SELECT count(DISTINCT segid) FROM talk_idx").get == 1
        assert db.execute("SELECT v FROM talk_config WHERE k = 'automerge'").get == 4
    finally:
        db.close()


def test_a_damaged_setting_is_told_as_damage(text: TextIndex) -> None:
    with text.transaction():
        text.db.execute("DROP TABLE titles_config")
    with pytest.raises(IndexDamaged):
        text.finish_bulk()
