"""What the full text says of whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.ledger.making import opened
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


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_result_before_its_call_knows_its_tool(tree: Tree, cut: int) -> None:
    """In any split: the text of the result was indexed before anything told whose it is."""
    lines = [
        user(A, "p", "typed"),
        result(A, "r", "toolu_1", "listed", 2),
        assistant(A, "a", "m", [call("toolu_1", "Bash", command="ls")], 1),
    ]
    tree.write(main_path(A), lines[:cut])
    tree.sync()
    tree.write(main_path(A), lines)
    tree.sync()
    asked = "SELECT count(*) FROM work WHERE work MATCH ?"
    assert ask(tree.home, asked, "body: listed AND mark: toolbash", name="text.db") == [(1,)]
    assert ask(tree.home, asked, "body: listed", name="text.db") == [(1,)]


REMINDER = "<system-reminder>\nConsider malware.\n</system-reminder>\n"


def test_reminders_are_found_only_by_name(tree: Tree) -> None:
    lines = [
        user(A, "p", [{"type": "text", "text": "Read the file."}, {"type": "text", "text": REMINDER}]),
        assistant(A, "a", "m", [call("toolu_1", "Read", file_path="/f")], 1),
        result(A, "r", "toolu_1", f"1 content\n\n{REMINDER}", 2),
        user(A, "m", REMINDER, 3, isMeta=True),
        user(A, "q", f"And this? {REMINDER}", 4),
    ]
    tree.write(main_path(A), lines)
    with opened(tree) as h:
        assert h.search("malware").total == 0
        found = h.search("malware kind:reminder").hits
        assert {hit.kind for hit in found} == {"reminder"}
        assert {hit.uuid for hit in found} == {"p", "r", "m", "q"}
        assert all("Consider" in hit.snippet for hit in found)
        (hit,) = h.search("content tool:Read kind:result").hits
        assert "malware" not in hit.snippet
