"""A log is read once, whatever is done to it in between."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.sources import tail
from hansard.sources.tail import RACY_NS, WINDOW, Mark, Verdict, file_status, open_tail, settled

SECOND = 1_000_000_000
NOW = 1_800_000_000 * SECOND


def read(
    path: Path, mark: Mark | None = None, now: int = NOW, kept: bytes | None = None
) -> tuple[Verdict, bytes, Mark]:
    with open_tail(str(path), mark, None if kept is None else begins_with(kept), lambda: now) as log:
        return log.verdict, b"".join(log.pieces(7)), log.mark()


def begins_with(kept: bytes) -> Callable[[BinaryIO], bool]:
    def compare(file: BinaryIO) -> bool:
        assert file.tell() == 0
        return file.read(len(kept)) == kept

    return compare


def write(path: Path, data: bytes, mtime_ns: int = NOW - 60 * SECOND) -> None:
    path.write_bytes(data)
    os.utime(path, ns=(mtime_ns, mtime_ns))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


@pytest.fixture(autouse=True, scope="module")
def without_ctime() -> Iterator[None]:
    """No test can set the time of a status change, so most of these do without, as on Windows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail, "_HAS_CTIME", False)
        yield


def is_settled(path: Path, mark: Mark) -> bool:
    status = file_status(path.stat())
    return settled(mark, status.size, status.mtime_ns, status.ctime_ns, status.inode)


LONG = bytes(range(256)) * 40


@pytest.mark.parametrize("data", [b"", b"one\n", LONG])
def test_a_new_log_is_read_whole(log: Path, data: bytes) -> None:
    write(log, data)
    verdict, got, mark = read(log)
    assert (verdict, got, mark.offset, mark.seen_ns) == (Verdict.NEW, data, len(data), NOW)
    assert is_settled(log, mark)
    assert read(log, mark)[:2] == (Verdict.SAME, b"")


@pytest.mark.parametrize("data", [b"", b"one\n", LONG])
def test_what_was_appended_is_read_alone(log: Path, data: bytes) -> None:
    write(log, data)
    mark = read(log)[2]
    write(log, data + b"more\n")
    with open_tail(str(log), mark, begins_with(data)) as grown:
        assert grown.verdict is Verdict.GREW
        assert b"".join(grown.pieces()) == b"more\n"
        new = grown.mark()
    assert new._replace(seen_ns=0, since_ns=0) == read(log)[2]._replace(seen_ns=0, since_ns=0)


def test_a_log_that_grows_under_our_eyes_is_read_to_its_size_when_opened(log: Path) -> None:
    write(log, b"one\n")
    with open_tail(str(log), None) as opened, log.open("ab") as writer:
        writer.write(b"two\n")
        writer.flush()
        assert b"".join(opened.pieces()) == b"one\n"
        mark = opened.mark()
    assert read(log, mark)[:2] == (Verdict.GREW, b"two\n")


def test_a_log_that_is_cut_under_our_eyes_ends_there(log: Path) -> None:
    write(log, b"one\ntwo\n")
    with open_tail(str(log), None) as opened:
        os.truncate(log, 4)
        assert b"".join(opened.pieces()) == b"one\n"
        assert opened.mark().offset == 4


def test_reading_may_stop_half_way(log: Path) -> None:
    write(log, LONG)
    with open_tail(str(log), None) as opened:
        first = next(opened.pieces(5000))
        mark = opened.mark()
    verdict, rest, _ = read(log, mark)
    assert (verdict, first + rest) == (Verdict.GREW, LONG)


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        (b"", Verdict.TRUNCATED),
        (LONG[: WINDOW + 1], Verdict.TRUNCATED),
        (LONG[:100], Verdict.REWRITTEN),  # too short to tell
        (b"x" + LONG[1 : WINDOW + 1], Verdict.REWRITTEN),
        (b"x" + LONG[1:], Verdict.REWRITTEN),
        (LONG[:-1] + b"x", Verdict.REWRITTEN),
        (LONG[:-1] + b"x and more", Verdict.REWRITTEN),
    ],
)
def test_a_log_that_was_not_only_appended_to_is_read_from_the_start(log: Path, after: bytes, verdict: Verdict) -> None:
    write(log, LONG)
    mark = read(log)[2]
    write(log, after, NOW - 30 * SECOND)
    assert read(log, mark)[:2] == (verdict, after)


@pytest.mark.parametrize(
    ("after", "verdict", "new"),
    [
        (LONG, Verdict.SAME, b""),
        (LONG + b"x", Verdict.GREW, b"x"),
        (LONG[:5000] + b"?" + LONG[5001:], Verdict.REPLACED, None),
        (b"?", Verdict.REPLACED, None),
        (LONG[:WINDOW], Verdict.TRUNCATED, None),
    ],
)
def test_a_file_put_in_a_logs_place_is_compared(log: Path, after: bytes, verdict: Verdict, new: bytes | None) -> None:
    write(log, LONG)
    mark = read(log)[2]
    other = log.with_suffix(".new")
    write(other, after)
    os.replace(other, log)
    assert read(log, mark, kept=LONG)[:2] == (verdict, after if new is None else new)


