"""What is forgotten is gone from every byte within reach, and nothing brings it back."""

from __future__ import annotations

import json
import os
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.errors import NotFound, UsageError
from hansard.model.store_requests import ForgetRequest
from hansard.record.store import Record
from hansard.sync.erasing import receipts
from hansard.sync.rebuild import rebuild
from tests.record.making import found
from tests.retention.conftest import FORK, LATER, OTHER, SECRET, WORD
from tests.sync.dumping import assert_same, dump
from tests.sync.making import FOLDER, agent_path, assistant, main_path, user
from tests.sync.test_erasing import words

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.engine import Hansard
    from hansard.model.erasing import ForgetPlan
    from tests.sync.making import Tree

NAME = WORD.encode()


def kinds(plan: ForgetPlan, action: str | None = None) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in plan.items:
        if action is None or item.action == action:
            counts[item.kind] = counts.get(item.kind, 0) + 1
    return counts


def said(h: Hansard, session_id: str) -> list[str]:
    """Everything that a session's main thread says."""
    return [entry.text.strip() for entry in h.conversation(session_id).entries if entry.text]


def assert_gone(home: Path) -> None:
    assert found(home, NAME) == []
    assert WORD not in words(home)
    assert all(receipt.finished_at for receipt in receipts(str(home)))


def assert_verified(h: Hansard) -> None:
    report = h.verify(deep=True)
    assert not report.mismatches


def clear_source(tree: Tree) -> None:
    """Remove the words from the client's files by hand, so that a search may look at those too."""
    shutil.rmtree(tree.config)
    tree.config.mkdir()


def test_the_preview_changes_nothing(h: Hansard, tree: Tree) -> None:
    before = dump(tree.home)
    plan = h.plan_forget([SECRET[:8] + SECRET[8:]])
    assert [(session.session_id, session.title) for session in plan.sessions] == [(SECRET, f"On {WORD}")]
    assert kinds(plan, "erase") == {"transcript": 1, "subagent": 1, "tool_result": 1, "file": 4, "remarks": 1}
    assert kinds(plan, "overwrite") == {"prompt_history": 1, "title": 2, "copied_message": 1}
    assert {item.reason for item in plan.left} == {"--source removes it", "--source overwrites them"}
    assert plan.bytes > 1000
    assert len(plan.summary.rows) == len({(item.kind, item.action, item.reason) for item in plan.items})
    assert_same(before, dump(tree.home))
    assert h.receipts() == []


