"""Every prompt ever typed: each once, in order, in pages."""

from __future__ import annotations

import base64
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.clients.roots import open_roots
from hansard.errors import UsageError
from hansard.sync.report import SyncRequest
from hansard.sync.run import sync
from tests.sync.making import START, Tree, at, entry, main_path, raw, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hansard.engine import Hansard
    from hansard.model.search import Prompt
    from tests.recordings import History

ONE, TWO, GONE = session(1), session(2), session(9)
MINUTE = 60_000
BEGIN = int(START.timestamp() * 1000)


def typed(text: str, minutes: float, session_id: str | None = None, project: str = "/home/mira/src/app") -> bytes:
    """A line of history.jsonl."""
    line: dict[str, Any] = {
        "display": text,
        "pastedContents": {},
        "timestamp": BEGIN + int(minutes * MINUTE),
        "project": project,
    }
    return raw([line if session_id is None else {**line, "sessionId": session_id}])


@pytest.fixture
def store(tree: Tree) -> Iterator[Hansard]:
    with hansard.open(tree.home) as opened:
        yield opened


def listed(store: Hansard, query: str | None = None, **options: Any) -> list[str]:
    return [prompt.text for prompt in store.prompts(query, limit=None, **options).prompts]


def test_newest_first_or_oldest_first(tree: Tree, store: Hansard) -> None:
    tree.write(main_path(ONE), [user(ONE, "u1", "first", 1), user(ONE, "u3", "third", 3)])
    tree.write(main_path(TWO), [user(TWO, "u2", "second", 2), {**user(TWO, "u0", "some time"), "timestamp": None}])
    tree.sync()
    assert listed(store) == ["third", "second", "first", "some time"]
    assert listed(store, ascending=True) == ["some time", "first", "second", "third"]
    newest = store.prompts(limit=1).prompts[0]
    assert newest.transcript.endswith(f"{ONE}.jsonl")
    assert b"third" in b"".join(store.cat(ONE))[newest.offset :].split(b"\n")[0]
    assert (newest.session_id, newest.project, newest.source) == (ONE, "/home/mira/src/app", "prompt")
    assert newest.at is not None
    assert newest.at.isoformat() == at(3).replace("Z", "+00:00").replace(".000", "")


def test_history_only_where_no_transcript_has_it(tree: Tree, store: Hansard) -> None:
    tree.write(
        main_path(ONE),
        [
            user(ONE, "u1", "same words", 1),
            user(ONE, "u2", "before\nmany\nlines\nafter", 2),
            user(ONE, "u3", "sent much later", 30),
        ],
    )
    tree.write(main_path(TWO), [user(TWO, "u4", "<command-name>/clear</command-name>", 5.01)])
    tree.write(
        "history.jsonl",
        typed("same words ", 1, ONE)
        + typed("before [Pasted text #1 +2 lines] after", 2, ONE)
        + typed("sent much later", 3, ONE)
        + typed("/clear", 5, ONE)  # the new session begins with it
        + typed("/stats", 6, ONE)
        + typed("same words", 1, None, "/home/mira/src/app/sub")  # old clients named no session
        + typed("other words", 1, None)
        + typed("same words", -900, GONE, "/home/mira/old"),
    )
    tree.sync()
    found = store.prompts(limit=None).prompts
    assert [(prompt.text, prompt.source, prompt.session_kept) for prompt in found if prompt.source == "history"] == [
        ("/stats", "history", True),
        ("other words", "history", False),
        ("same words", "history", False),
    ]
    assert [prompt.session_id for prompt in found if not prompt.session_kept] == [None, GONE]
    assert found[-1].project == "/home/mira/old"
    assert listed(store, source="history") == ["/stats", "other words", "same words"]


def forked(lines: list[dict[str, Any]], session_id: str) -> list[dict[str, Any]]:
    return [{**line, "sessionId": session_id} for line in lines]


@pytest.mark.parametrize("backwards", [False, True])
def test_a_fork_says_nothing_again(tree: Tree, store: Hansard, backwards: bool) -> None:
    lines = [user(ONE, "u1", "one", 1), user(ONE, "u2", "two", 2, "u1")]
    paths = {
        main_path(ONE): lines,
        main_path(TWO): [*forked(lines, TWO), user(TWO, "u3", "three", 3, "u2")],
    }
    for path in sorted(paths, reverse=backwards):
        tree.write(path, paths[path])
        tree.sync()
    found = store.prompts(limit=None).prompts
    assert [(prompt.text, prompt.copies, prompt.session_id) for prompt in found] == [
        ("three", 0, TWO),
        ("two", 1, ONE),
        ("one", 1, ONE),
    ]


def test_a_copy_of_a_whole_directory_says_nothing_again(tree: Tree, store: Hansard, tmp_path: Path) -> None:
    copy = Tree(tmp_path / "copy", tree.home)
    queued = [
        {"type": "queue-operation", "operation": "enqueue", "content": "wait", "sessionId": ONE, "timestamp": at(1)},
        {"type": "queue-operation", "operation": "remove", "sessionId": ONE, "timestamp": at(2)},
    ]
    for place in (tree, copy):
        place.write(main_path(ONE), [user(ONE, "u1", "one", 1), *queued])
        place.write("history.jsonl", typed("lost", 0, GONE))
    sync(str(tree.home), open_roots([str(tree.config), str(copy.config)]), SyncRequest(workers=False))
    found = store.prompts(limit=None).prompts
    assert [(prompt.text, prompt.source, prompt.copies) for prompt in found] == [
        ("wait", "queued", 1),
        ("one", "prompt", 1),
        ("lost", "history", 1),
    ]


