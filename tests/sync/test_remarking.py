"""The user's remarks: in the record, in every answer at once, and whatever happens to the indexes."""

from __future__ import annotations

import shutil
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import hansard
from hansard.errors import Ambiguous, NotFound, StoreBusy, UsageError
from hansard.query.language import Tag, parse
from hansard.record.store import Record
from hansard.record.verify import verify
from hansard.sync import remarking
from hansard.sync.data_files import sync_lock
from hansard.sync.rebuild import rebuild
from tests.record.making import as_older_layout
from tests.sync.dumping import assert_same, dump
from tests.sync.hard import BRANCH, FORK, OLD, files
from tests.sync.making import Tree, main_path, raw, session, user
from tests.sync.test_run import _snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hansard.engine import Hansard

LOST = session(99)


@pytest.fixture
def full(tree: Tree) -> Tree:
    for path, content in files().items():
        tree.write(path, content)
    lost = {"display": "a lost prompt", "timestamp": 1_750_000_000_000, "sessionId": LOST}
    tree.write("history.jsonl", raw([lost]) + files()["history.jsonl"])
    tree.sync()
    return tree


@pytest.fixture
def h(full: Tree) -> Iterator[Hansard]:
    with hansard.open(full.home, roots=[full.config]) as opened:
        yield opened


def test_every_answer_knows_at_once(h: Hansard) -> None:
    before = h.session(OLD)
    assert (before.pinned, before.tags, before.notes) == (False, (), ())
    h.tag(OLD, "Infra", "client/acme")
    h.pin(OLD)
    h.note(OLD, "  The fix was the clock.\n")
    assert h.rename(OLD, " My\n own  title ").title == "My own title"
    after = h.session("my own title")
    assert (after.session_id, after.title, after.title_source) == (OLD, "My own title", "yours")
    assert (after.pinned, after.tags, after.notes) == (True, ("Infra", "client/acme"), ("The fix was the clock.",))
    for query in ("tag:infra", "tag:CLIENT*", "is:pinned", "note:clock", 'title:"own title"'):
        assert [item.session_id for item in h.sessions(query).sessions] == [OLD]
        assert h.search(query).total > 0
        assert {hit.session_id for hit in h.search(query).hits} == {OLD}
        assert h.usage(query, by="session").totals.api_messages == after.api_messages
    everything = h.sessions("-tag:infra", debris=True).total
    assert everything == h.sessions(debris=True).total - 1


def test_they_can_be_taken_back(h: Hansard) -> None:
    before = h.session(OLD)
    h.tag(OLD, "Infra", "later")
    h.pin(OLD, BRANCH)
    h.rename(OLD, "One")
    h.rename(OLD, "Two")
    h.note(OLD, "first")
    h.note(OLD, "second")
    assert h.tag(OLD, "INFRA", "never there", remove=True).tags == ("later",)
    assert h.tag(OLD, "later", remove=True).tags == ()
    assert not any(item.pinned for item in h.pin(BRANCH, OLD, remove=True))
    assert h.unnote(OLD, 1).notes == ("second",)
    with pytest.raises(NotFound, match="no note number 2: it has 1"):
        h.unnote(OLD, 2)
    assert h.unnote(OLD, 1).notes == ()
    renamed = h.rename(OLD, None)
    assert (renamed.title, renamed.renamed) == (before.title, False)
    assert h.session(OLD) == before
    assert h.tags() == []
    kept = h.record._one("SELECT count(*), count(removed_at) FROM remark")
    assert kept == (8, 8), "nothing is forgotten"


def test_saying_it_again_changes_nothing(h: Hansard) -> None:
    h.tag(OLD, "Infra")
    h.pin(OLD)
    h.rename(OLD, "One")
    h.note(OLD, "first")
    revision = h.record.revision()
    assert h.tag(OLD, "infra", "INFRA", "ínfra").tags == ("Infra",)
    h.pin(OLD, OLD)
    h.rename(OLD, "One")
    h.note(OLD, "first ")
    h.tag(OLD, "unknown", remove=True)
    assert h.record.revision() == revision


def test_tags_are_counted_whatever_their_case(h: Hansard) -> None:
    h.tag(OLD, "infra", "zeta")
    h.tag(BRANCH, "Infra")
    h.tag(LOST, "INFRA")
    assert [(item.tag, item.sessions) for item in h.tags()] == [("INFRA", 3), ("zeta", 1)]


def test_a_session_that_only_the_history_knows(h: Hansard) -> None:
    with pytest.raises(NotFound):
        h.session(LOST)
    found = h.tag(LOST, "lost")
    assert (found.session_id, found.title, found.tags) == (LOST, "", ("lost",))
    assert h.rename(LOST, "What was it?").title == "What was it?"
    assert [hit.snippet for hit in h.search("tag:lost").hits] == ["a lost prompt"]
    assert [prompt.text for prompt in h.prompts("tag:lost").prompts] == ["a lost prompt"]
    assert h.sessions("tag:lost").total == 0


