"""What the full text says of whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sync.making import ask, assistant, call, main_path, result, session, user

if TYPE_CHECKING:
    from tests.sync.making import Tree

A = session(1)


def test_what_a_subagent_was_told_is_no_prompt(tree: Tree) -> None:
    lines = [
        user(A, "p", "typed"),
        user(A, "s", "sidechain", 1, isSidechain=True),
        user(A, "t", "streamed", 2, parent_tool_use_id="toolu_1"),
    ]
    tree.write(main_path(A), lines)
    tree.sync()
    found = {
        word: len(
            ask(
                tree.home,
                "SELECT rowid FROM talk WHERE talk MATCH ?",
                f"body: {word} AND mark: kindprompt",
                name="text.db",
            )
        )
        for word in ("typed", "sidechain", "streamed")
    }
    assert found == {"typed": 1, "sidechain": 0, "streamed": 0}
    assert tree.rows("SELECT text FROM prompts") == [("typed",)]


def test_a_result_knows_its_tool_however_long_the_id_of_the_call(tree: Tree) -> None:
    long = "toolu_" + "x" * 500
    lines = [assistant(A, "a", "m", [call(long, "Bash", command="ls")]), result(A, "r", long, "listed", 1)]
    tree.write(main_path(A), lines)
    tree.sync()
    found = ask(
        tree.home, "SELECT rowid FROM work WHERE work MATCH ?", "body: listed AND mark: toolbash", name="text.db"
    )
    assert len(found) == 1


@pytest.mark.parametrize("ending", ["\n", "", " "])
def test_a_large_file_is_prepared_part_by_part(tree: Tree, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr("hansard.index.text._PART", 1000)
    content = "".join(f"wörd{number:05}語{ending}" for number in range(500))
    tree.write(main_path(A), [user(A, "p", "typed")])
    tree.write(f"projects/-p/{A}/tool-results/toolu_1.txt", content.encode())
    tree.sync()
    found = ask(tree.home, "SELECT rowid FROM work WHERE work MATCH ?", "body: 語 語", name="text.db")
    assert len(found) == 1
    if ending:
        found = ask(tree.home, "SELECT rowid FROM work WHERE work MATCH ?", "body: word AND 00077", name="text.db")
        assert len(found) == 1
