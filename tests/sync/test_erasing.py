"""What is erased from the record goes from both indexes too, which are then as if it had never been."""

from __future__ import annotations

import json
import random
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import apsw
import pytest

from hansard.clients import CLAUDE_CODE
from hansard.clients.claude_code.lines import blank_line
from hansard.errors import StoreUnusable
from hansard.model.erasing import marker
from hansard.record.erase import Patch
from hansard.record.store import Record
from hansard.record.verify import verify
from hansard.sync import erasing
from hansard.sync.erasing import Order
from hansard.sync.rebuild import rebuild
from hansard.sync.remarking import naming, remark
from tests.full_disk import small_disk
from tests.record.making import found
from tests.sync.crashing import crashed_stores
from tests.sync.dumping import assert_same, dump
from tests.sync.hard import BRANCH, FIRST, FORK, OLD, PARALLEL, files
from tests.sync.making import FOLDER, Tree, agent_path, assistant, main_path, session, user
from tests.sync.secrets import COPY, SECRET, WORD, everything, files_of, order_for, secret_tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hansard.model.erasing import Receipt


@pytest.fixture(scope="module")
def synced(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = Tree(tmp_path_factory.mktemp("erasing") / "claude", tmp_path_factory.mktemp("erasing") / "store")
    for path, content in files().items():
        tree.write(path, content)
    tree.sync()
    tree.write(main_path(OLD), files()[main_path(OLD)][:700])  # a second generation
    tree.sync()
    remark(str(tree.home), naming(FIRST, "Mine"))
    return tree


@pytest.fixture
def store(synced: Tree, tmp_path: Path) -> Tree:
    """A store of its own; its source is that of the others, too."""
    return Tree(synced.config, shutil.copytree(synced.home, tmp_path / "store"))


def run(tree: Tree, change: Callable[[Record], object]) -> None:
    def wrapped(record: Record) -> bool:
        change(record)
        return True

    tree.sync(only=(), change=wrapped)


def erase(tree: Tree, order: Callable[[Record], Order]) -> Receipt:
    return erasing.erase(str(tree.home), order)


def assert_as_rebuilt(tree: Tree) -> None:
    ours = dump(tree.home)
    rebuild(str(tree.home), workers=False)
    assert_same(ours, dump(tree.home))


@pytest.mark.parametrize("session_id", [FIRST, FORK, BRANCH, OLD, PARALLEL, "history.jsonl", ".json"])
def test_files_of_a_session(store: Tree, session_id: str) -> None:
    def change(record: Record) -> None:
        for file_id in files_of(record, session_id):
            record.erase_file(file_id)
        for one in record.all_remarks():
            if one.session_id == session_id:
                record.erase_remark(one.id)

    run(store, change)
    assert_as_rebuilt(store)


@pytest.mark.parametrize("seed", range(6))
def test_any_files_and_stretches(store: Tree, seed: int) -> None:
    chance = random.Random(seed)

    def change(record: Record) -> None:
        logs = [made for made in record.generations() if made.size]
        for made in chance.sample(logs, 3):
            lines = b"".join(record.read(made.id)).splitlines(keepends=True)
            chosen = chance.randrange(len(lines))
            start = sum(map(len, lines[:chosen]))
            patches = [Patch(start + place, marker(5)) for place in range(0, len(lines[chosen]) - 6, 40)]
            if patches:
                record.erase_in_log(made.id, patches)
        for snapshot in chance.sample([item for item in record.snapshots() if item.size > 9], 2):
            record.erase_in_snapshot(snapshot.id, [Patch(3, b"****")])
        known = sorted({item.file_id for item in everything(record)})
        for file_id in chance.sample(known, 2):
            record.erase_file(file_id)

    for _ in range(2):
        run(store, change)
        assert_as_rebuilt(store)


def test_the_source_does_not_bring_a_stretch_back(tree: Tree) -> None:
    def change(record: Record) -> None:
        made = next(made for made in record.generations() if made.path == main_path(FIRST))
        found = re.finditer(b"Where is it", b"".join(record.read(made.id)))
        record.erase_in_log(made.id, [Patch(match.start(), marker(11)) for match in found])

    for path, content in files().items():
        tree.write(path, content)
    tree.sync()
    run(tree, change)
    before = dump(tree.home)
    tree.sync()
    tree.sync(reread=True)
    place = tree.place(main_path(FIRST))
    content = place.read_bytes()
    tree.write(main_path(FIRST), content)  # another date
    tree.sync()
    place.unlink()
    tree.write(main_path(FIRST), content)  # another inode
    tree.sync()
    assert_same(before, dump(tree.home))
    tree.append(main_path(FIRST), files()[main_path(FORK)][-300:])
    tree.sync()
    assert not tree.rows("SELECT 1 FROM transcripts WHERE generation > 1 AND path = ?", main_path(FIRST))
    assert not tree.rows(
        "SELECT 1 FROM prompts WHERE text LIKE 'Where is it%' AND id >> 40 IN (SELECT id FROM transcripts WHERE path = ?)",
        main_path(FIRST),
    )


def words(home: Path) -> set[str]:
    """Every term of the full text."""
    with closing(apsw.Connection(str(home / "text.db"), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        found: set[str] = set()
        for table in ("titles", "talk", "work", "reminders"):
            db.execute(f"CREATE VIRTUAL TABLE temp.{table}_terms USING fts5vocab('main', '{table}', 'row')")
            found.update(row[0] for row in db.execute(f"SELECT term FROM temp.{table}_terms"))
        return found


def assert_gone(tree: Tree) -> None:
    assert found(tree.home, WORD.encode()) == []
    assert WORD not in words(tree.home)
    with Record.open(str(tree.home / "record.db"), readonly=True) as record:
        report = verify(record, tree.roots, deep=True)
    assert not report.mismatches
    assert not report.changed


def test_a_session_with_all_that_mentions_it(tree: Tree) -> None:
    secret_tree(tree)
    assert len(found(tree.home, WORD.encode())) > 5
    assert WORD in words(tree.home)
    with Record.open(str(tree.home / "record.db"), readonly=True) as record:
        noted = str(record.head())
    receipt = erase(tree, lambda record: order_for(record, SECRET))
    assert receipt.finished_at
    assert (receipt.erased.transcripts, receipt.erased.files, receipt.erased.stretches, receipt.erased.remarks) == (
        2,
        2,
        2,
        1,
    )
    assert_gone(tree)
    assert_as_rebuilt(tree)
    with Record.open(str(tree.home / "record.db"), readonly=True) as record:
        assert not verify(record, tree.roots, deep=True, since=noted).mismatches
    # Nothing brings it back.
    report = tree.sync()
    assert report.forgotten == 4
    assert not report.changed
    tree.sync(reread=True)
    tree.append(
        "history.jsonl",
        [{"display": f"again {WORD}", "timestamp": 1, "sessionId": SECRET}, {"display": "more", "sessionId": OLD}],
    )
    tree.append(main_path(SECRET), [user(SECRET, "p3", WORD, 3, "p2")])
    tree.write(agent_path(SECRET, "a2"), [{**user(SECRET, "q2", WORD, 1), "isSidechain": True, "agentId": "a2"}])
    index = {"version": 1, "entries": [{"sessionId": SECRET, "summary": WORD}, {"sessionId": OLD, "summary": "other"}]}
    tree.write(f"{FOLDER}/sessions-index.json", json.dumps(index).encode())
    tree.sync()
    content = tree.place("history.jsonl").read_bytes()
    tree.write("history.jsonl", content.replace(b"before", b"rewritten before"))
    tree.sync()
    tree.write("history.jsonl", content[: content.index(b"again") + 9])
    tree.sync()
    rebuild(str(tree.home), workers=False)
    assert tree.sync().forgotten == 5
    with Record.open(str(tree.home / "record.db")) as opened:
        opened.compact()
    assert_gone(tree)


def test_a_line_that_comes_back_in_a_fork(tree: Tree) -> None:
    secret_tree(tree)

    def order(record: Record) -> Order:
        made = next(made for made in record.generations() if made.path == main_path(SECRET))
        line = b"".join(record.read(made.id)).splitlines(keepends=True)[0]
        return Order("match", logs={made.id: [Patch(0, blank_line(line))]}, lines={(CLAUDE_CODE, "p1")})

    erase(tree, order)
    fork = session(78)
    copied = [{**user(fork, "p1", f"Tell {WORD} about it.", 0)}, user(fork, "r1", "Mine.", 9, "p1")]
    tree.write(main_path(fork), copied)
    tree.sync()
    assert tree.rows("SELECT text FROM prompts WHERE text LIKE '%about it%'") == []
    assert [
        row[0].strip()
        for row in tree.rows(
            "SELECT text FROM prompts WHERE id & 1099511627775 = 0 AND source = 'prompt' AND text LIKE '[forg%'"
        )
    ] == ["[forgotten]"] * 2
    assert tree.rows("SELECT parent_uuid FROM records WHERE uuid = 'r1'") == [("p1",)]
    with Record.open(str(tree.home / "record.db"), readonly=True) as record:
        assert not verify(record, tree.roots, deep=True).mismatches
    tree.append(main_path(fork), [user(fork, "r2", "More.", 10, "r1")])
    tree.sync()
    assert not tree.rows("SELECT 1 FROM transcripts WHERE generation > 1")


def test_killed_at_any_moment(tree: Tree, tmp_path: Path, soak: int) -> None:
    secret_tree(tree)
    (tree.home / "edits.db").write_bytes(b"not a database, with " + WORD.encode())
    (tree.home / COPY).write_text(WORD)
    expected = Tree(tree.config, shutil.copytree(tree.home, tmp_path / "undisturbed"))
    erase(expected, lambda record: order_for(record, SECRET))
    homes = crashed_stores("erase", tree, tree.home, tmp_path / "out", soak)
    assert len(homes) > 20
    erased = 0
    for home in homes:
        copy = Tree(tree.config, home)
        assert not copy.sync().unfinished
        if receipts := erasing.receipts(str(home)):
            assert [receipt.finished_at is not None for receipt in receipts] == [True]
            assert_gone(copy)
            assert_same(dump(expected.home), dump(home))
            erased += 1
        else:
            assert "before-1" in home.name, "only a crash before the first commit loses the erasure"
        shutil.rmtree(home)
    assert erased > 20


def test_no_space_for_the_last_step(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    secret_tree(tree)
    full = shutil.disk_usage(tree.home)._replace(free=1000)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda _path: full)
        with pytest.raises(StoreUnusable, match=r"receipt 1\).*MB are free"):
            erase(tree, lambda record: order_for(record, SECRET))
        assert erasing.receipts(str(tree.home))[0].finished_at is None
        assert tree.rows("SELECT 1 FROM sessions WHERE session_id = ?", SECRET) == []
        assert "MB are free" in tree.sync().unfinished
    assert tree.sync().unfinished == ""
    assert erasing.receipts(str(tree.home))[0].finished_at
    assert_gone(tree)


def test_no_space_at_all(tree: Tree, tmp_path: Path) -> None:
    secret_tree(tree)
    before = dump(tree.home)
    with small_disk("limit", tmp_path) as (_, full), full, pytest.raises(StoreUnusable):
        erase(tree, lambda record: order_for(record, SECRET))
    tree.sync()
    assert_same(before, dump(tree.home))
    erase(tree, lambda record: order_for(record, SECRET))
    assert_gone(tree)


def test_two_at_once(tree: Tree) -> None:
    secret_tree(tree)
    with ThreadPoolExecutor() as pool:
        orders = [partial(order_for, session_id=session_id) for session_id in (SECRET, OLD, SECRET)]
        done = [pool.submit(erase, tree, order) for order in orders]
        receipts = [one.result() for one in done]
    assert {receipt.number for receipt in receipts} == {1, 2, 3}
    assert all(receipt.finished_at for receipt in receipts)
    assert_gone(tree)
    assert_as_rebuilt(tree)


def test_the_name_of_a_model_that_only_an_erased_session_used(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "claude", tmp_path / "store")
    for number, model in enumerate(("acme-secret-llm", "claude-opus-4-1")):
        line = assistant(session(number), f"a{number}", f"m{number}", "Yes.", number)
        line["message"]["model"] = model
        tree.write(main_path(session(number)), [user(session(number), f"u{number}", "Go on."), line])
    tree.sync()

    def change(record: Record) -> None:
        for file_id in files_of(record, session(0)):
            record.erase_file(file_id)

    run(tree, change)
    with closing(apsw.Connection(str(tree.home / "index.db"))) as db:
        assert [model for (model,) in db.execute("SELECT DISTINCT model FROM rates")] == ["claude-opus-4-1"]
    assert_as_rebuilt(tree)