def test_a_session_that_is_gone(full: Tree, h: Hansard) -> None:
    h.tag(OLD, "before")
    full.place(main_path(OLD)).unlink()
    h.sync()
    h.tag(OLD, "after")
    session_ = h.session(OLD)
    assert (session_.source_state, session_.tags) == ("gone", ("before", "after"))


def test_a_name_that_says_nothing_or_too_much(h: Hansard) -> None:
    revision = h.record.revision()
    with pytest.raises(NotFound, match="no session matches 'nobody'"):
        h.tag("nobody", "x")
    with pytest.raises(Ambiguous, match="sessions match"):
        h.pin(OLD[:4])
    with pytest.raises(NotFound):
        h.pin(OLD, "nobody")
    assert h.record.revision() == revision


@pytest.mark.parametrize(
    "tag",
    [
        "",
        " ",
        "two words",
        "a,b",
        "a:b",
        'a"b',
        "a*",
        "(a)",
        "-a",
        "a\x1b[2Jb",
        "a\u202eb",
        "a\udcff",
        "x" * 65,
        "\u0301",
    ],
)
def test_what_is_no_tag(h: Hansard, tag: str) -> None:
    with pytest.raises(UsageError, match="tag"):
        h.tag(OLD, "good", tag)
    assert h.session(OLD).tags == ()


@pytest.mark.parametrize(
    "tag",
    [
        "infra",
        "Client/Acme",
        "v2.1",
        "C++",
        "c#",
        "@mira",
        "日本",
        "Straße",
        "🎉",
        "👩\u200d🚀",
        "a-b_c",
        "x" * 64,
        "50%",
        "OR",
    ],
)
def test_a_tag_is_found_as_it_is_written(h: Hansard, tag: str) -> None:
    h.tag(OLD, f" {tag} ")
    h.tag(BRANCH, "another")
    assert h.session(OLD).tags == (tag,)
    assert parse(f"tag:{tag}", now=datetime.now(UTC)) == Tag(tag)
    assert [item.session_id for item in h.sessions(f"tag:{tag}").sessions] == [OLD]
    assert [item.session_id for item in h.sessions(f"tag:{tag.upper()}").sessions] == [OLD] or tag == "Straße"
    assert h.tag(OLD, tag, remove=True).tags == ()


@pytest.mark.parametrize("title", [" ", "x" * 201])
def test_what_is_no_title(h: Hansard, title: str) -> None:
    with pytest.raises(UsageError, match="title"):
        h.rename(OLD, title)


@pytest.mark.parametrize("text", ["\n", "x" * 10_001, "\x00"])
def test_what_is_no_note(h: Hansard, text: str) -> None:
    with pytest.raises(UsageError, match="note"):
        h.note(OLD, text)
    assert len(h.note(OLD, "x" * 10_000).notes[0]) == 10_000


def test_hostile_text_is_kept_as_text(h: Hansard) -> None:
    text = "'; DROP TABLE remark; --\n\x1b]0;owned\x07 <script>alert(1)</script> \udcff \x00"
    h.note(OLD, text)
    assert h.session(OLD).notes == ("'; DROP TABLE remark; --\n\x1b]0;owned\x07 <script>alert(1)</script> \ufffd",)
    assert h.sessions('note:"<script>alert(1)"').total == 1


# -- the store


def test_a_rebuild_keeps_them_and_so_does_a_lost_index(full: Tree, h: Hansard) -> None:
    _say_much(h)
    expected = dump(full.home)
    rebuild(str(full.home), workers=False)
    assert_same(expected, dump(full.home))
    for name in ("index.db", "text.db"):
        (full.home / name).unlink()
        full.sync()
        assert_same(expected, dump(full.home))


def test_it_makes_no_difference_when_they_are_said(full: Tree, tmp_path: Path) -> None:
    more = [user(OLD, "n1", "One more.", 9)]
    homes = [shutil.copytree(full.home, tmp_path / name) for name in ("early", "late")]
    with hansard.open(homes[0], roots=[full.config]) as h:
        _say_much(h)
    full.append(main_path(OLD), more)
    for home in homes:
        Tree(full.config, home).sync()
    with hansard.open(homes[1], roots=[full.config]) as h:
        _say_much(h)
    assert_same(dump(homes[0]), dump(homes[1]))


@pytest.mark.usefixtures("at_rest")
def test_the_next_sync_has_nothing_to_do(full: Tree, h: Hansard) -> None:
    _say_much(h)
    before = {path.name: path.stat().st_mtime_ns for path in full.home.iterdir()}
    (full.home / "sync.lock").unlink()
    full.sync()
    assert not (full.home / "sync.lock").exists(), "nothing was locked"
    assert all((full.home / name).stat().st_mtime_ns == before[name] for name in ("record.db", "index.db", "text.db"))


