"""A history in which one session has a word that no other one should keep."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import hansard
from tests.sync.making import FOLDER, Tree, agent_path, assistant, at, call, main_path, raw, result, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hansard.engine import Hansard

WORD = "quetzalcoatlus"
SECRET, FORK, LATER, OTHER = map(session, range(501, 505))
DIGEST = "ab12cd34"


def write_secret(tree: Tree, word: str = WORD) -> None:
    """The session, a fork of it, and a neighbour that only knows its own words."""
    first = [
        user(SECRET, "prompt-one", f"Tell {word} about it.", 0),
        assistant(
            SECRET,
            "p2",
            "msg_01sec",
            [call("toolu_1", "Write", file_path="/x/plans/quiet-fox.md", content=word)],
            1,
            "prompt-one",
        ),
        result(SECRET, "p3", "toolu_1", f"wrote {word}", 2, {"stdout": word, word: 7}),
        {"type": "last-prompt", "lastPrompt": f"Tell {word} about it.", "sessionId": SECRET},
        {"type": "custom-title", "customTitle": f"On {word}", "sessionId": SECRET},
    ]
    copied = [{**line, "sessionId": FORK} for line in first if "uuid" in line]
    tree.write(main_path(SECRET), [*first, assistant(SECRET, "p4", "msg_02sec", f"I told {word}.", 3, "p3")])
    tree.write(agent_path(SECRET, "a1"), [{**user(SECRET, "q1", word, 1), "isSidechain": True, "agentId": "a1"}])
    tree.write(f"{FOLDER}/{SECRET}/tool-results/out.txt", f"output of {word}".encode())
    tree.write(f"todos/{SECRET}-agent-{SECRET}.json", json.dumps([{"content": word, "status": "pending"}]).encode())
    tree.write(f"file-history/{SECRET}/abc@v1", word.encode())
    tree.write("plans/quiet-fox.md", f"# Plan for {word}".encode())
    tree.write("plans/loud-owl.md", b"# Plan for others")
    tree.write(f"paste-cache/{DIGEST}.txt", word.encode())
    tree.write(main_path(FORK), [*copied, user(FORK, "k1", "Another way.", 30, "p3")])
    tree.write(
        main_path(OTHER),
        [user(OTHER, "o1", "Something else.", 40), {"type": "summary", "summary": f"About {word}", "leafUuid": "p4"}],
    )
    pasted = {"1": {"type": "text", "contentHash": DIGEST}}
    typed = [
        {"display": "before", "timestamp": 1_770_000_000_000, "project": "/home/mira/src/app", "sessionId": OTHER},
        {"display": f"Tell {word}", "timestamp": 1_770_000_000_001, "sessionId": SECRET, "pastedContents": pasted},
    ]
    tree.write("history.jsonl", raw(typed))
    entries = [
        {"sessionId": SECRET, "firstPrompt": word, "modified": at(1)},
        {"sessionId": OTHER, "firstPrompt": "other"},
    ]
    tree.write(f"{FOLDER}/sessions-index.json", json.dumps({"version": 1, "entries": entries}).encode())


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "claude", tmp_path / "store")
    write_secret(tree)
    return tree


@pytest.fixture
def h(tree: Tree) -> Iterator[Hansard]:
    """The store of that history, with everything beside it that a user makes."""
    with hansard.open(tree.home, roots=[tree.config]) as opened:
        opened.sync()
        opened.note(SECRET, f"a note on {WORD}")
        opened.tag(SECRET, "birds")
        yield opened