def test_a_session(h: Hansard, tree: Tree, tmp_path: Path) -> None:
    h.export([SECRET], tmp_path / "pages", format="html")
    h.export([SECRET, OTHER], tmp_path / "all.jsonl")
    h.export([OTHER], tmp_path / "other.md")
    h.export(None, tmp_path / "tables", format="csv")
    (tree.home / "record.db.layout-7-20260101T000000Z.backup").write_bytes(NAME)
    journal = tree.home / "changes" / "0001-1"
    journal.mkdir(parents=True)
    (journal / "0.before").write_bytes(f'{{"sessionId":"{SECRET}"}} {WORD}'.encode())
    (tree.home / "edits.db").write_bytes(b"a cache with " + NAME)
    for name in (f"statusline/{SECRET}.shown", "hooks/budgets.json", "tui-crash.log", "sql-history", "tui.json"):
        (tree.home / name).parent.mkdir(exist_ok=True)
        (tree.home / name).write_text(f"{SECRET} {WORD}")
    plan = h.plan_forget([SECRET])
    removed = {item.place for item in plan.items if item.action == "remove"}
    # A line of the other session is overwritten too: it is the title of this one.
    exported = [*(tmp_path / "pages").glob("*.html"), tmp_path / "all.jsonl", tmp_path / "other.md"]
    exported += [table for table in (tmp_path / "tables").glob("*.csv") if SECRET in table.read_text(encoding="utf-8")]
    assert len(exported) > 3
    assert removed == {
        str(path)
        for path in (
            *(*exported, journal, tree.home / "record.db.layout-7-20260101T000000Z.backup"),
            *(tree.home / "sql-history", tree.home / "tui.json"),
        )
    }
    noted = h.verify().revision
    receipt = h.forget([SECRET])
    assert receipt.finished_at
    assert receipt.erased.reason == "session"
    assert (receipt.erased.transcripts, receipt.erased.files, receipt.erased.remarks) == (2, 5, 2)
    assert receipt.erased.left == len(plan.left)
    assert_gone(tree.home)
    assert found(tmp_path / "pages", NAME) == []
    assert sorted(path.name for path in tmp_path.glob("*")) == ["claude", "pages", "store", "tables"]
    assert [path for path in tree.home.rglob("*") if SECRET in path.name] == []
    assert h.verify(since=noted).mismatches == []
    assert not journal.exists()
    assert (tree.place("plans/loud-owl.md")).exists()
    with pytest.raises(NotFound):
        h.session(SECRET)
    # The fork keeps its own words and its place in the tree; a marker says what is missing.
    texts = said(h, FORK)
    assert "Another way." in texts
    assert any(text.startswith("[forgotten]") for text in texts)
    assert [prompt.text for prompt in h.prompts().prompts if prompt.source == "history"] == ["before"]
    # The client's own files are as they were.
    assert NAME in tree.place(main_path(SECRET)).read_bytes()


def test_nothing_brings_it_back(h: Hansard, tree: Tree, tmp_path: Path) -> None:
    h.forget([SECRET])
    expected = dump(tree.home)
    assert h.sync().forgotten == 7
    h.sync(reread=True)
    h.rebuild()
    assert_same(expected, dump(tree.home))
    tree.append(main_path(SECRET), [user(SECRET, "p5", WORD, 5, "p4")])
    tree.write(agent_path(SECRET, "a2"), [{**user(SECRET, "q2", WORD, 1), "isSidechain": True, "agentId": "a2"}])
    # The client forks the session from its own file.
    copied = [
        user(LATER, "prompt-one", f"Tell {WORD} about it.", 0),
        assistant(LATER, "p4", "msg_02sec", f"I told {WORD}.", 3, "prompt-one"),
    ]
    tree.write(main_path(LATER), [*copied, user(LATER, "l1", "And on.", 50, "p4")])
    tree.write(
        main_path(OTHER), tree.place(main_path(OTHER)).read_bytes().replace(WORD.encode(), b"another title of it")
    )
    h.sync()
    assert "And on." in said(h, LATER)
    restored = tmp_path / "restored"
    h.restore(h.plan_restore(None, str(restored)))
    assert found(restored, NAME) == []
    with Record.open(str(tree.home / "record.db")) as record:
        record.compact()
    assert_gone(tree.home)
    assert_verified(h)
    # A root that is a copy of the first one.
    shutil.copytree(tree.config, tmp_path / "copy")
    from hansard.clients.roots import open_roots
    from hansard.sync.run import sync

    sync(str(tree.home), open_roots([str(tmp_path / "copy")]))
    with Record.open(str(tree.home / "record.db")) as record:
        record.compact()
    assert not [hit for hit in found(tree.home, NAME) if "record.db" not in hit]


WITHOUT_ID: list[dict[str, Any]] = [
    {
        "type": "queue-operation",
        "operation": "enqueue",
        "timestamp": "2026-03-01T08:59:59.000Z",
        "content": f"queued {WORD}",
    },
    {"type": "summary", "summary": f"Summary of {WORD}", "leafUuid": "prompt-one"},
    {"type": "file-history-snapshot", "messageId": "m1", "snapshot": {"name": WORD}},
]
LATER_LINES: list[dict[str, Any]] = [
    {"type": "custom-title", "customTitle": f"Named {WORD}"},
    {"type": "brand-new-kind", "uuid": "nk-1", "payload": {"text": f"unknown {WORD}"}},
    {"type": "mode", "mode": "plan"},
]