def test_a_change_in_the_middle_shows_by_the_time_alone(log: Path) -> None:
    write(log, LONG)
    mark = read(log)[2]
    changed = LONG[:5000] + b"?" + LONG[5001:]
    write(log, changed, NOW - 30 * SECOND)
    assert read(log, mark, kept=LONG)[:2] == (Verdict.REWRITTEN, changed)
    write(log, LONG, NOW - 30 * SECOND)
    verdict, got, mark = read(log, mark, kept=LONG)
    assert (verdict, got, mark.mtime_ns) == (Verdict.SAME, b"", NOW - 30 * SECOND)


def test_a_large_log_in_use_is_compared_when_it_rests(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "LARGE", len(LONG) - 1)
    write(log, LONG, NOW)
    mark = read(log)[2]
    changed = LONG[:5000] + b"?" + LONG[5001:]
    write(log, changed, NOW)
    verdict, _, mark = read(log, mark, NOW + RACY_NS - 1, kept=LONG)
    assert verdict is Verdict.SAME
    assert not settled(mark, len(LONG), NOW, 0, mark.inode)
    assert read(log, mark, NOW + RACY_NS, kept=LONG)[:2] == (Verdict.REWRITTEN, changed)


def test_only_a_status_that_proves_it_settles() -> None:
    seen = NOW + RACY_NS
    mark = Mark(offset=10, mtime_ns=7, ctime_ns=NOW, inode=5, head=b"", last=b"", seen_ns=seen, since_ns=seen)
    assert settled(mark, 10, 7, NOW, 5)
    assert settled(mark, 10, 7, NOW, 0)
    assert settled(mark._replace(inode=0), 10, 7, NOW, 5)
    assert settled(mark._replace(ctime_ns=0), 10, 7, 0, 5)  # no such time on this system: the other one counts
    assert not settled(mark, 11, 7, NOW, 5)
    assert not settled(mark, 10, 8, NOW, 5)
    assert not settled(mark, 10, 7, NOW + 1, 5)
    assert not settled(mark, 10, 7, NOW, 6)
    assert not settled(mark._replace(ctime_ns=None), 10, 7, NOW, 5)
    assert not settled(mark._replace(seen_ns=seen - 1), 10, 7, NOW, 5)


def test_a_time_in_the_future_settles_when_it_stood_still_between_two_looks() -> None:
    ahead = NOW + 3600 * SECOND
    first = Mark(offset=10, mtime_ns=ahead, ctime_ns=ahead, inode=5, head=b"", last=b"", seen_ns=NOW, since_ns=NOW)
    assert not settled(first, 10, ahead, ahead, 5)
    assert not settled(first._replace(seen_ns=NOW + RACY_NS - 1), 10, ahead, ahead, 5)
    assert settled(first._replace(seen_ns=NOW + RACY_NS), 10, ahead, ahead, 5)
    assert settled(first._replace(mtime_ns=ahead, ctime_ns=NOW - RACY_NS), 10, ahead, NOW - RACY_NS, 5)


