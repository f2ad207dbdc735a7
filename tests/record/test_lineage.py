"""Every write is a link of a hash chain, and nothing behind a noted one can be changed or removed unseen."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.record.schema import CHUNK
from hansard.record.store import Record
from hansard.record.verify import verify
from tests.record.making import as_older_layout, break_store, keep_log, keep_more, keep_whole, mark

OTHER = "projects/-home-u-p/0e6f1a2b-0000-4000-8000-000000000002.jsonl"


def filled(record: Record) -> int:
    generation = keep_log(record, b"one\n" * 70_000)
    keep_more(record, generation, b"two\n")
    keep_more(record, generation, b"three\n" * 50_000)
    keep_log(record, b"other\n", OTHER)
    keep_whole(record, b"note")
    with record.writing():
        record.add_remark("s1", "tag", "infra")
    with record.writing():
        record.remove_remarks([1])
    return generation


def reasons(place: Path, since: str | None = None) -> list[str]:
    with Record.open(str(place), readonly=True) as record:
        return [item.reason for item in verify(record, [], deep=False, since=since).mismatches]


def test_each_write_is_a_revision(record: Record) -> None:
    assert record.head().number == 0
    filled(record)
    assert record.head().number == record.revision() == 7
    assert [number for number, _ in record.revisions()] == list(range(8))
    assert len({hash_ for _, hash_ in record.revisions()}) == 8
    assert verify(record, [], deep=True).mismatches == []
    assert verify(record, [], deep=False).revision == str(record.head())


def test_a_write_that_changes_nothing_is_none(record: Record) -> None:
    with record.writing():
        pass
    assert record.head().number == 0


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(
        st.one_of(
            st.integers(0, 50), st.sampled_from([CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK]), st.integers(0, 3 * CHUNK)
        ),
        min_size=1,
        max_size=6,
    )
)
def test_any_appends_prove_themselves(sizes: list[int]) -> None:
    data = bytes(range(251)) * (sum(sizes) // 251 + 1)
    with tempfile.TemporaryDirectory() as folder, Record.open(str(Path(folder, "record.db"))) as record:
        generation = keep_log(record, b"")
        start = 0
        for size in sizes:
            with record.writing():
                record.append(generation, data[start : start + size])
                start += size
                record.settle(generation, mark(start), 0o644)
        assert verify(record, [], deep=False).mismatches == []
        assert len(record.entries("log", generation)) == 1 + sum(size > 0 for size in sizes)


BREAKS = {
    "a generation removed with all its bytes": "DELETE FROM chunk WHERE generation_id = 2; DELETE FROM generation WHERE id = 2",
    "a chunk put in the place of another": (
        "UPDATE chunk SET (length, hash, data) = (SELECT length, hash, data FROM chunk WHERE generation_id = 2)"
        " WHERE generation_id = 1 AND start > 262144; UPDATE generation SET size = 524294 WHERE id = 1"
    ),
    "the end of a log cut off": (
        "DELETE FROM chunk WHERE generation_id = 1 AND start > 262144; UPDATE generation SET size = 524288 WHERE id = 1"
    ),
    "a log given to another file": "UPDATE file SET path = 'projects/x/y.jsonl' WHERE id = 2",
    "a content exchanged": "UPDATE content SET hash = x'00', data = x'00'",
    "a snapshot removed": "DELETE FROM snapshot",
    "a remark changed": "UPDATE remark SET value = 'other'",
    "a remark that was never taken back": "UPDATE remark SET removed_at = NULL",
    "an entry removed": "DELETE FROM entry WHERE revision_id = 4",
    "a write removed": "DELETE FROM entry WHERE revision_id = 4; DELETE FROM revision WHERE id = 4",
    "a hash changed": "UPDATE revision SET hash = zeroblob(32) WHERE id = 3",
}


@pytest.mark.parametrize("what", BREAKS)
def test_a_change_behind_our_back_is_found(record: Record, place: Path, what: str) -> None:
    filled(record)
    record.close()
    break_store(place, f"PRAGMA foreign_keys = 0; {BREAKS[what]}")
    assert reasons(place), what


def test_a_noted_revision(record: Record, place: Path) -> None:
    filled(record)
    noted = str(record.head())
    keep_log(record, b"later\n", "projects/later/x.jsonl")
    record.close()
    number, _, digits = noted.partition(":")
    for form in (noted, digits, digits[:12], digits[:13], digits.upper()[:10], f"{number}:{digits[:8]}"):
        assert reasons(place, form) == [], form
    for form in ("0" * 64, f"{int(number) + 1}:{digits}", "nonsense", "", ":"):
        assert any("no revision" in reason for reason in reasons(place, form)), form
    # Put back to an older copy, the chain ends before what was noted.
    last = int(number)
    break_store(place, f"DELETE FROM entry WHERE revision_id >= {last}; DELETE FROM revision WHERE id >= {last}")
    assert any("no revision" in reason for reason in reasons(place, noted))


@pytest.mark.parametrize("version", [1, 2])
def test_a_store_of_an_older_layout_is_proved_from_there_on(record: Record, place: Path, version: int) -> None:
    generation = filled(record)
    keep_log(record, b"rewritten\n" * 60_000, reason="rewritten")
    record.close()
    as_older_layout(place, version)
    with Record.open(str(place)) as again:
        assert verify(again, [], deep=True).mismatches == []
        keep_more(again, generation + 2, b"more\n")
        assert verify(again, [], deep=True).mismatches == []
    break_store(place, "UPDATE chunk SET data = x'00' WHERE id = 1")
    assert reasons(place)