def as_session(lines: list[dict[str, Any]], session_id: str) -> list[dict[str, Any]]:
    return [{**line, "sessionId": session_id} for line in lines]


@pytest.mark.parametrize("source", [False, True])
@pytest.mark.parametrize("is_live", [False, True])
def test_a_copy_under_another_id_is_stored_without_its_lines(
    h: Hansard, tree: Tree, source: bool, is_live: bool
) -> None:
    talk = [
        user(SECRET, "prompt-one", f"Tell {WORD} about it.", 0),
        assistant(SECRET, "p4", "msg_02sec", f"I told {WORD}.", 3, "prompt-one"),
    ]
    tree.write(main_path(SECRET), as_session([*WITHOUT_ID, *talk, *LATER_LINES], SECRET))
    h.sync()
    h.forget([SECRET], source=source)
    copied = as_session([*WITHOUT_ID, *talk, *LATER_LINES], LATER)
    own = [user(LATER, "l1", "And on.", 50, "p4"), {"type": "custom-title", "customTitle": "Mine", "sessionId": LATER}]
    tree.write(main_path(LATER), copied[: 5 if is_live else None])
    h.sync()
    tree.append(main_path(LATER), [*(copied[5:] if is_live else []), *own])
    h.sync()
    assert said(h, LATER)[-1] == "And on."
    assert h.session(LATER).title == "Mine"
    stored = b"".join(h.cat(LATER))
    assert NAME not in stored
    assert b'"mode":"plan"' in stored.replace(b" ", b"")
    h.sync(reread=True)
    with Record.open(str(tree.home / "record.db")) as record:
        record.compact()
    assert_gone(tree.home)
    assert_verified(h)


def test_equal_lines_of_other_sessions_are_stored(h: Hansard, tree: Tree) -> None:
    title = {"type": "custom-title", "customTitle": "Review"}
    tree.append(main_path(SECRET), as_session([title], SECRET))
    h.sync()
    h.forget([SECRET])
    tree.write(main_path(LATER), as_session([title, user(LATER, "l1", "Hello.", 50), title], LATER))
    h.sync()
    assert h.session(LATER).title == "Review"


def test_lines_without_an_id_go_from_a_fork_too(h: Hansard, tree: Tree) -> None:
    tree.append(main_path(SECRET), as_session(WITHOUT_ID[:1], SECRET))
    tree.append(main_path(FORK), as_session([*WITHOUT_ID[:1], {"type": "custom-title", "customTitle": "Mine"}], FORK))
    h.sync()
    plan = h.plan_forget([SECRET])
    assert [item.lines for item in plan.items if item.kind == "copied_message"] == [4]
    h.forget([SECRET])
    assert_gone(tree.home)
    assert h.session(FORK).title == "Mine"


def test_with_the_clients_own_files(h: Hansard, tree: Tree) -> None:
    dates = {path: tree.place(path).stat().st_mtime_ns for path in ("history.jsonl", main_path(FORK))}
    plan = h.plan_forget([SECRET], source=True)
    assert not plan.left
    h.forget([SECRET], source=True)
    assert_gone(tree.home)
    assert found(tree.config, NAME) == []
    assert not tree.place(main_path(SECRET)).exists()
    assert not tree.place("plans/quiet-fox.md").exists()
    assert {path: tree.place(path).stat().st_mtime_ns for path in dates} == dates
    lines = [json.loads(line) for line in tree.place(main_path(FORK)).read_bytes().splitlines()]
    assert [line["uuid"] for line in lines] == ["prompt-one", "p2", "p3", "k1"]
    assert lines[-1]["message"]["content"] == "Another way."
    assert [
        entry["sessionId"] for entry in json.loads(tree.place(f"{FOLDER}/sessions-index.json").read_bytes())["entries"]
    ][1] == OTHER
    h.sync()
    assert not tree.rows("SELECT 1 FROM transcripts WHERE generation > 1")
    assert_verified(h)