def test_the_systems_errors_come_through(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_tail(str(tmp_path / "missing"), None)
    with pytest.raises(OSError, match=r"directory|denied|regular"):
        open_tail(str(tmp_path), None)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(OSError, match="not a regular file"):
        open_tail(str(tmp_path / "pipe.jsonl"), None)


@dataclass
class RecordWriter:
    """Keeps a log as a record does, on a file system with a coarse clock."""

    path: Path
    now: int = NOW
    kept: bytes = b""
    mark: Mark | None = None
    closed: list[bytes] = field(default_factory=list)

    def stamp(self) -> None:
        coarse = self.now - self.now % RACY_NS
        os.utime(self.path, ns=(coarse, coarse))

    def look(self, *, knows_inodes: bool) -> None:
        size, mtime_ns, ctime_ns, inode, _ = file_status(self.path.stat())
        if self.mark and settled(self.mark, size, mtime_ns, ctime_ns, inode if knows_inodes else 0):
            return
        with open_tail(str(self.path), self.mark, begins_with(self.kept), lambda: self.now) as log:
            if log.verdict not in {Verdict.SAME, Verdict.GREW}:
                self.closed.append(self.kept)
                self.kept = b""
            self.kept += b"".join(log.pieces(1000))
            self.mark = log.mark()


# Sizes on both sides of a window, of two, and of a piece.
CONTENT = st.builds(
    lambda seed, times: seed * times, st.binary(min_size=1, max_size=8), st.sampled_from([0, 1, 600, 1100])
)
STEP = st.one_of(
    st.tuples(st.just("append"), CONTENT),
    st.tuples(st.just("truncate"), st.integers(0, 10_000)),
    st.tuples(st.just("rewrite"), CONTENT),
    st.tuples(st.just("replace"), CONTENT),
    st.tuples(st.just("patch"), st.integers(0, 10_000)),
    st.tuples(st.just("look"), st.booleans()),
    st.tuples(st.just("wait"), st.integers(0, 5 * SECOND)),
)


def change(path: Path, step: str, value: int | bytes, data: bytes) -> None:
    if isinstance(value, bytes):
        if step == "append":
            with path.open("ab") as file:
                file.write(value)
        elif step == "rewrite":
            path.write_bytes(value)
        else:
            path.with_suffix(".new").write_bytes(value)
            os.replace(path.with_suffix(".new"), path)
    elif value < len(data):
        if step == "truncate":
            os.truncate(path, value)
        else:
            path.write_bytes(data[:value] + bytes([data[value] ^ 1]) + data[value + 1 :])


@settings(deadline=None)
@given(steps=st.lists(STEP, max_size=20))
def test_any_history_of_a_log_gives_its_exact_bytes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int | bytes]]
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.touch()
    keeper = RecordWriter(path)
    keeper.stamp()
    seen = []
    for step, value in [*steps, ("look", True)]:
        data = path.read_bytes()
        if step == "wait":
            keeper.now += int(value)
        elif step != "look":
            change(path, step, value, data)
            keeper.stamp()
        if step == "look":
            keeper.look(knows_inodes=bool(value))
            assert keeper.kept == path.read_bytes()
            seen.append(keeper.kept)
    # Every state that was looked at is kept, as a generation or as the beginning of one.
    generations = [*keeper.closed, keeper.kept]
    assert all(any(generation.startswith(state) for generation in generations) for state in seen)


@settings(deadline=None)
@given(parts=st.lists(CONTENT, max_size=8), piece=st.integers(1, 6000))
def test_any_split_into_appends_is_read_without_gap_or_overlap(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], piece: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.touch()
    mark = None
    for part in parts:
        with path.open("ab") as file:
            file.write(part)
        with open_tail(str(path), mark) as log:
            assert b"".join(log.pieces(piece)) == part
            assert log.verdict is (Verdict.NEW if mark is None else Verdict.GREW if part else Verdict.SAME)
            mark = log.mark()
    whole = read(path)[2]
    if mark is not None:
        assert (mark.offset, mark.head, mark.last) == (whole.offset, whole.head, whole.last)


# -- with the time of a status change, where the system has one

with_ctime = pytest.mark.skipif(os.name == "nt", reason="there it is the time of creation")


@with_ctime
def test_an_edit_with_the_date_put_back_is_seen(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "_HAS_CTIME", True)
    write(log, LONG)
    later = time.time_ns() + 60 * SECOND
    mark = read(log, now=later)[2]
    assert is_settled(log, mark)
    changed = LONG[:5000] + b"?" + LONG[5001:]
    while log.stat().st_ctime_ns == mark.ctime_ns:  # the file clock ticks a few hundred times a second
        write(log, changed)
    assert log.stat().st_mtime_ns == mark.mtime_ns
    assert not is_settled(log, mark)
    assert read(log, mark, later, kept=LONG)[:2] == (Verdict.REWRITTEN, changed)


@with_ctime
def test_a_file_that_was_written_while_it_was_read_says_so(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "_HAS_CTIME", True)
    write(log, LONG)
    with open_tail(str(log), None) as opened:
        before = log.stat().st_ctime_ns
        assert b"".join(opened.pieces()) == LONG
        assert not opened.has_moved()
        while log.stat().st_ctime_ns == before:
            write(log, LONG[::-1])
        assert opened.has_moved()


@pytest.mark.parametrize("year", [1, 1600, 2400, 9999])
def test_any_date_fits(log: Path, year: int) -> None:
    log.write_bytes(b"x")
    status = log.stat()
    seconds = (year - 1970) * 31_556_952
    wild = SimpleNamespace(
        st_size=1,
        st_mtime_ns=seconds * SECOND,
        st_ctime_ns=seconds * SECOND,
        st_ino=(1 << 128) - 1,
        st_mode=status.st_mode,
    )
    found = file_status(wild)  # type: ignore[arg-type] # as large as a status can be
    assert all(-(1 << 63) <= number < 1 << 63 for number in found)


def test_an_edit_in_the_middle_and_an_append_are_no_growth(log: Path) -> None:
    long = LONG * 10
    write(log, long)
    mark = read(log)[2]
    changed = long[:50_000] + b"?" + long[50_001:]
    write(log, changed + b"more\n", NOW - 30 * SECOND)
    assert read(log, mark, kept=long)[:2] == (Verdict.REWRITTEN, changed + b"more\n")
