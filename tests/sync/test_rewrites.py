"""No rewrite is taken for growth, not even one that happens while the file is being read."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from hansard.record.store import Record
from hansard.sources import tail
from hansard.sync import record_writer
from tests.sync.making import Tree, main_path, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATH = main_path(session(1))
CHUNK = 256 << 10
LINE = b'{"type":"progress","text":"%s"}\n'


def text(start: int, count: int) -> bytes:
    """Long lines, no two of them alike."""
    return b"".join(LINE % (b"%06d " % number * 5000) for number in range(start, start + count))


DATA = text(0, 32)  # over a megabyte: nothing near its ends shows an edit in the middle


def kept(tree: Tree) -> list[bytes]:
    with Record.open(str(tree.home / "record.db"), readonly=True) as record:
        return [b"".join(record.read(item.id)) for item in record.generations() if item.path == PATH]


def edited(data: bytes) -> bytes:
    return data[:600_000] + b"#" + data[600_001:]


def _edit_and_append(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(edited(DATA))
        file.write(text(7, 1))


def _truncate_and_rewrite(path: Path) -> None:
    path.write_bytes(edited(DATA) + text(7, 2))


def _recreate(path: Path) -> None:
    path.unlink()
    path.write_bytes(edited(DATA) + text(7, 2))


def _same_size_and_date(path: Path) -> None:
    status = path.stat()
    path.write_bytes(edited(DATA))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _grow_by_an_edited_copy(path: Path) -> None:
    path.with_suffix(".tmp").write_bytes(edited(DATA) + text(7, 2))
    path.with_suffix(".tmp").replace(path)


REWRITES = [_edit_and_append, _truncate_and_rewrite, _recreate, _same_size_and_date, _grow_by_an_edited_copy]


@pytest.mark.parametrize("rewrite", REWRITES)
def test_both_files_are_kept(tree: Tree, rewrite: Callable[[Path], None]) -> None:
    tree.write(PATH, DATA)
    tree.sync()
    rewrite(tree.place(PATH))
    tree.sync()
    assert kept(tree) == [DATA, tree.place(PATH).read_bytes()]


@pytest.mark.parametrize("rewrite", REWRITES)
@pytest.mark.parametrize("after", [1, 3])
def test_a_rewrite_while_it_is_read(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, rewrite: Callable[[Path], None], after: int
) -> None:
    """The sync that was surprised looks again, and what stands there in the end is kept."""
    tree.write(PATH, DATA)
    real = tail.Tail.pieces
    done: list[bool] = []

    def pieces(self: tail.Tail, size: int = 1) -> Iterator[bytes]:
        for number, piece in enumerate(real(self, size), 1):
            yield piece
            if number == after and not done:
                done.append(True)
                rewrite(tree.place(PATH))

    monkeypatch.setattr(tail.Tail, "pieces", pieces)
    tree.sync()
    if rewrite not in (_recreate, _grow_by_an_edited_copy):  # another file by the same name is found by the next look
        assert kept(tree)[-1] == tree.place(PATH).read_bytes()
    tree.sync()
    assert kept(tree)[-1] == tree.place(PATH).read_bytes()


def test_a_large_log_is_compared_when_it_comes_to_rest(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "LARGE", 1 << 10)
    monkeypatch.setattr(record_writer, "COMPARED_AT_ONCE", 1)
    tree.write(PATH, DATA)
    tree.sync()
    _edit_and_append(tree.place(PATH))
    tree.sync()
    assert len(kept(tree)) == 1  # it is being written: only its ends were looked at
    later = time.time_ns() + 10 * tail.RACY_NS
    monkeypatch.setattr(record_writer, "open_tail", partial(tail.open_tail, clock=lambda: later))
    tree.sync()
    assert kept(tree)[-1] == tree.place(PATH).read_bytes()
    assert len(kept(tree)) == 2


@pytest.mark.usefixtures("at_rest")
def test_reread_trusts_no_status(tree: Tree) -> None:
    tree.write(PATH, DATA)
    tree.sync()
    _same_size_and_date(tree.place(PATH))
    status = tree.place(PATH).stat()
    with Record.open(str(tree.home / "record.db")) as record, record.writing():
        record._run(
            "UPDATE file SET mark_ctime_ns = ?", (status.st_ctime_ns,)
        )  # as if its clock had been turned back too
    tree.sync()
    assert kept(tree) == [DATA]
    tree.sync(reread=True)
    assert kept(tree) == [DATA, edited(DATA)]


@pytest.mark.usefixtures("at_rest")
def test_what_only_its_status_speaks_against_is_compared_within_a_budget(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [main_path(session(number)) for number in range(4)]
    for path in paths:
        tree.write(path, DATA)
    tree.sync()
    compared = 0
    real = Record.first_difference

    def count(self: Record, *given: Any) -> int | None:
        nonlocal compared
        compared += 1
        return real(self, *given)

    monkeypatch.setattr(Record, "first_difference", count)
    for path in paths:
        tree.place(path).chmod(0o640)
    assert tree.sync(compare_bytes=len(DATA)).changed == 0
    assert compared == 1
    tree.sync(compare_bytes=2 * len(DATA))
    assert compared == 3
    tree.sync(compare_bytes=None)
    tree.sync()
    assert compared == 4


def test_generations_share_what_they_have_in_common(tree: Tree) -> None:
    big = text(0, 120)  # 4 MB
    tree.write(PATH, big)
    tree.sync()
    states = [big]
    for number in range(12):
        at = number * 300_000
        states.append(states[-1][:at] + b"@" + states[-1][at + 1 :])
        tree.write(PATH, states[-1])
        tree.sync()
    assert kept(tree) == states
    with Record.open(str(tree.home / "record.db"), readonly=True) as record:
        ((stored, logical),) = record._rows("SELECT sum(length) FILTER (WHERE source IS NULL), sum(length) FROM chunk")
    assert logical > 12 * len(big)
    assert stored < 2 * len(big)


def test_a_stretch_of_a_large_log_that_fails_leaves_the_others(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that is committed in several steps goes on where the last good one ended."""
    monkeypatch.setattr(record_writer, "_FIRST_COMMIT", CHUNK)
    monkeypatch.setattr(record_writer, "_LAST_COMMIT", CHUNK)
    tree.write(PATH, DATA)
    real = Record.append
    calls = 0

    def fail(self: Record, *given: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise MemoryError
        real(self, *given)

    monkeypatch.setattr(Record, "append", fail)
    assert tree.sync().problems == 1
    assert kept(tree) == [DATA[: 3 * CHUNK]]
    assert tree.sync().problems == 0
    assert kept(tree) == [DATA]