def folders(tree: Tree) -> set[str]:
    return {str(path.relative_to(tree.config)) for path in tree.config.rglob("*") if path.is_dir()}


def test_empty_folders_of_the_session_go_and_no_others(h: Hansard, tree: Tree) -> None:
    elsewhere = "projects/-home-mira-src-other"
    tree.write(f"{elsewhere}/{SECRET}/tool-results/more.txt", NAME)
    tree.write(f"tasks/{SECRET}/1.json", json.dumps({"subject": WORD}).encode())
    tree.write(f"{FOLDER}/{SECRET}/kept.bin", b"\0of another program")
    (tree.config / "tasks" / OTHER).mkdir()
    h.sync()
    before = folders(tree)
    gone = {
        *(elsewhere, f"{elsewhere}/{SECRET}", f"{elsewhere}/{SECRET}/tool-results", f"tasks/{SECRET}"),
        *(f"{FOLDER}/{SECRET}/tool-results", f"{FOLDER}/{SECRET}/subagents", f"file-history/{SECRET}"),
    }
    assert gone < before
    h.forget([SECRET], source=True)
    assert before - folders(tree) == gone
    assert tree.place(f"{FOLDER}/{SECRET}/kept.bin").exists()


def test_copies_in_forks_may_stay(h: Hansard) -> None:
    plan = h.plan_forget([SECRET], keep_copies=True)
    assert [(item.session_id, item.lines) for item in plan.left if item.kind == "copied_message"] == [(FORK, 3)]
    h.forget([SECRET], keep_copies=True)
    texts = said(h, FORK)
    assert f"Tell {WORD} about it." in texts


def test_a_fork_does_not_take_its_original_along(h: Hansard) -> None:
    h.forget([FORK])
    texts = said(h, SECRET)
    assert f"Tell {WORD} about it." in texts


def test_a_project(h: Hansard, tree: Tree) -> None:
    tree.write(f"{FOLDER}/memory/MEMORY.md", NAME)
    h.sync()
    with pytest.raises(NotFound, match="no project"):
        h.plan_forget(project="sr")
    assert {session.session_id for session in h.plan_forget(project="app").sessions} == {SECRET, FORK, OTHER}
    receipt = h.forget(project="/home/mira/src/app")
    assert receipt.erased.sessions == 3
    assert_gone(tree.home)
    assert not h.sessions().sessions
    assert tree.rows("SELECT path FROM side_files") == [("plans/loud-owl.md",)]
    h.sync()
    assert not h.sessions().sessions


def test_a_message(h: Hansard, tree: Tree) -> None:
    receipt = h.forget(
        messages=["prompt-one"]
        if len("prompt-one") > 3
        else [tree.rows("SELECT uuid FROM records WHERE uuid = 'p1'")[0][0]]
    )
    assert receipt.erased.stretches == 2
    assert f"Tell {WORD} about it." not in said(h, SECRET)


def test_a_text(h: Hansard, tree: Tree) -> None:
    plan = h.plan_forget(match=WORD)
    assert not plan.sessions
    receipt = h.forget(match=WORD)
    assert receipt.erased.stretches > 10
    left = found(tree.home, NAME)
    assert left == []
    assert WORD not in words(tree.home)
    assert {session.session_id for session in h.sessions().sessions} == {SECRET, FORK, OTHER}
    with pytest.raises(NotFound, match="nothing to forget"):
        h.plan_forget(match=WORD)
    h.sync()
    h.sync(reread=True)
    assert found(tree.home, NAME) == []
    assert_verified(h)


