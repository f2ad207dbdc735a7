"""What can be read of a broken record is saved, what cannot is named, and nothing wrong is taken for right."""

from __future__ import annotations

import random
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from hansard.errors import StoreCorrupt, UsageError
from hansard.record.salvage import SalvageReport, salvage
from hansard.record.store import Record
from hansard.record.verify import verify
from hansard.storage.sqlite import PAGE_SIZE
from tests.record.making import LOG, NOTE, break_store, flip, keep_log, keep_more, keep_whole, whole

LOGS = {LOG.replace("001.jsonl", f"{number:03}.jsonl"): number for number in range(1, 30)}


def _make(place: Path) -> dict[str, bytes]:
    """A store of some logs and small files; what is in it."""
    dice = random.Random(1)
    kept = {path: dice.randbytes(dice.choice((100, 3_000, 20_000))) for path in LOGS}
    with Record.open(str(place)) as record:
        for path, data in kept.items():
            keep_log(record, data, path)
        keep_more(record, 1, b"more")
        for number in range(60):
            kept[f"{NOTE}-{number}"] = dice.randbytes(dice.choice((10, 9000)))
            keep_whole(record, kept[f"{NOTE}-{number}"], f"{NOTE}-{number}")
        with record.writing():
            record.add_remark("s", "tag", "sea")
    kept[next(iter(LOGS))] += b"more"
    with closing(apsw.Connection(str(place))) as db:
        db.pragma("journal_mode", "delete")  # everything in one file
    return kept


def _saved(place: Path, report: SalvageReport) -> dict[str, bytes]:
    """What the new record has, without what was lost."""
    with Record.open(str(place), readonly=True) as record:
        found = {}
        for item in record.snapshots():
            with suppress(StoreCorrupt):
                found[item.path] = record.read_snapshot(item.id)
        for log in record.generations():
            data = bytearray(b"".join(record.read(log.id, mend=True)))
            for loss in sorted(report.losses, key=lambda loss: -loss.offset):
                if loss.generation == log.id:
                    del data[loss.offset : loss.offset + loss.length]
            found[log.path] = bytes(data)
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, bytes]]:
    """A record's bytes, and what is in it."""
    place = tmp_path_factory.mktemp("salvage") / "record.db"
    kept = _make(place)
    return place.read_bytes(), kept


def test_a_sound_record_is_copied(made: tuple[bytes, dict[str, bytes]], tmp_path: Path) -> None:
    data, kept = made
    (tmp_path / "record.db").write_bytes(data)
    new = tmp_path / "new" / "record.db"
    report = salvage(str(tmp_path / "record.db"), str(new))
    assert report.losses == []
    assert (report.files, report.unnamed, report.unread_rows, report.remarks) == (len(kept), 0, 0, 1)
    assert _saved(new, report) == kept
    with Record.open(str(new), readonly=True) as record:
        assert verify(record, [], deep=True).mismatches == []
    with pytest.raises(UsageError, match="already has a record"):
        salvage(str(tmp_path / "record.db"), str(new))


@pytest.mark.parametrize("seed", range(20))
def test_a_page_that_makes_no_sense_costs_what_is_on_it(
    made: tuple[bytes, dict[str, bytes]], tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    place, new = tmp_path / "record.db", tmp_path / "new.db"
    data, kept = bytearray(made[0]), made[1]
    page = dice.randrange(1, len(data) // PAGE_SIZE)
    garbage = dice.choice((bytes(PAGE_SIZE), dice.randbytes(PAGE_SIZE), data[-PAGE_SIZE:]))
    data[page * PAGE_SIZE : (page + 1) * PAGE_SIZE] = garbage
    place.write_bytes(data)
    try:
        report = salvage(str(place), str(new))
    except StoreCorrupt:
        (tmp_path / "whole.db").write_bytes(made[0])
        with closing(apsw.Connection(str(tmp_path / "whole.db"))) as db:
            pages = db.execute("SELECT pageno - 1 FROM dbstat WHERE name = 'sqlite_schema'").fetchall()
        assert (page,) in pages  # where the list of tables is
        assert not new.exists()
        return
    saved = _saved(new, report)
    lost = {loss.path for loss in report.losses}
    nameless = {content for path, content in saved.items() if path.startswith("projects/salvaged/")}
    missing = {path for path, content in kept.items() if saved.get(path) != content and content not in nameless}
    assert missing <= lost
    assert place.read_bytes() == data  # the broken one is not touched


def test_a_damaged_chunk_keeps_its_place_and_can_be_mended(tmp_path: Path) -> None:
    place, new = tmp_path / "record.db", tmp_path / "new.db"
    data = random.Random(2).randbytes(600_000)
    with Record.open(str(place)) as record:
        keep_log(record, data)
    flip(place, "chunk", 2)
    report = salvage(str(place), str(new))
    assert [(loss.path, loss.offset, loss.length) for loss in report.losses] == [(LOG, 262_144, 262_144)]
    assert report.bytes == 600_000 - 262_144
    with Record.open(str(new)) as record:
        assert [item.offset for item in verify(record, [], deep=False).mismatches] == [262_144]
        with record.writing():
            assert record.mend_chunk(1, 262_144, data[262_144:524_288])
        assert whole(record, 1) == data
        assert verify(record, [], deep=True).mismatches == []


def test_shared_chunks_stay_shared(tmp_path: Path) -> None:
    place, new = tmp_path / "record.db", tmp_path / "new.db"
    data = random.Random(3).randbytes(300_000)
    with Record.open(str(place)) as record:
        keep_log(record, data)
        keep_log(record, data + b"x", reason="rewritten")
    report = salvage(str(place), str(new))
    assert report.losses == []
    with Record.open(str(new), readonly=True) as record:
        assert [whole(record, item.id) for item in record.generations()] == [data, data + b"x"]


def test_a_log_whose_row_is_lost_gets_a_name(tmp_path: Path) -> None:
    place, new = tmp_path / "record.db", tmp_path / "new.db"
    with Record.open(str(place)) as record:
        keep_log(record, b"a line\n" * 100)
    break_store(place, "PRAGMA foreign_keys = 0")
    with closing(apsw.Connection(str(place))) as db:
        db.execute("DELETE FROM file; DELETE FROM generation; DELETE FROM root")
    report = salvage(str(place), str(new))
    assert (report.unnamed, report.losses) == (1, [])
    with Record.open(str(new), readonly=True) as record:
        (log,) = record.generations()
        assert (log.path, whole(record, log.id)) == ("projects/salvaged/1.jsonl", b"a line\n" * 100)
