from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hansard.errors import NotFound, StoreCorrupt
from hansard.record.store import Record
from tests.record.making import LOG, NOTE, flip, keep_log, keep_whole, mark, whole

if TYPE_CHECKING:
    from pathlib import Path


def test_a_content_comes_back(record: Record) -> None:
    assert keep_whole(record, b"first")
    (snapshot,) = record.snapshots()
    assert record.read_snapshot(snapshot.id) == b"first"
    assert (snapshot.path, snapshot.kind, snapshot.size, snapshot.mode) == (NOTE, "tool_result", 5, 0o600)
    assert (snapshot.hash, snapshot.current, snapshot.state) == (sha256(b"first").digest(), True, "live")


def test_the_same_content_renews_only_date_and_mark(record: Record) -> None:
    assert keep_whole(record, b"same", mtime_ns=5)
    assert not keep_whole(record, b"same", mtime_ns=6)
    (snapshot,) = record.snapshots()
    assert snapshot.mtime_ns == 6
    assert record.known(1)[NOTE].mark == mark(4, 6)


def test_each_change_is_kept_and_each_content_once(record: Record) -> None:
    contents = [b"a", b"b", b"a"]
    assert [keep_whole(record, content) for content in contents] == [True] * 3
    assert keep_whole(record, b"a", NOTE + ".copy")
    kept = list(record.snapshots())
    assert [record.read_snapshot(snapshot.id) for snapshot in kept] == [*contents, b"a"]
    assert [snapshot.current for snapshot in kept] == [False, False, True, True]
    assert record._one("SELECT count(*) FROM content")[0] == 2
    assert record.known(1)[NOTE].generation == kept[2].id
    assert record.kept_bytes() == 4


def test_snapshots_by_kind_and_from_a_point(record: Record) -> None:
    with record.writing():
        root = record.root_id("/r", "r")
        for number, kind in enumerate(["todo", "plan", "todo"]):
            record.snapshot(root, f"todos/{number}.json", kind, b"%d" % number, mark(1), 0o600)
    assert [snapshot.id for snapshot in record.snapshots(["todo"])] == [1, 3]
    assert [snapshot.id for snapshot in record.snapshots(after=1)] == [2, 3]
    assert list(record.snapshots([])) == []


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=2000), repeat=st.integers(0, 300))
def test_any_content_comes_back(record: Record, data: bytes, repeat: int) -> None:
    keep_whole(record, data * repeat)
    assert record.read_snapshot(record.known(1)[NOTE].generation) == data * repeat


def test_a_log_that_becomes_a_whole_file_and_back(record: Record) -> None:
    first = keep_log(record, b"log", LOG)
    assert keep_whole(record, b"whole", LOG)
    assert (record.generation(first).current, record.generation(first).ended_reason) == (
        False,
        "kept whole from then on",
    )
    second = keep_log(record, b"log again", LOG, reason="a log again")
    assert record.generation(second).seq == 2
    assert [snapshot.current for snapshot in record.snapshots()] == [False]
    assert (whole(record, first), whole(record, second), record.read_snapshot(1)) == (b"log", b"log again", b"whole")


def test_a_damaged_content_is_named(record: Record, place: Path) -> None:
    keep_whole(record, b"precious" * 100)
    flip(place, "content", 1)
    with pytest.raises(StoreCorrupt, match=f"{NOTE}, snapshot 1.*verify"):
        record.read_snapshot(1)
    assert record.check_snapshot(1)


def test_an_unknown_snapshot(record: Record) -> None:
    with pytest.raises(NotFound, match="no snapshot 7"):
        record.read_snapshot(7)