def test_a_text_in_the_clients_own_files(h: Hansard, tree: Tree) -> None:
    h.forget(match=f"{WORD} tell", source=True)
    lines = tree.place(main_path(SECRET)).read_bytes().splitlines()
    assert f"Tell {WORD}".encode() not in b"".join(lines)
    assert all(json.loads(line) for line in lines if line.strip())
    h.sync()
    assert_verified(h)


def test_a_text_in_former_contents_of_a_small_file(h: Hansard, tree: Tree) -> None:
    """Each of them, and each place in it, whichever alternative of the query it has."""
    place = f"{FOLDER}/memory/MEMORY.md"
    for number, text in enumerate(
        ("one alphawort\ntwo betawort\nthreewort", "one alphawort\ntwo betawort\nfour", "only betawort")
    ):
        tree.write(place, text.encode())
        now = time.time_ns()
        os.utime(tree.place(place), ns=(now, now - (9 - number) * 10**9))
        h.sync()
    h.forget(match="alphawort OR betawort")
    assert found(tree.home, b"alphawort") == found(tree.home, b"betawort") == []
    assert found(tree.home, b"threewort") != []
    assert_verified(h)


@pytest.mark.parametrize(
    ("query", "gone", "stays"),
    [
        (f"{WORD} -tell", {"plans/quiet-fox.md", "p3", "q1"}, {"prompt-one", "last-prompt"}),
        (f"tool:Write {WORD}", {"p2"}, {"custom-title", "plans/quiet-fox.md"}),
        (f"(nothing OR {WORD}) -tell", {"plans/quiet-fox.md", "custom-title"}, {"prompt-one"}),
        (f"near({WORD} plan, 5)", {"plans/quiet-fox.md"}, {"p3", "prompt-one"}),
    ],
)
def test_only_what_a_query_finds(h: Hansard, query: str, gone: set[str], stays: set[str]) -> None:
    """Where the full text does not have a line, the words that it must not have and the fields of single texts count too."""
    h.forget(match=query)
    held = set()
    for hit in h.grep(WORD, around=None, all_generations=True):
        line = json.loads(hit.text) if hit.file.path.endswith("l") else {}
        held.add(line.get("uuid") or line.get("type") or hit.file.path)
    assert not held & gone
    assert held >= stays


def test_allowed_again(h: Hansard, tree: Tree) -> None:
    h.forget([SECRET])
    assert not h.allow(OTHER)
    assert h.allow(SECRET)
    h.sync()
    assert h.session(SECRET).title == f"On {WORD}"
    assert f"Tell {WORD} about it." in said(h, SECRET)
    assert_verified(h)
    h.forget([SECRET])
    h.sync()
    assert_gone(tree.home)


def test_a_message_stays_forgotten_when_its_session_is_allowed(h: Hansard, tree: Tree) -> None:
    path = tree.place(main_path(SECRET))
    h.forget(messages=["prompt-one"])
    h.forget([SECRET])
    assert h.allow(SECRET)
    h.sync()
    assert h.session(SECRET).title == f"On {WORD}"
    assert f"I told {WORD}." in said(h, SECRET)
    assert f"Tell {WORD} about it." not in said(h, SECRET)
    h.sync(reread=True)
    # The client's file is seen again: longer, and from its beginning.
    tree.append(main_path(SECRET), [user(SECRET, "p5", "And then?", 5, "p4")])
    h.sync()
    path.write_bytes(b'{"type":"mode"}\n' + path.read_bytes())
    h.sync()
    assert h.session(SECRET).title == f"On {WORD}"
    assert f"Tell {WORD} about it." not in said(h, SECRET)
    assert_verified(h)
    assert not h.allow("nothing-like-it")
    assert h.allow("prompt-one")
    assert not h.allow("prompt-one")
    h.sync()
    assert f"Tell {WORD} about it." in said(h, SECRET)
    assert b"".join(h.cat(SECRET)) == path.read_bytes()
    assert f"Tell {WORD} about it." in said(h, FORK), "its copies come back too"
    assert_verified(h)


