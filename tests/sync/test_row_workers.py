"""Rows that other processes make: the same bytes in every table, whoever made them and whatever becomes of a worker."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from hansard import workers
from hansard.index import rows
from hansard.index.rows import RowIndex
from hansard.sync import row_workers
from hansard.sync.rebuild import rebuild
from hansard.workers import Worker
from tests.sync.dumping import assert_same, dump
from tests.sync.forking import family
from tests.sync.hard import OLD, files
from tests.sync.making import Tree, ask, assistant, main_path, raw, session, user

PROJECT = Path(__file__).resolve().parents[2]
DYING = """
import hansard.workers as w
sent = 0
def send(self, *message, real=w.Channel.send):
    global sent
    sent += 1
    os._exit(1) if sent == 5 else real(self, *message)
w.Channel.send = send
"""
MANY = [session(number) for number in range(30, 42)]


@pytest.fixture
def full(tree: Tree) -> Tree:
    for path, content in (files() | family()[0]).items():
        tree.write(path, content)
    for number, name in enumerate(MANY):
        lines = [user(name, "u", f"The word of {number}.")]
        lines += [assistant(name, f"a{n}", f"msg_01{number}{n}", "Yes.", n) for n in range(40)]
        tree.write(main_path(name), lines)
    return tree


def _tables(home: Path) -> dict[str, list[Any]]:
    """Everything in `index.db` as it is, but for what tells when it was made."""
    names = [name for (name,) in ask(home, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    found = {name: sorted(ask(home, f"SELECT * FROM {name}"), key=repr) for name in names}
    found["meta"] = [row for row in found["meta"] if row[0] in ("revision", "snapshot")]
    return found


def _cold(tree: Tree, home: Path, **more: Any) -> dict[str, list[Any]]:
    """What a first sync into an empty store makes."""
    Tree(tree.config, home).sync(**more)
    return _tables(home)


def _run_in_workers(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Have the workers run some code before they begin."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PROJECT / "src"), str(PROJECT)]))
    script = f"import os, sys\n{code}\nfrom hansard.workers import main\nmain()"
    monkeypatch.setattr(workers, "command", lambda: [sys.executable, "-c", script])


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Worker]:
    """The workers that were started."""
    found: list[Worker] = []

    class Watched(Worker):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            found.append(self)

    monkeypatch.setattr(row_workers, "Worker", Watched)
    return found


@pytest.fixture
def done_here(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The transcripts whose rows this process made because no worker did; it makes none while it waits."""
    found: list[int] = []
    monkeypatch.setattr(Worker, "has_message", lambda _worker: True)
    read = rows.read_row_batches

    def watched(transcript: Any, *given: Any) -> Any:
        found.append(transcript.id)
        return read(transcript, *given)

    monkeypatch.setattr("hansard.index.rows.read_row_batches", watched)
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_any_number_of_workers_gives_the_same_bytes(
    full: Tree, tmp_path: Path, started: list[Worker], done_here: list[int], count: int
) -> None:
    expected = _cold(full, tmp_path / "alone")
    assert done_here
    done_here.clear()
    assert _cold(full, tmp_path / "other", workers=True, row_workers=count) == expected
    assert len(started) == count
    assert all(worker.process.returncode is not None for worker in started), "none outlives the sync"
    kinds = dict(ask(tmp_path / "other", "SELECT id, kind FROM transcripts"))
    assert {kinds[id_] for id_ in done_here} <= {"history", "cast"}


@pytest.mark.parametrize("how_often", [1, 2, 5], ids=["whenever it can", "every other time", "now and then"])
def test_who_writes_the_rows_makes_some_while_it_waits(
    full: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how_often: int
) -> None:
    monkeypatch.setattr(rows, "_FLUSH_LINES", 10)  # several stretches for each transcript
    expected = _cold(full, tmp_path / "alone")
    asked = 0

    def has_message(_worker: Worker) -> bool:
        nonlocal asked
        asked += 1
        return asked % how_often != 0

    made: list[int] = []
    make = row_workers._make

    def watched(record: Any, task: row_workers.Task) -> Any:
        made.append(task.transcript.id)
        return make(record, task)

    monkeypatch.setattr(Worker, "has_message", has_message)
    monkeypatch.setattr(row_workers, "_make", watched)
    assert _cold(full, tmp_path / "other", workers=True, row_workers=1) == expected
    assert made


def test_a_rebuild_with_workers(full: Tree, started: list[Worker]) -> None:
    full.sync()
    expected = dump(full.home)
    rebuild(str(full.home), row_workers=2)
    assert len(started) == 2
    assert_same(dump(full.home), expected)


