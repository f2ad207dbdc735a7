"""What the full text says of whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sync.making import ask, main_path, session, user

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
