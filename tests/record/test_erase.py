"""What is erased is gone from every byte of the database, and the chain of revisions still holds."""

from __future__ import annotations

import tempfile
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.errors import StoreBusy, StoreCorrupt, UsageError
from hansard.model.erasing import MARKER, marker
from hansard.record.chain import ERASED, LOG, first_hash, log_hash, remark_hash, roll, snapshot_hash
from hansard.record.database import short_hash
from hansard.record.erase import Patch
from hansard.record.salvage import salvage
from hansard.record.schema import CHUNK
from hansard.record.store import Record
from hansard.record.tombstones import SESSION
from hansard.record.verify import verify
from tests.record.making import break_store, flip, found, keep_log, keep_more, keep_whole, mark, whole

OTHER = "projects/-home-u-p/0e6f1a2b-0000-4000-8000-000000000002.jsonl"
PLAN = "plans/plan.md"
WORD = b"quetzalcoatlus"


def text(size: int, seed: int = 0) -> bytes:
    """Lines that differ from chunk to chunk."""
    lines = b"".join(b"line %d of %d\n" % (number, seed) for number in range(size // 10 + 1))
    return lines[:size]


def mismatches(record: Record, since: str | None = None) -> list[str]:
    return [item.reason for item in verify(record, [], deep=True, since=since).mismatches]


def test_a_stretch_is_replaced_and_all_else_keeps_its_place(record: Record, place: Path) -> None:
    data = text(3 * CHUNK) + WORD + text(CHUNK, 1) + WORD + b" the end\n"
    generation = keep_log(record, data)
    noted = str(record.head())
    at = [3 * CHUNK, 4 * CHUNK + len(WORD)]
    with record.writing():
        new = record.erase_in_log(generation, [Patch(start, marker(len(WORD))) for start in at])
    assert new > generation
    expected = data.replace(WORD, marker(len(WORD)))
    assert whole(record, new) == expected
    assert record.known_file(1, record.generation(new).path).generation == new  # type: ignore[union-attr]
    assert mismatches(record, since=noted) == []
    keep_more(record, new, b"and on\n")
    assert whole(record, new) == expected + b"and on\n"
    assert mismatches(record, since=noted) == []
    report = verify(record, [], deep=True)
    assert (report.erased, report.erased_bytes) == (1, 2 * len(WORD))
    record.compact()
    assert found(place.parent, WORD) == []
    assert mismatches(record, since=noted) == []


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_stretches(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 3 * CHUNK))
    raw = text(size, 3)
    cuts = sorted(data.draw(st.sets(st.integers(0, size), min_size=2, max_size=6)))
    patches = [Patch(start, b"*" * (end - start)) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    expected = bytearray(raw)
    for patch in patches:
        expected[patch.start : patch.end] = patch.data
    with tempfile.TemporaryDirectory() as folder, Record.open(str(Path(folder, "record.db"))) as record:
        generation = keep_log(record, raw)
        with record.writing():
            new = record.erase_in_log(generation, data.draw(st.permutations(patches)))
        assert whole(record, new) == bytes(expected)
        assert mismatches(record) == []


def test_a_source_with_the_former_bytes_is_no_rewrite(record: Record, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(text(2 * CHUNK) + WORD + b"\n")
    generation = keep_log(record, source.read_bytes())
    with record.writing():
        new = record.erase_in_log(generation, [Patch(2 * CHUNK, marker(len(WORD)))])
    with source.open("rb") as file:
        assert record.same_prefix(new)(file)
        source.write_bytes(b"L" + source.read_bytes()[1:])
        file.seek(0)
        assert not record.same_prefix(new)(file)
    source.write_bytes(text(2 * CHUNK) + WORD[:-1] + b"-\n")
    with source.open("rb") as file:
        assert record.same_prefix(new)(file), "what is there instead does not matter"


def test_other_logs_keep_the_bytes_that_they_share(record: Record, place: Path) -> None:
    data = text(3 * CHUNK)
    first = keep_log(record, data + WORD)
    second = keep_log(record, data + b"more", reason="rewritten")
    other = keep_log(record, data + b"other", OTHER)
    with record.writing():
        changed = record.erase_in_log(first, [Patch(CHUNK + 5, b"*" * 9)])
    assert whole(record, second) == data + b"more"
    assert whole(record, changed) == data[: CHUNK + 5] + b"*" * 9 + data[CHUNK + 14 :] + WORD
    with record.writing():
        record.erase_file(record.generation(changed).file_id)
    assert whole(record, other) == data + b"other"
    assert [made.id for made in record.generations()] == [other]
    assert mismatches(record) == []
    record.compact()
    assert found(place.parent, WORD) == []
    assert mismatches(record) == []


def test_a_whole_file_with_everything_about_it(record: Record, place: Path) -> None:
    path = f"projects/-home-u-{WORD.decode()}/x.jsonl"
    keep_log(record, WORD * CHUNK, path)
    keep_log(record, b"rewritten " + WORD, path, reason="rewritten")
    kept = keep_log(record, b"stays\n", OTHER)
    file_id = record.known_file(1, path).file_id  # type: ignore[union-attr]
    with record.writing():
        record.leave_out(1, path, 5, "too large")
        record.doubt(LOG, 2, 0)
    noted = str(record.head())
    with record.writing():
        record.erase_file(file_id)
    assert record.known_file(1, path) is None
    assert mismatches(record, since=noted) == []
    assert verify(record, [], deep=False).erased == 2
    record.compact()
    assert found(place.parent, WORD) == []
    assert whole(record, kept) == b"stays\n"
    again = keep_log(record, b"new\n", path)
    assert again == 4, "an id is never used twice"
    assert mismatches(record, since=noted) == []


def test_snapshots_that_share_a_content(record: Record, place: Path) -> None:
    keep_whole(record, b"a " + WORD + b" b", PLAN, mtime_ns=5)
    keep_whole(record, b"newer", PLAN, mtime_ns=6)
    keep_whole(record, b"a " + WORD + b" b", OTHER)
    with record.writing():
        new = record.erase_in_snapshot(1, [Patch(2, marker(len(WORD)))])
    assert record.read_snapshot(new) == b"a " + marker(len(WORD)) + b" b"
    of_plan = [item for item in record.snapshots() if item.path == PLAN]
    assert [record.read_snapshot(item.id) for item in of_plan] == [record.read_snapshot(new), b"newer"]
    assert [item.current for item in of_plan] == [False, True]
    assert record.read_snapshot(3) == b"a " + WORD + b" b"
    assert mismatches(record) == []
    with record.writing():
        record.erase_file(record.known_file(1, OTHER).file_id)  # type: ignore[union-attr]
    record.compact()
    assert found(place.parent, WORD) == []
    assert mismatches(record) == []


def test_a_small_file_that_is_seen_again(record: Record, place: Path, tmp_path: Path) -> None:
    source = tmp_path / "plan"
    source.write_bytes(b"a " + WORD + b" b")
    keep_whole(record, source.read_bytes(), PLAN, mtime_ns=5)
    with record.writing():
        new = record.erase_in_snapshot(1, [Patch(2, marker(len(WORD)))])
    assert not keep_whole(record, source.read_bytes(), PLAN, mtime_ns=6), "seen again with what was erased"
    snapshot = next(record.snapshots())
    assert snapshot.id == new
    with source.open("rb") as file:
        assert record.has_content(snapshot, file)
    assert keep_whole(record, b"b " + WORD + b" b", PLAN, mtime_ns=7), "it differs elsewhere"
    assert mismatches(record) == []


def test_remarks(record: Record, place: Path) -> None:
    with record.writing():
        first = record.add_remark("s1", "note", WORD.decode())
        record.add_remark("s2", "note", "stays")
    with record.writing():
        record.remove_remarks([first])
    with record.writing():
        record.add_remark("s1", "tag", "infra")
    with record.writing():
        for remark in record.all_remarks():
            if remark.session_id == "s1":
                record.erase_remark(remark.id)
    assert [remark.value for remark in record.remarks()] == ["stays"]
    assert mismatches(record) == []
    record.compact()
    assert found(place.parent, WORD) == []


BREAKS = {
    "erased again by hand": "DELETE FROM chunk WHERE generation_id = 2; UPDATE file SET generation_id = NULL WHERE id = 2; DELETE FROM generation WHERE id = 2",
    "an erasure made larger": f"UPDATE entry SET size = size + 1 WHERE kind = '{ERASED[LOG]}'",
    "an erasure of something else": f"UPDATE entry SET ref = 2 WHERE kind = '{ERASED[LOG]}'",
    "an erasure that never was": f"INSERT INTO entry SELECT revision_id, '{ERASED[LOG]}', 2, size, hash FROM entry WHERE kind = '{ERASED[LOG]}'",
    "an erasure removed": f"DELETE FROM entry WHERE kind = '{ERASED[LOG]}'",
    "an erased log put back": "INSERT INTO generation (id, file_id, seq, size, mtime_ns, mode, started_at) VALUES (1, 2, 7, 0, 0, 0, '')",
}


@pytest.mark.parametrize("sql", BREAKS.values(), ids=list(BREAKS))
def test_nothing_else_passes_for_an_erasure(place: Path, sql: str) -> None:
    with Record.open(str(place)) as record:
        keep_log(record, b"one\n")
        keep_log(record, b"other\n", OTHER)
        with record.writing():
            record.erase_file(1)
        assert mismatches(record) == []
    break_store(place, sql)
    with Record.open(str(place), readonly=True) as record:
        assert mismatches(record)


def test_no_hash_confirms_a_guess(place: Path) -> None:
    """Whoever knows all the rest and guesses what was erased finds no hash that it fits."""
    with Record.open(str(place)) as record:
        path = record.generation(keep_log(record, b"pin 1234\n")).path
        keep_whole(record, b"pin 1234", PLAN)
        with record.writing():
            record.add_remark("s1", "note", "pin 1234")
            set_at = record.remarks()[0].set_at
        with record.writing():
            new = record.erase_in_log(1, [Patch(4, b"****")])
            record.erase_in_snapshot(1, [Patch(4, b"****")])
            record.erase_remark(1)
        hashes = {entry.hash for entry in record.entries()}
        seeds = {record.seed(LOG, new), record.seed("snapshot", 2), b""}
    from hashlib import sha256

    raw = short_hash(b"pin 1234\n")
    content = sha256(b"pin 1234").digest()
    for seed in seeds:
        guesses = {log_hash(path, 1, 9, seed, raw), log_hash(path, 1, 9, roll(seed, raw), b"")}
        guesses |= {snapshot_hash(PLAN, content, seed), remark_hash("s1", "note", "pin 1234", set_at, seed=seed)}
        assert not guesses & hashes
    data = place.read_bytes()
    assert raw not in data
    assert content not in data
    assert first_hash("x") not in data


def test_a_damaged_log_is_left_as_it_is(place: Path) -> None:
    with Record.open(str(place)) as record:
        keep_log(record, text(2 * CHUNK))
        keep_log(record, b"other\n", OTHER)
    flip(place, "chunk", 1)
    break_store(place, "UPDATE chunk SET hash = x'00' WHERE generation_id = 2")
    with Record.open(str(place)) as record:
        with pytest.raises(StoreCorrupt), record.writing():
            record.erase_in_log(1, [Patch(0, b"*")])
        with pytest.raises(StoreCorrupt, match="not as the chain"), record.writing():
            record.erase_in_log(2, [Patch(0, b"*")])
        assert [made.id for made in record.generations()] == [1, 2]


@pytest.mark.parametrize(
    "patches", [[], [Patch(0, b"")], [Patch(-1, b"*")], [Patch(0, b"**"), Patch(1, b"*")], [Patch(3, b"***")]]
)
def test_stretches_that_make_no_sense(record: Record, patches: list[Patch]) -> None:
    generation = keep_log(record, b"five\n")
    keep_whole(record, b"five\n", PLAN)
    with pytest.raises(UsageError), record.writing():
        record.erase_in_log(generation, patches)
    with pytest.raises(UsageError), record.writing():
        record.erase_in_snapshot(1, patches)


def test_in_one_write_with_other_changes(record: Record) -> None:
    with record.writing():
        root = record.root_id("/src/.claude", ".claude")
        generation = record.start_generation(root, OTHER, "main", "new")
        record.append(generation, b"one two three\n")
        generation = record.erase_in_log(generation, [Patch(4, b"***")])
        record.append(generation, b"four\n")
        record.settle(generation, mark(19), 0o600)
        again = record.erase_in_log(generation, [Patch(0, b"***")])
    assert whole(record, again) == b"*** *** three\nfour\n"
    assert mismatches(record) == []


def test_tombstones(record: Record) -> None:
    assert not record.tombstones().has(SESSION, "claude-code", "s1")
    with record.writing():
        record.bury(SESSION, [("claude-code", "s1"), ("claude-code", "s2")])
    tombstones = record.tombstones()
    assert tombstones.has(SESSION, "claude-code", "s1")
    assert not tombstones.has(SESSION, "codex", "s1")
    with record.writing():
        assert record.exhume(SESSION, "claude-code", "s1")
        assert not record.exhume(SESSION, "claude-code", "s3")
    assert not record.tombstones().has(SESSION, "claude-code", "s1")
    assert record.tombstones().has(SESSION, "claude-code", "s2")


def test_a_salvaged_record_knows_what_was_erased(record: Record, place: Path, tmp_path: Path) -> None:
    generation = keep_log(record, text(CHUNK) + WORD)
    keep_log(record, b"gone\n", OTHER)
    with record.writing():
        new = record.erase_in_log(generation, [Patch(CHUNK, marker(len(WORD)))])
        record.erase_file(2)
        record.bury(SESSION, [("claude-code", "s1")])
    target = tmp_path / "new" / "record.db"
    report = salvage(str(place), str(target))
    assert not report.losses
    with Record.open(str(target)) as salvaged:
        assert whole(salvaged, new) == text(CHUNK) + marker(len(WORD))
        assert salvaged.tombstones().has(SESSION, "claude-code", "s1")
        assert salvaged.head() == record.head()
        assert mismatches(salvaged) == []


def test_a_reader_that_holds_the_log(place: Path) -> None:
    """The log cannot be emptied while somebody reads it: that is an error, and the next attempt works."""
    with Record.open(str(place), busy_seconds=0) as record:
        keep_log(record, WORD)
        reader = apsw.Connection(str(place), flags=apsw.SQLITE_OPEN_READONLY)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM chunk").fetchall()
        with record.writing():
            record.erase_file(1)
        with pytest.raises(StoreBusy):
            record.compact()
        reader.close()
        record.compact()
        assert found(place.parent, WORD) == []


def test_the_marker() -> None:
    assert marker(20) == MARKER + b" " * 9
    assert marker(11) == MARKER
    assert marker(3) == b"***"