def test_what_the_source_has_new_comes_with_the_next_sync(full: Tree, h: Hansard) -> None:
    full.append(main_path(OLD), [user(OLD, "n1", "One more.", 9)])
    before = h.session(OLD).prompts
    h.tag(OLD, "infra")
    assert h.session(OLD).prompts == before
    h.sync()
    assert (h.session(OLD).prompts, h.session(OLD).tags) == (before + 1, ("infra",))


def test_the_source_is_never_touched(full: Tree, h: Hansard) -> None:
    before = _snapshot(full.config)
    _say_much(h)
    rebuild(str(full.home), workers=False)
    assert _snapshot(full.config) == before


def test_verify_and_restore_know_nothing_of_them(full: Tree, h: Hansard, tmp_path: Path) -> None:
    h.rename(OLD, "Mine")
    h.note(OLD, "first")
    assert not verify(h.record, full.roots, deep=True).mismatches
    h.restore(h.plan_restore([OLD], str(tmp_path / "back")))
    assert (tmp_path / "back" / main_path(OLD)).read_bytes() == full.place(main_path(OLD)).read_bytes()
    assert b"".join(h.cat(OLD)) == full.place(main_path(OLD)).read_bytes()


def test_a_store_of_the_layout_before_them(full: Tree, h: Hansard) -> None:
    expected = dump(full.home)
    as_older_layout(full.home / "record.db", 1)
    full.sync()
    assert_same(expected, dump(full.home))
    assert len(list(full.home.glob("record.db.layout-1-*.backup"))) == 1
    h.close()
    assert h.tag(OLD, "infra").tags == ("infra",)


def test_a_record_that_was_put_back(full: Tree, h: Hansard) -> None:
    h.tag(OLD, "early")
    h.close()
    expected = dump(full.home)
    shutil.copy(full.home / "record.db", full.home / "copy.db")
    h.tag(OLD, "late")
    h.rename(OLD, "Late")
    h.close()
    shutil.copy(full.home / "copy.db", full.home / "record.db")
    full.sync()
    assert_same(expected, dump(full.home))


def test_a_damaged_index_is_made_again(full: Tree, h: Hansard) -> None:
    h.close()
    (full.home / "text.db").write_bytes(b"no database" * 1000)
    h.tag(OLD, "infra")
    (full.home / "index.db").write_bytes(b"no database" * 1000)
    remarking.remark(str(full.home), remarking.pinning(OLD))
    h.close()
    assert (h.session(OLD).tags, h.session(OLD).pinned) == (("infra",), True)
    assert h.search("tag:infra").total > 0


def test_a_sync_that_takes_long(full: Tree) -> None:
    with sync_lock(str(full.home), 1) as held:
        assert held
        with pytest.raises(StoreBusy, match=r"is syncing .* nothing was written"):
            remarking.remark(str(full.home), remarking.pinning(OLD), wait_seconds=0.05)
    with Record.open(str(full.home / "record.db"), readonly=True) as record:
        assert record.remarks() == []


def test_while_others_sync(full: Tree) -> None:
    failures: list[Exception] = []

    def speak(name: str) -> None:
        try:
            with hansard.open(full.home, roots=[full.config]) as h:
                for number in range(8):
                    h.tag(name, f"t{number}")
                    h.rename(name, f"Title {number}")
        except Exception as failure:  # noqa: BLE001 - a thread tells nobody else
            failures.append(failure)

    threads = [threading.Thread(target=speak, args=(name,)) for name in (OLD, FORK)]
    for thread in threads:
        thread.start()
    for number in range(8):
        full.append(main_path(OLD), [user(OLD, f"c{number}", f"Word {number}.", 10 + number)])
        full.sync(wait_seconds=60)
    for thread in threads:
        thread.join()
    assert failures == []
    full.sync()
    with hansard.open(full.home, roots=[full.config]) as h:
        for name in (OLD, FORK):
            assert h.session(name).title == "Title 7"
            assert set(h.session(name).tags) == {f"t{number}" for number in range(8)}
    expected = dump(full.home)
    rebuild(str(full.home), workers=False)
    assert_same(expected, dump(full.home))


def _say_much(h: Hansard) -> None:
    h.tag(OLD, "Infra", "later")
    h.tag(BRANCH, "infra")
    h.tag(OLD, "later", remove=True)
    h.pin(OLD, LOST)
    h.rename(OLD, "One")
    h.rename(OLD, "Two")
    h.rename(FORK, "Three")
    h.rename(FORK, None)
    h.note(OLD, "first")
    h.note(OLD, "second")
    h.unnote(OLD, 1)
