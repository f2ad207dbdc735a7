"""Contents that are not proven are known as such, wherever the record goes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from hansard.record.salvage import salvage
from hansard.record.schema import CHUNK
from hansard.record.store import Record
from hansard.record.verify import UnprovenContent, verify
from tests.record.making import LOG, NOTE, as_older_layout, keep_log, keep_more, keep_whole

if TYPE_CHECKING:
    from pathlib import Path

DATA = bytes(range(256)) * (5 * CHUNK // 512)  # two and a half chunks


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "record.db"


def test_a_doubt_stays_until_it_is_vouched_for(place: Path) -> None:
    with Record.open(str(place)) as record:
        generation = keep_log(record, DATA)
        keep_whole(record, b"plan")
        with record.writing():
            record.doubt("log", generation, 7)
            record.doubt("log", generation, 9)  # a later doubt proves nothing
            record.doubt("snapshot", 1, 0)
        assert record.unproven_from("log", generation) == 7
        report = verify(record, [], deep=True)
        assert report.mismatches == []
        assert report.unproven == [
            UnprovenContent(LOG, generation, None, 7, len(DATA)),
            UnprovenContent(NOTE, None, 1, 0, 4),
        ]
        with record.writing():
            record.vouch("log", generation)
            record.vouch("snapshot", 1)
        assert record.unproven() == []


def test_a_comparison_proves_the_size_that_the_log_had_when_it_began(place: Path) -> None:
    with Record.open(str(place)) as record:
        generation = keep_log(record, DATA)
        with record.writing():
            record.doubt("log", generation, 7)
        for proven in (7, 7, len(DATA)):  # one chunk at a time, while the log grows
            with record.writing():
                assert record.prove_next(generation, io.BytesIO(b"".join(record.read(generation))), 1)
            if proven == 7:
                keep_more(record, generation, b"more")
            assert record.unproven_from("log", generation) == proven
        content = b"".join(record.read(generation))
        assert content == DATA + b"moremore"
        with record.writing():
            for _ in range(3):
                assert record.prove_next(generation, io.BytesIO(content), 1)
        assert record.unproven() == []
        with record.writing():
            assert record.prove_next(generation, io.BytesIO(b""), 1)  # nothing is left to be proven


def test_a_comparison_that_fails_proves_nothing(place: Path) -> None:
    with Record.open(str(place)) as record:
        generation = keep_log(record, DATA)
        edited = DATA[: CHUNK + 5] + b"#" + DATA[CHUNK + 6 :]
        with record.writing():
            record.doubt("log", generation, 7)
            assert record.prove_next(generation, io.BytesIO(edited), 1)
            assert not record.prove_next(generation, io.BytesIO(edited), 1)
        assert record.unproven_from("log", generation) == 7


def test_a_salvaged_record_has_the_same_doubts(place: Path, tmp_path: Path) -> None:
    with Record.open(str(place)) as record:
        generation = keep_log(record, DATA)
        with record.writing():
            record.doubt("log", generation, 7)
    (tmp_path / "new").mkdir()
    salvage(str(place), str(tmp_path / "new" / "record.db"))
    with Record.open(str(tmp_path / "new" / "record.db")) as record:
        assert [(item.path, item.proven) for item in record.unproven()] == [(LOG, 7)]


def test_a_store_from_before_doubts_were_noted_has_none(place: Path) -> None:
    with Record.open(str(place)) as record:
        keep_log(record, DATA)
    as_older_layout(place, 5)
    with Record.open(str(place)) as record:
        assert record.unproven() == []
        assert verify(record, [], deep=True).mismatches == []