def test_what_grew_is_done_here_and_what_is_new_elsewhere(full: Tree, tmp_path: Path, done_here: list[int]) -> None:
    full.sync()
    done_here.clear()
    full.append(main_path(OLD), raw([user(OLD, "o9", "Another word.", 2)]) + b'{"type":"us')
    new = session(99)
    full.write(main_path(new), [user(new, "u1", "A new one."), assistant(new, "a1", "msg_01new", "Yes.", 1)])
    full.sync(workers=True, row_workers=2)
    assert len(done_here) == 1
    cold = Tree(full.config, tmp_path / "cold")
    cold.sync()
    assert_same(dump(cold.home), dump(full.home))


@pytest.mark.parametrize(
    "code",
    [
        "os._exit(1)",  # at once
        DYING,  # in the midst of its answers
        "import hansard.record.store as r\nr.Record.open = None",  # it raises
    ],
    ids=["at once", "later", "an error"],
)
def test_a_worker_that_dies_costs_nothing(
    full: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done_here: list[int], code: str
) -> None:
    monkeypatch.setattr(rows, "_FLUSH_LINES", 10)  # several stretches for each transcript
    expected = _cold(full, tmp_path / "alone")
    done_here.clear()
    _run_in_workers(monkeypatch, f"import hansard.index.rows as s\ns._FLUSH_LINES = 10\n{code}")
    assert _cold(full, tmp_path / "other", workers=True, row_workers=2) == expected
    assert len(done_here) > 5


@pytest.mark.parametrize(
    "code",
    [
        "s._MAX_MESSAGES, s._FLUSH_LINES = 10, 15",  # what it cannot remember only the table knows
        "import hansard.clients.claude_code.fold as f\ndef entry(*_): raise MemoryError\nf.Fold.entry = entry",
    ],
    ids=["messages", "memory"],
)
def test_what_a_worker_cannot_do_is_done_here(
    full: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done_here: list[int], code: str
) -> None:
    expected = _cold(full, tmp_path / "alone")
    done_here.clear()
    _run_in_workers(monkeypatch, f"import hansard.index.rows as s\n{code}")
    assert _cold(full, tmp_path / "other", workers=True, row_workers=2) == expected
    assert len(done_here) >= len(MANY)


def test_a_transcript_that_cannot_be_folded_is_quarantined_as_without_workers(
    full: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def entry(*_given: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("hansard.clients.claude_code.fold.Fold.entry", entry)
    expected = _cold(full, tmp_path / "alone")["quarantine"]
    assert len(expected) > len(MANY)
    _run_in_workers(
        monkeypatch,
        "import hansard.clients.claude_code.fold as f\ndef entry(*_): raise MemoryError\nf.Fold.entry = entry",
    )
    found = _cold(full, tmp_path / "other", workers=True, row_workers=2)["quarantine"]
    assert [row[:4] for row in found] == [row[:4] for row in expected]


def test_a_transcript_whose_rows_cannot_be_written_leaves_its_neighbours_alone(
    full: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_FLUSH_LINES", 10)
    real = RowIndex._insert

    def insert(self: RowIndex, rows: Any) -> None:
        if any(row[3] == "The word of 3." for row in rows.prompts):
            raise ValueError("no")
        real(self, rows)

    monkeypatch.setattr(RowIndex, "_insert", insert)
    expected = _cold(full, tmp_path / "alone")
    _run_in_workers(monkeypatch, "import hansard.index.rows as s\ns._FLUSH_LINES = 10")
    found = _cold(full, tmp_path / "other", workers=True, row_workers=2)
    assert len(found["quarantine"]) == 1
    for table in expected.keys() - {"quarantine"}:
        assert found[table] == expected[table], table


def test_no_more_than_one_large_transcript_is_in_memory(
    full: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _cold(full, tmp_path / "alone")
    monkeypatch.setattr(row_workers, "_LARGE", 5000)
    most = 0
    fill = row_workers.RowWorkers._fill

    def watched(self: row_workers.RowWorkers) -> None:
        nonlocal most
        fill(self)
        most = max(most, sum(task.end > 5000 for _, task in self._doing.values()))

    monkeypatch.setattr(row_workers.RowWorkers, "_fill", watched)
    assert _cold(full, tmp_path / "other", workers=True, row_workers=3) == expected
    assert most == 1


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for processors, expected in ((1, 0), (2, 1), (4, 3), (64, 4)):
        monkeypatch.setattr(row_workers, "processors", lambda count=processors: count)
        assert row_workers.usual_count(1 << 30) == expected
        assert row_workers.usual_count(1 << 20) == 0