def test_what_a_query_forgot_stays_forgotten_when_its_session_is_allowed(h: Hansard, tree: Tree) -> None:
    tree.append(main_path(SECRET), as_session([*WITHOUT_ID, {"type": "custom-title", "customTitle": "Birds"}], SECRET))
    h.sync()
    h.forget(match=WORD)
    h.forget([SECRET])
    assert h.allow(SECRET)
    h.sync()
    tree.append(main_path(SECRET), as_session(WITHOUT_ID, SECRET))
    h.sync()
    assert h.session(SECRET).title == "Birds"
    assert NAME not in b"".join(h.cat(SECRET))


def test_copies_in_other_roots_are_listed(h: Hansard, tree: Tree, tmp_path: Path) -> None:
    """Every copy in every root that the store knows, whether it was named this time, and whether it can be read."""
    bare, gone = tmp_path / "bare" / "projects", tmp_path / "away"
    shutil.copytree(tree.config / "projects", bare)
    shutil.copytree(tree.config, gone)
    for root in (bare, gone):
        with hansard.open(tree.home, roots=[root]) as other:
            other.sync()
    gone.rename(tmp_path / "unplugged")
    bare_path = main_path(SECRET).removeprefix("projects/")
    (bare / bare_path.replace(SECRET, FORK)).unlink()
    with hansard.open(tree.home, roots=[tree.config]) as again:
        plan = again.plan_forget([SECRET], source=True)
        left = {item.place: item.reason for item in plan.left}
        assert left[str(bare / bare_path)] == "in a root that was not given"
        assert left[str(gone / main_path(SECRET))] == left[str(gone / "history.jsonl")]
        assert left[str(gone / main_path(SECRET))] == "in a root that cannot be read now"
        assert {item.place for item in plan.items if item.action == "remove"} >= {str(tree.place(main_path(SECRET)))}
        assert str(gone / main_path(FORK)) in left
        assert str(bare / bare_path.replace(SECRET, FORK)) not in left, "deleted since"
        receipt = again.forget([SECRET], source=True)
        assert receipt.erased.left == len(plan.left)
    assert NAME in (bare / bare_path).read_bytes()
    assert_gone(tree.home)


def test_lines_without_an_id_come_back_with_an_allowed_session(tree: Tree, h: Hansard) -> None:
    lines: list[dict[str, Any]] = [
        {"type": "summary", "summary": "About herons", "leafUuid": "one"},
        user(LATER, "one", "Herons?", 50),
        {"type": "file-history-snapshot", "messageId": "one", "snapshot": {"trackedFileBackups": {}}},
    ]
    path = tree.write(main_path(LATER), lines)
    h.sync()
    h.forget([LATER])
    assert h.allow(LATER)
    h.sync()
    assert b"".join(h.cat(LATER)) == path.read_bytes()


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({}, UsageError, "name what to forget"),
        ({"names": ["On quetzalcoatlus"]}, UsageError, "name it by its id"),
        ({"names": ["ffffffff"]}, NotFound, "no session"),
        ({"messages": ["nothing-like-it"]}, NotFound, "no message"),
        ({"match": "nowhere-at-all"}, NotFound, "nothing to forget"),
    ],
)
def test_requests_that_name_nothing(h: Hansard, given: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        h.plan_forget(ForgetRequest(**given))


def test_the_receipt_says_nothing(h: Hansard, tree: Tree) -> None:
    h.forget([SECRET])
    (receipt,) = h.receipts()
    import msgspec

    text = msgspec.json.encode(receipt).decode()
    assert SECRET not in text
    assert "app" not in text
    assert found(tree.home, SECRET.encode()) == [], "not even its id is left"


def test_an_index_in_another_state(h: Hansard, tree: Tree) -> None:
    (tree.home / "index.db").unlink()
    h.sync()
    h.forget([SECRET])
    rebuild(str(tree.home))
    assert_gone(tree.home)
