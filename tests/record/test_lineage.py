"""Every write is a link of a hash chain, and nothing behind a noted one can be changed or removed unseen."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.record import chain
from hansard.record.erase import Patch
from hansard.record.schema import CHUNK
from hansard.record.store import Record
from hansard.record.verify import verify
from tests.record.making import NOTE, as_older_layout, break_store, keep_log, keep_more, keep_whole, mark

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
    assert [number for number, _, _ in record.revisions()] == list(range(8))
    assert len({hash_ for _, hash_, _ in record.revisions()}) == 8
    assert verify(record, [], deep=True).mismatches == []
    assert verify(record, [], deep=False).revision == str(record.head())


def fill_in_one_write(record: Record) -> None:
    """A new log, a small file and a remark, and then a log that turns out to be rewritten."""
    keep_log(record, b"one\n", "projects/x/new.jsonl")
    with record.writing():
        root = record.root_id("/src/.claude", ".claude")
        generation = record.start_generation(root, "projects/y/new.jsonl", "main", "new")
        record.append(generation, b"two\n")
        record.settle(generation, mark(4), 0o644)
        record.snapshot(root, NOTE, "tool_result", b"note", mark(4), 0o600)
        record.remove_remarks([record.add_remark("s1", "tag", "infra")])
        generation = record.start_generation(root, "projects/x/new.jsonl", "main", "rewritten")
        record.append(generation, b"three\n")
        record.settle(generation, mark(6), 0o644)


def test_a_rewritten_log_leaves_the_entries_of_its_write(record: Record) -> None:
    fill_in_one_write(record)
    assert [(entry.kind, entry.ref) for entry in record.entries() if entry.revision == 2] == [
        ("log", 2),
        ("log", 3),
        ("remark", 1),
        ("removed", 1),
        ("snapshot", 1),
    ]
    assert verify(record, [], deep=True).mismatches == []


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


FORGED = {
    "a transcript that was never stored": (
        "INSERT INTO file (root_id, path, kind, state, state_at, generation_id, size)"
        " SELECT root_id, 'projects/x/forged.jsonl', kind, state, state_at, 2, size FROM file WHERE id = 2;"
        "INSERT INTO generation (file_id, seq, size, mtime_ns, mode, started_at, rolling)"
        " SELECT (SELECT max(id) FROM file), 1, size, mtime_ns, mode, started_at, rolling FROM generation WHERE id = 2;"
        "INSERT INTO chunk (generation_id, start, length, hash, data)"
        " SELECT (SELECT max(id) FROM generation), start, length, hash, data FROM chunk WHERE generation_id = 2"
    ),
    "bytes added to a log": (
        "INSERT INTO chunk (generation_id, start, length, hash, data) SELECT 3, 262144, length, hash, data FROM chunk"
        " WHERE generation_id = 2; UPDATE generation SET size = 262150 WHERE id = 3"
    ),
    "a chunk within another": (
        "INSERT INTO chunk (generation_id, start, length, hash, data) SELECT 1, 100, length, hash, data FROM chunk"
        " WHERE generation_id = 2"
    ),
    "a chunk of no log": (
        "INSERT INTO chunk (generation_id, start, length, hash, data) SELECT 77, 0, length, hash, data FROM chunk"
        " WHERE generation_id = 2"
    ),
    "a small file that was never stored": (
        "INSERT INTO snapshot (file_id, content_id, mtime_ns, mode, seen_at)"
        " SELECT file_id, content_id, mtime_ns, mode, seen_at FROM snapshot"
    ),
    "a note that nobody wrote": (
        "INSERT INTO remark (session_id, kind, value, set_at) VALUES ('s1', 'note', 'forged', '2026-01-01T00:00:00.000Z')"
    ),
    "a note removed by nobody": "UPDATE remark SET removed_at = '2026-01-01T00:00:00.000Z' WHERE id = 2",
    "a time changed": "UPDATE revision SET at = '2020-01-01T00:00:00.000Z' WHERE id = 3",
    "a receipt that nobody got": (
        "INSERT INTO erasure (revision_id, at, receipt, finished_at) VALUES (3, '2026-01-01T00:00:00.000Z', '{}', NULL)"
    ),
    "a receipt changed": "UPDATE erasure SET receipt = '{\"bytes\":1}'",
    "a receipt removed": "DELETE FROM erasure",
    "a marker where nothing was erased": "INSERT INTO blank (kind, ref, start, length) VALUES ('log', 1, 5, 9)",
    "a marker made longer": "UPDATE blank SET length = length + 1",
    "a marker removed": "DELETE FROM blank",
    "an erased remark that is there again": (
        "INSERT INTO remark (id, session_id, kind, value, set_at) VALUES (3, 's1', 'tag', 'x', '2026-01-01T00:00:00.000Z')"
    ),
    "an entry of no revision": (
        "INSERT INTO entry (revision_id, kind, ref, size, hash) SELECT 999, kind, ref, size, hash FROM entry WHERE revision_id = 2"
    ),
}


def filled_and_erased(record: Record) -> None:
    """The same, with a log of one full chunk, two more remarks, of which the last is erased, markers in a log, and a receipt."""
    filled(record)
    keep_log(record, b"full" * (CHUNK // 4), "projects/x/full.jsonl")
    with record.writing():
        record.add_remark("s1", "note", "stays")
        record.add_remark("s1", "tag", "goes")
    other = keep_log(record, b"a word to erase\n", "projects/x/erased.jsonl")
    with record.writing():
        record.erase_in_log(other, [Patch(2, b"****")])
        record.erase_remark(3)
        record.note_erasure("{}", [])


@pytest.mark.parametrize("what", FORGED)
def test_what_no_revision_stored_is_found(record: Record, place: Path, what: str) -> None:
    filled_and_erased(record)
    assert verify(record, [], deep=True).mismatches == []
    record.close()
    assert reasons(place) == []
    break_store(place, f"PRAGMA foreign_keys = 0; {FORGED[what]}")
    assert reasons(place), what


@contextmanager
def older_layout(place: Path) -> Iterator[Record]:
    """A record whose chain is written as versions before layout 10 wrote it."""

    def touch(self: chain.Lineage, kind: str, ref: int) -> None:
        if kind != chain.RECEIPT and kind not in chain.BLANKS.values():
            self._touched.append((kind, ref))

    def end_generation(self: Record, generation: int, reason: str) -> None:
        self._forget()
        end(self, generation, reason)

    dated, end = chain.next_hash, Record._end_generation
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chain, "next_hash", lambda former, entries, _: dated(former, entries, None))
        patched.setattr(chain.Lineage, "_touch", touch)
        patched.setattr(Record, "_end_generation", end_generation)
        with Record.open(str(place)) as opened:
            yield opened


@pytest.mark.parametrize("version", [8, 9])
def test_a_chain_without_times_goes_on_with_them(place: Path, version: int) -> None:
    with older_layout(place) as older:
        filled_and_erased(older)
        fill_in_one_write(older)
        noted = str(older.head())
    as_older_layout(place, version)
    with Record.open(str(place)) as again:
        assert verify(again, [], deep=True, since=noted).mismatches == []
        generation = next(made.id for made in again.generations() if made.path == OTHER)
        keep_more(again, generation, b"more\n")
        assert verify(again, [], deep=True, since=noted).mismatches == []
        last = again.head().number
    assert len(list(place.parent.glob(f"{place.name}.layout-{version}-*.backup"))) == 1
    break_store(place, f"UPDATE revision SET at = '2020-01-01T00:00:00.000Z' WHERE id = {last}")
    assert reasons(place) == [f"revision {last} does not match the hash of its time and of what it added"]


def test_a_dated_chain_called_older_covers_nothing_new(record: Record, place: Path) -> None:
    filled_and_erased(record)
    record.close()
    break_store(
        place,
        "INSERT INTO erasure (revision_id, at, receipt) VALUES (3, '2026-01-01T00:00:00.000Z', '{}'); PRAGMA user_version = 9",
    )
    with Record.open(str(place)):
        pass
    assert reasons(place) == ["no revision stored receipt 2: it was not written by Hansard"]


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