def test_equal_texts_once(tree: Tree, store: Hansard) -> None:
    tree.write(
        main_path(ONE), [user(ONE, f"u{n}", text, n) for n, text in enumerate(["go on", "stop", "go on ", "why"])]
    )
    tree.write(main_path(TWO), [user(TWO, "v", "go on", 9)])
    tree.sync()
    page = store.prompts(unique=True)
    assert [(prompt.text, prompt.times) for prompt in page.prompts] == [("go on", 3), ("why", 1), ("stop", 1)]
    assert page.total == 3
    assert [(prompt.text, prompt.times) for prompt in store.prompts(unique=True, limit=1).prompts] == [("go on", 3)]


@pytest.mark.parametrize("size", [1, 2, 7, 100])
@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("options", [{}, {"ascending": True}, {"unique": True}, {"unique": True, "ascending": True}])
def test_pages_hold_every_prompt_once(
    tree: Tree, store: Hansard, size: int, counted: bool, options: dict[str, Any]
) -> None:
    rng = random.Random(size)
    for number in range(1, 6):
        lines = [
            user(session(number), f"{number}-{n}", f"words {rng.randrange(9)}", rng.randrange(4)) for n in range(7)
        ]
        lines += [{**user(session(number), f"{number}-x", "some time"), "timestamp": None}]
        tree.write(main_path(session(number)), lines)
    tree.sync()
    every = store.prompts(limit=None, **options)
    found: list[Prompt] = []
    cursor = None
    while True:
        page = store.prompts(limit=size, cursor=cursor, counted=counted, **options)
        found += page.prompts
        assert page.total == every.total or not counted
        assert page.total <= every.total == len(every.prompts)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert tuple(found) == every.prompts


def test_conditions(tree: Tree, store: Hansard) -> None:
    tree.write(main_path(ONE), [user(ONE, "u1", "early", 1), user(ONE, "u2", "late", 60)])
    tree.write(main_path(TWO), [user(TWO, "u3", "else", 30, cwd="/home/mira/src/Sail")])
    tree.write("history.jsonl", typed("lost", 40, GONE, "/home/mira/src/sail/.claude/worktrees/x"))
    tree.sync()
    middle = START.replace(minute=20)
    assert listed(store, since=middle) == ["late", "lost", "else"]
    assert listed(store, until=middle) == ["early"]
    assert listed(store, project="sail") == ["lost", "else"]
    assert store.prompts(project="sail").prompts[0].project == "/home/mira/src/sail"
    assert listed(store, source="queued") == []
    with pytest.raises(UsageError, match="not a source"):
        store.prompts(source="nobody")
    with pytest.raises(UsageError, match="at least 1"):
        store.prompts(limit=0)


def test_an_order_that_syncs_do_not_change(tree: Tree, store: Hansard, tmp_path: Path) -> None:
    other = Tree(tree.config, tmp_path / "other")
    texts = {number: [user(session(number), f"u{number}", f"text {number}", 1)] for number in range(1, 6)}
    for number in (3, 1, 5, 2, 4):
        tree.write(main_path(session(number)), texts[number])
        tree.sync()
    other.sync()
    with hansard.open(other.home) as again:
        assert listed(again) == listed(store) == [f"text {number}" for number in range(1, 6)]


def test_a_cursor_that_nobody_gave(tree: Tree, store: Hansard) -> None:
    tree.write(main_path(ONE), [user(ONE, "u1", "one", 1), entry("system", ONE, "s", 2), user(ONE, "u2", "two", 3)])
    tree.sync()
    cursor = store.prompts(limit=1).next_cursor
    assert cursor is not None
    with pytest.raises(UsageError, match="sort order"):
        store.prompts(cursor=cursor, ascending=True)
    odd: list[Any] = [[], [1], {}, [False, False, False, "x", "p", "r", 1], [False, False, 1, 1, 1, 1, 1]]
    odd.append([False, False, False, 1 << 70, "p", "r", 1])
    for value in odd:
        with pytest.raises(UsageError, match="not from this listing"):
            store.prompts(cursor=base64.urlsafe_b64encode(json.dumps(value).encode()).decode())
    with pytest.raises(UsageError):
        store.prompts(cursor="€")


@pytest.mark.parametrize("name", ["real clients", "public"])
def test_real_prompts(histories: dict[str, History], name: str) -> None:
    with hansard.open(histories[name].store) as opened:
        page = opened.prompts(limit=None)
        assert page.total == len(page.prompts) > 500
        times = [prompt.at for prompt in page.prompts if prompt.at is not None]
        assert times == sorted(times, reverse=True)
        # The client writes the same prompt to both; what is left of the history are commands that no transcript has.
        left = {prompt.text.split()[0] for prompt in page.prompts if prompt.source == "history"}
        assert left <= {"/exit", "/model", "/resume", "/stats"}  # /model, typed while the model worked, leaves no line
        assert any(prompt.copies for prompt in page.prompts) == (name == "real clients")
        found = {prompt.text for prompt in opened.prompts("commit", limit=None).prompts}
        assert ("commit " in found) == (name == "public")
