from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hansard.clients.claude_code.roots import open_root
from hansard.record.schema import CHUNK
from hansard.record.verify import Mismatch, verify
from hansard.sources.roots import Root
from hansard.sources.tail import RACY_NS, open_tail
from tests.record.making import LOG, NOTE, break_store, flip, keep_log, keep_whole

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.record.store import Record

BYTES = os.urandom(1000) * 1000


@pytest.fixture
def source(tmp_path: Path) -> Root:
    config = tmp_path / "claude"
    for path, data in ((LOG, BYTES), (NOTE, b"a note")):
        (config / path).parent.mkdir(parents=True, exist_ok=True)
        (config / path).write_bytes(data)
    return open_root(str(config))


@pytest.fixture
def synced(record: Record, source: Root) -> Record:
    with record.writing():
        root = record.root_id(source.path, source.name)
        with open_tail(source.locate(LOG), None) as tail:
            generation = record.start_generation(root, LOG, "main", "new")
            for piece in tail.pieces():
                record.append(generation, piece)
            record.settle(generation, tail.mark(), tail.status.mode)
        with open_tail(source.locate(NOTE), None) as tail:
            data = b"".join(tail.pieces())
            record.snapshot(root, NOTE, "tool_result", data, tail.mark(), tail.status.mode)
    return record


def test_a_sound_record(synced: Record, source: Root) -> None:
    keep_log(synced, b"gone long ago", "projects/old/x.jsonl")
    steps: list[tuple[int, int]] = []
    report = verify(synced, [source], deep=True, progress=lambda done, total: steps.append((done, total)))
    total = len(BYTES) + 6 + 13
    assert (report.transcripts, report.files, report.bytes, report.mismatches) == (2, 3, total, [])
    assert (report.compared, report.changed) == (2, 0)
    assert steps[-1] == (total, total)
    assert verify(synced, [], deep=False).compared == 0


def test_every_generation_and_snapshot_counts(record: Record) -> None:
    keep_log(record, b"one")
    keep_log(record, b"three", reason="rewritten")
    keep_whole(record, b"a")
    keep_whole(record, b"bc")
    report = verify(record, [], deep=False)
    assert (report.transcripts, report.files, report.bytes) == (1, 2, 11)


def test_damage_is_listed_with_file_and_offset(synced: Record, place: Path) -> None:
    flip(place, "chunk", 2)
    flip(place, "chunk", 4)
    flip(place, "content", 1)
    report = verify(synced, [], deep=False)
    assert [(found.path, found.generation, found.offset, found.snapshot) for found in report.mismatches] == [
        (LOG, 1, CHUNK, None),
        (LOG, 1, 3 * CHUNK, None),
        (NOTE, None, 0, 1),
    ]
    assert report.bytes == len(BYTES) + 6


def test_a_missing_chunk_is_listed(synced: Record, place: Path) -> None:
    break_store(place, "DELETE FROM chunk WHERE start = ?", (CHUNK,))
    (found,) = verify(synced, [], deep=False).mismatches
    assert (found.offset, found.reason) == (CHUNK, "the chunk is missing")


def test_a_dangling_reference_is_listed_when_deep(synced: Record, place: Path) -> None:
    break_store(place, "UPDATE file SET snapshot_id = 99 WHERE snapshot_id IS NOT NULL")
    assert verify(synced, [], deep=False).mismatches == []
    (found,) = verify(synced, [], deep=True).mismatches
    assert found == Mismatch(synced.path, None, None, "row 2 of table file refers to a row of snapshot that is missing")


def test_a_source_that_grew_is_compared_up_to_the_mark(synced: Record, source: Root) -> None:
    with open(source.locate(LOG), "ab") as file:
        file.write(b"more")
    report = verify(synced, [source], deep=True)
    assert (report.compared, report.changed, report.mismatches) == (2, 0, [])


@pytest.mark.parametrize("path", [LOG, NOTE])
def test_a_source_that_was_rewritten_is_no_fault_of_the_record(synced: Record, source: Root, path: str) -> None:
    with open(source.locate(path), "wb") as file:
        file.write(b"something else")
    report = verify(synced, [source], deep=True)
    assert (report.compared, report.changed, report.mismatches) == (1, 1, [])


@pytest.mark.parametrize(("path", "offset"), [(LOG, CHUNK), (NOTE, 0)])
def test_a_source_that_differs_without_a_write_is_listed(synced: Record, source: Root, path: str, offset: int) -> None:
    place = source.locate(path)
    status = os.stat(place)
    with open(place, "r+b") as file:
        file.seek(offset + 3)
        file.write(b"\0\1\0")
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))
    ctime_ns = os.stat(place).st_ctime_ns
    with synced.writing():
        synced._run("UPDATE file SET mark_ctime_ns = ?, mark_seen_ns = ?", (ctime_ns, ctime_ns + 2 * RACY_NS))
    (found,) = verify(synced, [source], deep=True).mismatches
    assert (found.path, found.offset) == (path, offset)
    assert "differs" in found.reason


def test_a_source_that_is_gone_is_not_compared(synced: Record, source: Root) -> None:
    os.unlink(source.locate(LOG))
    report = verify(synced, [source], deep=True)
    assert (report.compared, report.mismatches) == (1, [])


def test_a_source_that_cannot_be_read_is_listed(synced: Record, source: Root) -> None:
    os.unlink(source.locate(LOG))
    os.mkdir(source.locate(LOG))
    (found,) = verify(synced, [source], deep=True).mismatches
    assert (found.path, found.offset) == (LOG, None)
    assert "could not be read" in found.reason
