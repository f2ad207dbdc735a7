"""Kinds of files that the user does not want to be stored: passed over, and what was stored of them before stays."""

from __future__ import annotations

from pathlib import Path

import pytest

import hansard
from hansard.errors import UsageError
from hansard.sources.roots import OPTIONAL
from tests.sync.making import Tree, main_path, raw, session, user

ONE = session(1)
FILES = {
    "tool_result": f"{main_path(ONE).removesuffix('.jsonl')}/tool-results/out.txt",
    "file_history": f"file-history/{ONE}/abc@v1",
    "paste": "paste-cache/ab12.txt",
    "prompt_history": "history.jsonl",
    "plan": "plans/quiet-fox.md",
    "todo": f"todos/{ONE}-agent-{ONE}.json",
    "memory": f"{main_path(ONE).rpartition('/')[0]}/memory/MEMORY.md",
    "shell": "shell-snapshots/snapshot-bash-1-a.sh",
    "stats": "stats-cache.json",
}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "claude", tmp_path / "store")
    tree.write(main_path(ONE), [user(ONE, "u1", "Hello")])
    for kind, path in FILES.items():
        tree.write(path, raw([{"display": kind, "timestamp": 1_770_000_000_000, "sessionId": ONE}]))
    return tree


def states(tree: Tree, *not_stored: str) -> dict[str, str]:
    """What the record has, after a sync and after one that is told of each file."""
    with hansard.open(tree.home, [tree.config], not_stored=not_stored) as h:
        h.sync()
        h.sync(only=[str(tree.place(path)) for path in FILES.values()])
        assert not h.verify(deep=True).mismatches
        names = {path: kind for kind, path in FILES.items()}
        (root,) = h.record.roots()
        return {names[path]: known.state for path, known in h.record.known(root.id).items() if path in names}


def test_each_kind_can_be_left_out(tree: Tree) -> None:
    assert FILES.keys() == OPTIONAL.keys()
    assert states(tree, *OPTIONAL) == {}
    assert states(tree, "paste", "shell", "prompt_history").keys() == FILES.keys() - {
        "paste",
        "shell",
        "prompt_history",
    }
    assert states(tree).keys() == FILES.keys()


def test_what_was_stored_before_stays(tree: Tree) -> None:
    before = states(tree)
    for path in FILES.values():
        tree.write(path, b"{}\n")
    assert states(tree, *OPTIONAL) == before == dict.fromkeys(FILES, "live")
    with hansard.open(tree.home, [tree.config], not_stored=OPTIONAL) as h:
        assert {item.path.rpartition("/")[2] for item in h.plan_free().not_stored} >= {"shell-snapshots", "paste-cache"}
        assert {item.kind for item in h.plan_free().freeable} == {"transcript"}
    tree.place(FILES["paste"]).unlink()
    assert states(tree, *OPTIONAL)["paste"] == "gone"


def test_transcripts_cannot_be_left_out(tree: Tree) -> None:
    with pytest.raises(UsageError, match="nothing that can be left out"):
        hansard.open(tree.home, [tree.config], not_stored=["transcript"])
