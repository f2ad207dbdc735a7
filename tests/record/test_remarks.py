"""What the user said is kept as carefully as the bytes."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import apsw
import pytest

from hansard.errors import StoreUnusable
from hansard.record import schema
from hansard.record.store import NOTE, PIN, TAG, Record
from hansard.record.verify import verify
from tests.record.making import as_older_layout, keep_log, whole

if TYPE_CHECKING:
    from pathlib import Path


def said(record: Record, session_id: str | None = None) -> list[tuple[str, str, str]]:
    return [(item.session_id, item.kind, item.value) for item in record.remarks(session_id)]


def test_what_is_taken_back_is_still_there(record: Record) -> None:
    with record.writing():
        first = record.add_remark("s1", TAG, "infra")
        second = record.add_remark("s1", NOTE, "Ask \U0001f469\u200d\U0001f680.\nToday.")
        record.add_remark("s2", PIN, "")
    assert said(record) == [
        ("s1", TAG, "infra"),
        ("s1", NOTE, "Ask \U0001f469\u200d\U0001f680.\nToday."),
        ("s2", PIN, ""),
    ]
    with record.writing():
        record.remove_remarks([first])
    revision = record.revision()
    ((removed_at,),) = record._rows("SELECT removed_at FROM remark WHERE id = ?", (first,))
    assert [item.id for item in record.remarks("s1")] == [second]
    with record.writing():
        record.remove_remarks([first])
    assert record._rows("SELECT removed_at FROM remark WHERE id = ?", (first,)) == [(removed_at,)]
    assert record.revision() == revision, "nothing was changed"
    assert record._one("SELECT count(*) FROM remark") == (3,)


def test_a_step_that_fails_leaves_none_of_its_remarks(record: Record) -> None:
    def fail() -> None:
        with record.writing():
            record.add_remark("s1", TAG, "infra")
            record.add_remark("s1", "colour", "red")

    with pytest.raises(StoreUnusable):
        fail()
    assert record.remarks() == []


def test_remarks_need_a_transaction(record: Record) -> None:
    with pytest.raises(RuntimeError, match="inside"):
        record.add_remark("s1", TAG, "infra")
    with pytest.raises(RuntimeError, match="inside"):
        record.remove_remarks([1])


def test_they_are_no_bytes_of_the_source(record: Record) -> None:
    keep_log(record, b"line\n")
    before = record.kept_bytes()
    with record.writing():
        record.add_remark("s1", TAG, "infra")
    assert record.kept_bytes() == before
    report = verify(record, [], deep=True)
    assert (report.files, report.bytes, report.mismatches) == (1, 5, [])


def test_a_store_without_them_gets_the_table_after_a_backup(place: Path) -> None:
    with Record.open(str(place)) as record:
        generation = keep_log(record, b"line\n" * 1000)
        store_id, revision = record.store_id, record.revision()
    as_older_layout(place, 1)
    with pytest.raises(StoreUnusable, match=r"older layout.*hansard sync"):
        Record.open(str(place), readonly=True)
    with Record.open(str(place)) as record:
        assert whole(record, generation) == b"line\n" * 1000
        assert (record.store_id, record.revision()) == (store_id, revision + 1)
        with record.writing():
            record.add_remark("s1", TAG, "infra")
    (backup,) = place.parent.glob("*.backup")
    if os.name == "posix":
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with closing(apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        assert db.pragma("user_version") == 1
    with Record.open(str(backup)) as record:  # which brings it up to date as well
        assert whole(record, generation) == b"line\n" * 1000


def test_the_printed_schema_is_what_all_steps_make(record: Record) -> None:
    with closing(apsw.Connection(":memory:")) as db:
        db.execute(schema.SCHEMA)
        printed = db.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    assert record._rows("SELECT name, sql FROM sqlite_schema ORDER BY name") == printed
