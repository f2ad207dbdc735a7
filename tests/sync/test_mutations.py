"""Whatever is done to a file, the record holds no content as proven that the file never had."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from hansard.record.store import Record
from hansard.sources import tail
from hansard.sync import record_writer
from hansard.sync.report import ProgressReporter
from hansard.sync.survey import survey
from tests.sync.making import Tree, main_path, session
from tests.sync.mutations import BETWEEN, DURING, MORE, Source, lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sync.mutations import Change

LOG, WHOLE = main_path(session(1)), "todos/plan.json"
SHAPES = {"small": LOG, "large": LOG, "whole": WHOLE}


class Attack:
    """One file under attack, and the record that is kept of it."""

    def __init__(self, tree: Tree, shape: str, patch: pytest.MonkeyPatch) -> None:
        self.tree, self.path, self.patch = tree, SHAPES[shape], patch
        self.source = Source(tree.place(self.path))
        self.record = Record.open(str(tree.home / "record.db"))
        patch.setattr(tail, "LARGE", 256 << 10 if shape == "large" else 16 << 20)
        patch.setattr(record_writer, "COMPARED_AT_ONCE", 1)  # one chunk
        self.set_clock(time.time_ns())  # no file is at rest: each is written after this

    def set_clock(self, moment: int) -> None:
        self.patch.setattr(record_writer, "open_tail", partial(tail.open_tail, clock=lambda: moment))

    def keep(self) -> None:
        surveys = survey(self.record, self.tree.roots, 1 << 30)
        record_writer.RecordWriter(self.record, ProgressReporter(None), committed=lambda: None).keep(surveys)

    def keep_during(self, change: Change, times: int) -> None:
        """Keep the file while it is changed at each of its first readings."""
        real = tail.Tail.pieces
        left = times

        def pieces(log: tail.Tail, size: int = 1) -> Iterator[bytes]:
            nonlocal left
            for number, piece in enumerate(real(log, size), 1):
                yield piece
                if number == 2 and left and self.source.path.exists():
                    left -= 1
                    change(self.source)

        with self.patch.context() as patch:
            patch.setattr(tail.Tail, "pieces", pieces)
            self.keep()

    def delete(self) -> None:
        self.source.path.unlink(missing_ok=True)
        self.keep()

    def contents(self) -> list[tuple[bytes, int | None]]:
        """Each content that is kept, with the offset from which on it is unproven."""
        record = self.record
        logs = [(b"".join(record.read(item.id)), record.unproven_from("log", item.id)) for item in record.generations()]
        return logs + [
            (record.read_snapshot(item.id), record.unproven_from("snapshot", item.id)) for item in record.snapshots()
        ]

    def check(self) -> None:
        for content, unproven_from in self.contents():
            if self.path == WHOLE:
                assert unproven_from is not None or content in self.source.states
            else:
                assert any(state.startswith(content[:unproven_from]) for state in self.source.states)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("change", BETWEEN)
def test_a_change_between_two_syncs(tree: Tree, monkeypatch: pytest.MonkeyPatch, change: str, shape: str) -> None:
    attack = Attack(tree, shape, monkeypatch)
    attack.keep()
    former = attack.source.path.read_bytes()
    BETWEEN[change](attack.source)
    now = attack.source.path.read_bytes()
    attack.keep()
    attack.delete()
    attack.check()
    contents = attack.contents()
    assert any(content[:unproven_from].startswith(former) for content, unproven_from in contents)
    assert any(content[:unproven_from].startswith(now) for content, unproven_from in contents) or (
        shape == "large" and any(unproven_from is not None for _, unproven_from in contents)
    )
    attack.record.close()


@pytest.mark.parametrize("times", [1, 9])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("change", DURING)
def test_a_change_while_a_file_is_read(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, change: str, shape: str, times: int
) -> None:
    attack = Attack(tree, shape, monkeypatch)
    attack.keep_during(DURING[change], times)
    attack.delete()
    attack.check()
    attack.record.close()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("change", DURING)
def test_a_change_while_what_is_new_is_read(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, change: str, shape: str
) -> None:
    attack = Attack(tree, shape, monkeypatch)
    monkeypatch.setattr(tail, "_HELD", 0)
    attack.keep()
    attack.source.append(lines(3000, 700))
    attack.keep_during(DURING[change], 1)
    attack.delete()
    attack.check()
    attack.record.close()


@pytest.mark.parametrize("shape", ["small", "large"])
def test_a_clock_that_stands_still(tree: Tree, monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    """Times that show no write, as within one tick of a coarse clock, prove nothing."""
    attack = Attack(tree, shape, monkeypatch)
    real, moment = tail.file_status, time.time_ns()
    monkeypatch.setattr(tail, "file_status", lambda status: real(status)._replace(mtime_ns=moment, ctime_ns=moment))
    attack.keep_during(DURING["edit_both"], 1)
    attack.delete()
    attack.check()
    attack.record.close()


def test_a_large_log_is_proven_step_by_step(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it grows, the comparison comes to its end, and each look reads one chunk of what was kept before."""
    attack = Attack(tree, "large", monkeypatch)
    attack.keep()
    proven: list[int] = []
    for _ in range(14):
        attack.source.append()
        attack.keep()
        ((content, unproven_from),) = attack.contents()
        assert content == attack.source.path.read_bytes()
        assert unproven_from is not None
        proven.append(unproven_from)
    assert proven[-1] > proven[0] >= len(attack.source.states[0])
    assert proven == sorted(proven)
    attack.set_clock(time.time_ns() + 10 * tail.RACY_NS)
    attack.keep()
    assert attack.contents() == [(attack.source.path.read_bytes(), None)]
    attack.record.close()


def test_an_edit_is_found_while_the_log_still_grows(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    attack = Attack(tree, "large", monkeypatch)
    attack.keep()
    attack.source.edit(len(attack.source.states[0]) // 2)
    for _ in range(8):
        attack.source.append()
        attack.keep()
    assert attack.contents()[-1][0] == attack.source.path.read_bytes()
    assert len(attack.contents()) == 2
    assert MORE in attack.contents()[0][0]
    attack.check()
    attack.record.close()
