from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
from contextlib import closing
from pathlib import Path

import apsw
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.errors import NotFound, StoreCorrupt
from hansard.record.logs import OPEN_TAILS
from hansard.record.schema import CHUNK
from hansard.record.store import Record
from hansard.storage.sqlite import PAGE_SIZE, checksum_vfs
from tests.record.making import LOG, break_store, chunk_pages, flip, flip_bit, keep_log, keep_more, mark, whole

BYTES = b"".join(b"%d:%d\n" % (number, number * number) for number in range(80_000))[
    :1_280_000
]  # five chunks less a bit
SIZES = st.one_of(
    st.integers(0, 50),
    st.integers(0, 3 * CHUNK),
    st.sampled_from([CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 1]),
)


@settings(max_examples=40, deadline=None)
@given(
    transactions=st.lists(st.lists(SIZES, max_size=4), max_size=4),
    cuts=st.lists(st.tuples(st.integers(-5, 4 * CHUNK), st.integers(-5, 4 * CHUNK)), max_size=6),
    seed=st.integers(0, 255),
)
def test_any_appends_come_back_and_any_range_is_the_slice(
    transactions: list[list[int]], cuts: list[tuple[int, int]], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as directory, Record.open(str(Path(directory, "record.db"))) as record:
        expected = b""
        with record.writing():
            generation = record.start_generation(record.root_id("/r", "r"), LOG, "main", "new")
        for sizes in transactions:
            with record.writing():
                for size in sizes:
                    piece = BYTES[seed : seed + size]
                    expected += piece
                    record.append(generation, piece)
                    assert record.size(generation) == len(expected)
                record.settle(generation, mark(len(expected)), 0o644)
        assert whole(record, generation) == expected
        assert all(not chunk.damage for chunk in record.check(generation))
        assert record.same_prefix(generation)(io.BytesIO(expected + b"more"))
        for start, end in cuts:
            pieces = list(record.read(generation, start, end))
            assert b"".join(pieces) == expected[max(start, 0) : max(end, 0)]
            assert all(0 < len(piece) <= CHUNK for piece in pieces)
        for start, end in cuts * 2:  # the second time from memory
            assert record.glimpse(generation, max(start, 0), max(end, 0)) == expected[max(start, 0) : max(end, 0)]


def test_a_glimpse_sees_what_another_process_appends(record: Record, place: Path) -> None:
    generation = keep_log(record, BYTES[:1000])
    with Record.open(str(place), readonly=True) as reader:
        assert reader.glimpse(generation, 100, 5000) == BYTES[100:1000]
        keep_more(record, generation, BYTES[1000 : CHUNK + 9000])
        assert reader.glimpse(generation, 100, 5000) == BYTES[100:5000]
        assert reader.glimpse(generation, 4000, CHUNK + 4000) == BYTES[4000 : CHUNK + 4000]
        for start in range(0, 40 * 1000, 1000):
            assert reader.glimpse(generation, start, start + 10) == BYTES[start : start + 10]


def test_a_glimpse_gives_what_is_before_damage(record: Record, place: Path) -> None:
    generation = keep_log(record, BYTES)
    break_store(place, "UPDATE chunk SET data = x'00' WHERE start = ?", (CHUNK,))
    assert record.glimpse(generation, CHUNK - 10, CHUNK + 10) == BYTES[CHUNK - 10 : CHUNK]
    assert record.glimpse(generation, CHUNK, CHUNK + 10) == b""
    assert record.glimpse(generation, 2 * CHUNK, 2 * CHUNK + 10) == BYTES[2 * CHUNK : 2 * CHUNK + 10]


def test_a_line_is_whole_or_an_error(record: Record, place: Path) -> None:
    generation = keep_log(record, BYTES)
    break_store(place, "UPDATE chunk SET data = x'00' WHERE start = ?", (CHUNK,))
    assert record.glimpse_line(generation, 0, 100) == BYTES[:100]
    for start, length in ((CHUNK - 10, 20), (CHUNK, 1), (len(BYTES) - 5, 6)):
        with pytest.raises(StoreCorrupt, match=r"damaged at projects/.*hansard verify --repair"):
            record.glimpse_line(generation, start, length)
    with pytest.raises(StoreCorrupt, match="the chunk is missing"):
        record.glimpse_line(generation + 1, 0, 1)


@pytest.mark.skipif(checksum_vfs() is None, reason="this apsw carries no cksumvfs")
def test_a_flipped_bit_gives_no_other_bytes(place: Path) -> None:
    """In every page that holds chunks: text compresses so that many flips still decompress, to other text."""
    text = b"".join(b"%d words of a story, %x\n" % (number, number**7) for number in range(30_000))
    with Record.open(str(place)) as record:
        generation = keep_log(record, text)
    dice = random.Random(5)
    errors = 0
    for page in chunk_pages(place):
        bit = (page * PAGE_SIZE + dice.randrange(PAGE_SIZE)) * 8 + dice.randrange(8)
        flip_bit(place, bit)
        with Record.open(str(place), readonly=True) as record:
            for start in range(0, len(text), CHUNK // 2):
                expected = text[start : start + 5000]
                for read in (
                    record.glimpse_line,
                    lambda *where: b"".join(record.read(where[0], where[1], sum(where[1:]))),
                ):
                    try:
                        assert read(generation, start, 5000)[: len(expected)] == expected
                    except StoreCorrupt:
                        errors += 1
        flip_bit(place, bit)
    assert errors > len(chunk_pages(place))


def test_without_page_checksums_the_hash_of_the_chunk_proves_a_line(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hansard.storage.sqlite.checksum_vfs", lambda: None)
    text = b"the same words again and again\n" * 5000
    with Record.open(str(place)) as record:
        generation = keep_log(record, text)
        assert record.glimpse_line(generation, 31, 30) == text[31:61]
    with closing(apsw.Connection(str(place))) as db:
        other = zstandard.ZstdCompressor().compress(text.replace(b"words", b"WORDS"))
        db.execute("UPDATE chunk SET data = ?", (other,))
    with Record.open(str(place)) as record, pytest.raises(StoreCorrupt, match="do not match the recorded hash"):
        record.glimpse_line(generation, 31, 30)


def test_a_step_that_is_undone_leaves_no_glimpse(record: Record) -> None:
    generation = keep_log(record, BYTES[:1000])

    def fail() -> None:
        with record.writing():
            record.append(generation, b"never said")
            assert record.glimpse(generation, 990, 1010) == BYTES[990:1000] + b"never said"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    keep_more(record, generation, b"really said")
    assert record.glimpse(generation, 990, 1010) == BYTES[990:1000] + b"really sai"


def test_chunks_are_full_but_the_last(record: Record) -> None:
    generation = keep_log(record, BYTES, piece=3001)
    for _ in range(20):
        keep_more(record, generation, b"x" * 1000)
    rows = record._rows("SELECT start, length FROM chunk WHERE generation_id = ? ORDER BY start", (generation,))
    assert [start for start, _ in rows] == list(range(0, len(BYTES) + 20_000, CHUNK))
    assert all(length == CHUNK for _, length in rows[:-1])


def test_a_piece_is_compressed_once_in_a_transaction(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    packed: list[int] = []
    pack = record._codec.pack

    class Counting:
        unpack = staticmethod(record._codec.unpack)

        @staticmethod
        def pack(raw: bytes) -> bytes:
            packed.append(len(raw))
            return pack(raw)

    monkeypatch.setattr(record, "_codec", Counting)
    keep_log(record, BYTES, piece=997)
    assert sum(packed) == len(BYTES)


def test_few_tails_are_held_whatever_is_appended_to(record: Record) -> None:
    count = 3 * OPEN_TAILS
    with record.writing():
        root = record.root_id("/r", "r")
        logs = [record.start_generation(root, f"projects/p/{number}.jsonl", "main", "new") for number in range(count)]
        for turn in range(3):
            for generation in logs:
                record.append(generation, f"{generation} {turn}\n".encode() * 100)
                assert len(record._tails) <= OPEN_TAILS
    assert not record._tails
    for generation in logs:
        assert whole(record, generation) == b"".join(f"{generation} {turn}\n".encode() * 100 for turn in range(3))


def test_what_is_not_yet_written_can_be_read(record: Record) -> None:
    with record.writing():
        generation = record.start_generation(record.root_id("/r", "r"), LOG, "main", "new")
        record.append(generation, b"one\n")
        assert whole(record, generation) == b"one\n"
        record.append(generation, b"two\n")
        assert [row.size for row in record.generations()] == [8]
        record.append(generation, b"three\n")
        assert record.same_prefix(generation)(io.BytesIO(b"one\ntwo\nthree\n"))
        record.settle(generation, mark(14), 0o644)
    assert whole(record, generation) == b"one\ntwo\nthree\n"


def test_a_reader_keeps_the_moment_of_its_call(record: Record, place: Path) -> None:
    generation = keep_log(record, BYTES)
    with Record.open(str(place), readonly=True) as reader:
        pieces = reader.read(generation)
        first = next(pieces)
        keep_more(record, generation, b"later")
        assert first + b"".join(pieces) == BYTES
        assert whole(reader, generation) == BYTES + b"later"


def test_generations_follow_each_other(record: Record) -> None:
    first = keep_log(record, b"old content\n")
    second = keep_log(record, b"new\n", reason="rewritten")
    assert second > first
    assert whole(record, first) == b"old content\n"
    assert whole(record, second) == b"new\n"
    old, new = record.generations()
    assert (old.id, old.seq, old.size, old.current, old.ended_reason) == (first, 1, 12, False, "rewritten")
    assert (new.id, new.seq, new.size, new.current, new.ended_reason) == (second, 2, 4, True, None)
    assert (new.path, new.kind, new.mode, new.mtime_ns) == (LOG, "main", 0o644, mark(4).mtime_ns)
    assert record.known(1)[LOG].generation == second
    with record.writing(), pytest.raises(ValueError, match="closed"):
        record.append(first, b"too late")


def test_a_rewrite_within_one_transaction_keeps_both(record: Record) -> None:
    with record.writing():
        root = record.root_id("/r", "r")
        first = record.start_generation(root, LOG, "main", "new")
        record.append(first, b"one")
        second = record.start_generation(root, LOG, "main", "truncated")
        record.append(second, b"two")
        with pytest.raises(ValueError, match="closed"):
            record.append(first, b"more")
    assert (whole(record, first), whole(record, second)) == (b"one", b"two")


def test_a_mark_elsewhere_than_at_the_end_is_refused(record: Record) -> None:
    generation = keep_log(record, b"12345")
    with record.writing(), pytest.raises(ValueError, match="holds 5 bytes, the mark says 7"):
        record.settle(generation, mark(7), 0o644)
    assert whole(record, generation) == b"12345"


def test_a_look_that_finds_nothing_new_renews_the_mark(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    generation = keep_log(record, b"12345")
    monkeypatch.setattr(record, "_codec", None)
    with record.writing():
        record.settle(generation, mark(5, 99), 0o600)
    assert record.known(1)[LOG].mark == mark(5, 99)
    assert (record.generation(generation).mtime_ns, record.generation(generation).mode) == (99, 0o600)


def test_an_empty_log(record: Record) -> None:
    generation = keep_log(record, b"")
    assert whole(record, generation) == b""
    assert record.same_prefix(generation)(io.BytesIO(b"anything"))
    assert record.known(1)[LOG].mark == mark(0)


@pytest.mark.parametrize("other", [b"", BYTES[:-1], b"x" + BYTES[1:], BYTES[:-1] + b"x"])
def test_another_prefix_is_seen(record: Record, other: bytes) -> None:
    same = record.same_prefix(keep_log(record, BYTES))
    assert same(io.BytesIO(BYTES))
    assert not same(io.BytesIO(other))


def test_an_unknown_generation(record: Record) -> None:
    for call in (record.size, record.read, record.generation):
        with pytest.raises(NotFound, match="no generation 42"):
            call(42)


# Damage.


def test_a_flipped_bit_is_found_and_named(record: Record, place: Path) -> None:
    generation = keep_log(record, BYTES)
    flip(place, "chunk", 3)
    assert b"".join(record.read(generation, 0, 2 * CHUNK)) == BYTES[: 2 * CHUNK]
    assert b"".join(record.read(generation, 3 * CHUNK)) == BYTES[3 * CHUNK :]
    with pytest.raises(StoreCorrupt, match=f"{LOG}, generation {generation}, chunk at byte {2 * CHUNK}.*verify"):
        whole(record, generation)
    assert [chunk.start for chunk in record.check(generation) if chunk.damage] == [2 * CHUNK]


def test_a_chunk_that_claims_more_than_its_length_is_not_unpacked(record: Record, place: Path) -> None:
    generation = keep_log(record, b"small")
    bomb = zstandard.ZstdCompressor().compress(bytes(64 << 20))
    break_store(place, "UPDATE chunk SET data = ?", (bomb,))
    with pytest.raises(StoreCorrupt, match=f"claims {64 << 20} bytes where 5 are recorded"):
        whole(record, generation)
    break_store(place, "UPDATE chunk SET length = ?", (64 << 20,))
    with pytest.raises(StoreCorrupt, match="impossible length"):
        whole(record, generation)


def test_a_frame_without_a_stated_length_is_refused(record: Record, place: Path) -> None:
    generation = keep_log(record, b"small")
    break_store(
        place, "UPDATE chunk SET data = ?", (zstandard.ZstdCompressor(write_content_size=False).compress(b"small"),)
    )
    with pytest.raises(StoreCorrupt, match="claims"):
        whole(record, generation)


def test_a_missing_chunk_is_found(record: Record, place: Path) -> None:
    generation = keep_log(record, BYTES)
    break_store(place, "DELETE FROM chunk WHERE id = 2")
    with pytest.raises(StoreCorrupt, match=f"chunk at byte {CHUNK}: the chunk is missing"):
        whole(record, generation)
    damaged = [(chunk.start, chunk.length) for chunk in record.check(generation) if chunk.damage]
    assert damaged == [(CHUNK, CHUNK)]


def test_a_wrong_size_is_found(record: Record, place: Path) -> None:
    generation = keep_log(record, BYTES)
    break_store(place, "UPDATE generation SET size = ?", (CHUNK,))
    assert [chunk.start for chunk in record.check(generation) if chunk.damage] == [CHUNK]
    break_store(place, "UPDATE generation SET size = ?", (len(BYTES) + 9,))
    assert any(chunk.damage for chunk in record.check(generation))


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("moment", ["appended", "settled", "flushed"])
def test_a_kill_in_mid_transaction_leaves_the_last_commit(place: Path, moment: str) -> None:
    with Record.open(str(place)) as record:
        generation = keep_log(record, BYTES)
        before = (record.revision(), list(record.generations()), record.known(1))
    script = f"""
        import os, signal
        from hansard.record.store import Record
        from tests.record.making import mark
        record = Record.open({str(place)!r})
        record._db.pragma("cache_size", 4)  # so that much is on the disk before the commit
        with record.writing():
            record.append({generation}, os.urandom(2_000_000))
            if {moment!r} == "settled":
                record.settle({generation}, mark(record.size({generation})), 0o644)
            if {moment!r} == "flushed":
                sum(map(len, record.read({generation})))
            os.kill(os.getpid(), signal.SIGKILL)
    """
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False, env=environment)
    assert done.returncode == -signal.SIGKILL
    assert place.with_name("record.db-wal").stat().st_size > 0
    with Record.open(str(place)) as record:
        assert (record.revision(), list(record.generations()), record.known(1)) == before
        assert whole(record, generation) == BYTES
        assert record.database_damage() == []
        keep_more(record, generation, b"and on")
        assert whole(record, generation) == BYTES + b"and on"
