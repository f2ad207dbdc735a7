"""A large first sync goes through the newest part of the history before the rest, and makes the same index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

import hansard
from hansard.record.store import Record
from hansard.sync import indexing, newest, report
from tests.sync.dumping import assert_same, dump
from tests.sync.hard import files
from tests.sync.making import OLD_NS, Tree, main_path, session, user

if TYPE_CHECKING:
    from hansard.sync.report import Progress

SESSIONS = 30


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes count as a large history."""
    monkeypatch.setattr(newest, "LARGE_BYTES", 0)
    monkeypatch.setattr(newest, "NEWEST_BYTES", 2500)
    monkeypatch.setattr(newest, "FILE_BYTES", 0)
    monkeypatch.setattr(indexing, "_GROWTH", 2)


@pytest.fixture
def many(tree: Tree) -> Tree:
    """Thirty sessions, one after the other."""
    for number in range(SESSIONS):
        lines = [
            user(session(number), f"u{number}", f"Hello {number}.", number),
            user(session(number), f"v{number}", "x" * 500, number),
        ]
        tree.write(main_path(session(number)), lines, mtime_ns=OLD_NS + number * 1_000_000_000)
    return tree


def _whole(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """The same history, synced in one go."""
    other = Tree(tree.config, tree.home.with_name("whole"))
    with monkeypatch.context() as patch:
        patch.setattr(newest, "LARGE_BYTES", 1 << 40)
        other.sync()
    return other


def _ids(tree: Tree) -> list[object]:
    return tree.rows("SELECT id, path FROM transcripts ORDER BY id")


@pytest.mark.usefixtures("small")
def test_the_newest_come_first_and_then_ever_more(many: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[int, list[str]]] = []

    def listen(progress: Progress) -> None:
        if progress.phase in ("reading", "indexing") and (many.home / "index.db").exists():
            with hansard.open(many.home, [many.config]) as h:
                state = (h.revision(), [item.session_id for item in h.sessions().sessions])
                if state not in shown:
                    shown.append(state)

    monkeypatch.setattr(report.ProgressReporter, "step", lambda self, *_, **__: self._tell())
    many.sync(listener=listen)
    order = [session(number) for number in reversed(range(SESSIONS))]
    assert shown == [(-len(sessions), order[: len(sessions)]) for _, sessions in shown]
    counts = [len(sessions) for _, sessions in shown if sessions]
    assert len(counts) > 2
    assert 0 < counts[0] < SESSIONS / 3
    whole = _whole(many, monkeypatch)
    assert_same(dump(whole.home), dump(many.home))
    assert _ids(many) == _ids(whole)


@pytest.mark.usefixtures("small")
def test_only_the_newest(many: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    first = many.sync(newest_only=True)
    assert first.partial
    assert not (many.home / "last-sync.json").exists()
    with hansard.open(many.home, [many.config]) as h:
        page = h.sessions()
        assert 0 < page.total == first.changed < SESSIONS
        assert h.revision() == -page.total
    again = many.sync(newest_only=True)  # what was begun goes on where it was
    assert again.partial
    assert again.changed > 0
    last = many.sync()
    assert not last.partial
    assert first.changed + again.changed + last.changed == SESSIONS
    assert first.records + again.records + last.records == 2 * SESSIONS
    whole = _whole(many, monkeypatch)
    assert_same(dump(whole.home), dump(many.home))
    assert _ids(many) == _ids(whole)
    assert not many.sync(newest_only=True).partial


@pytest.mark.usefixtures("small")
def test_everything_that_ties_transcripts_together(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, content in files().items():
        tree.write(path, content)
    monkeypatch.setattr(newest, "NEWEST_BYTES", 6000)
    while tree.sync(newest_only=True).changed:
        pass
    tree.sync()
    assert_same(dump(_whole(tree, monkeypatch).home), dump(tree.home))


@pytest.mark.usefixtures("small")
def test_an_index_of_another_version(many: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record has it all: the newest is indexed first, and nothing is read from the sources."""
    many.sync()
    expected = dump(many.home)
    for name in ("index.db", "text.db"):
        (many.home / name).unlink()
    first = many.sync(newest_only=True)
    assert first.partial
    assert not first.changed
    with hansard.open(many.home, [many.config]) as h:
        assert 0 < h.sessions().total < SESSIONS
    many.sync()
    assert_same(expected, dump(many.home))


@pytest.mark.usefixtures("small")
def test_what_vanishes_between_the_two(many: Tree) -> None:
    many.sync(newest_only=True)
    many.place(main_path(session(0))).unlink()
    many.append(main_path(session(1)), [user(session(1), "more", "And?", 40)])
    many.sync()
    with hansard.open(many.home, [many.config]) as h:
        assert h.sessions().total == SESSIONS - 1
        assert h.session(session(1)).prompts == 3
    assert not many.sync().changed


@pytest.mark.usefixtures("small")
def test_a_store_that_was_complete_is_not_divided(many: Tree) -> None:
    many.sync()
    many.write(main_path(session(77)), [user(session(77), "new", "And this?", 50)])
    assert not many.sync(newest_only=True).partial


@pytest.mark.usefixtures("small")
def test_one_file_that_is_larger_than_the_share(many: Tree) -> None:
    large = [user(session(99), f"l{number}", "y" * 1000, 60 + number) for number in range(10)]
    many.write(main_path(session(99)), large, mtime_ns=OLD_NS + 10**12)
    many.sync(newest_only=True)
    with hansard.open(many.home, [many.config]) as h:
        assert [item.session_id for item in h.sessions(limit=1).sessions] == [session(SESSIONS - 1)]


def test_choosing() -> None:
    def choose(*sizes: int) -> list[int]:
        return list(newest.choose(sizes, 1 << 20, lambda size: size))

    assert choose() == []
    assert choose(500_000, 500_000, 500_000) == [500_000, 500_000]
    assert choose(2 << 20, 100_000) == [100_000]
    assert len(choose(*[1] * 1000)) == (1 << 20) // newest.FILE_BYTES


def test_many_logs_begin_as_one_by_one(tmp_path: Path) -> None:
    paths = ["projects/a/b.jsonl", "projects/a/c.jsonl", "projects/a/\udcff.jsonl"]
    with Record.open(str(tmp_path / "one.db")) as one, Record.open(str(tmp_path / "many.db")) as several:
        for record in (one, several):
            with record.writing():
                record.root_id("/root", "root")
                record.start_generation(1, "projects/first.jsonl", "main", "new")
        with one.writing():
            for path in paths:
                one.start_generation(1, path, "main", "new")
        with several.writing():
            several.start_logs(1, [(path, "main") for path in paths])
            several.start_logs(1, [])
        for record in (one, several):
            assert [item.path for item in record.generations()] == ["projects/first.jsonl", *paths]
        assert [replace(item, started_at="") for item in several.generations()] == [
            replace(item, started_at="") for item in one.generations()
        ]
        assert [entry[:-1] for entry in several.entries()] == [entry[:-1] for entry in one.entries()]
        assert several.known(1) == one.known(1)
        with several.writing():
            several.append(3, b"{}\n")
        assert b"".join(several.read(3)) == b"{}\n"
        assert [item.id for item in several.newest_generations()] == [3]
