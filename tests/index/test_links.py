"""How sessions relate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sync.making import Line, assistant, entry, main_path, session, user

if TYPE_CHECKING:
    from tests.sync.making import Tree

A, B, C = session(1), session(2), session(3)


def _talk(session_id: str, *more: Line) -> list[Line]:
    return [user(session_id, "r1", "Hello.", 0), assistant(session_id, "r2", "msg_01r2", "Hello you.", 1, "r1"), *more]


def _links(tree: Tree) -> set[tuple[str, str, str]]:
    tree.sync()
    return set(tree.rows("SELECT source, target, relation FROM links"))


@pytest.mark.parametrize("order", [(A, B), (B, A)])
def test_a_fork_shares_its_beginning(tree: Tree, order: tuple[str, str]) -> None:
    contents = {
        A: _talk(A, user(A, "a3", "And then?", 2, "r2")),
        B: _talk(B, user(B, "b3", "Or else?", 3, "r2"), assistant(B, "b4", "msg_01b4", "So.", 4, "b3")),
    }
    for session_id in order:
        tree.write(main_path(session_id), contents[session_id])
        tree.sync()
    assert _links(tree) == {(A, B, "fork")}
    # Both show the common message, one owns it.
    assert tree.rows("SELECT count(*) FROM messages WHERE key = 'msg_01r2'") == [(2,)]
    assert tree.rows("SELECT session_id FROM usage WHERE key = 'msg_01r2'") == [(A,)]
    assert tree.rows("SELECT session_id, api_messages FROM sessions ORDER BY 1") == [(A, 1), (B, 1)]


def test_a_fork_of_a_session_that_begins_with_a_hook(tree: Tree) -> None:
    for session_id, minutes in ((A, 2), (B, 3)):
        began = entry("progress", session_id, "h0", data={"type": "hook_progress"})
        more = user(session_id, f"{session_id}-3", "And then?", minutes, "r2")
        tree.write(main_path(session_id), [began, *_talk(session_id, more)])
    assert _links(tree) == {(A, B, "fork")}


def test_a_branch_says_where_it_comes_from(tree: Tree) -> None:
    tree.write(
        main_path(B), [{**line, "forkedFrom": {"sessionId": A}} for line in _talk(B)] + [user(B, "b3", "Else?", 3)]
    )
    assert _links(tree) == {(A, B, "branch")}  # also before, or without, the original
    tree.write(main_path(A), _talk(A, user(A, "a3", "And then?", 2, "r2")))
    assert _links(tree) == {(A, B, "branch")}


def test_clear_starts_a_new_session(tree: Tree) -> None:
    command = "<command-name>/clear</command-name>\n<command-message>clear</command-message>"
    tree.write(main_path(A), _talk(A))
    lines = [user(B, "c1", command, 5), user(B, "c2", "Anew.", 6, "c1")]
    tree.write(main_path(B), [{**line, "session_id": A} for line in lines])
    assert _links(tree) == {(A, B, "clear")}
    assert tree.rows("SELECT title FROM sessions WHERE session_id = ?", B) == [("Anew.",)]


def test_a_session_goes_on_in_another(tree: Tree) -> None:
    tree.write(main_path(A), [*_talk(A), {"type": "continued-in", "sessionId": A, "continuedInSessionId": B}])
    assert _links(tree) == {(A, B, "continued_in")}
    tree.write(main_path(B), [user(B, "x1", "Further.", 9)])
    assert _links(tree) == {(A, B, "continued_in")}


def test_a_title_in_another_file_is_a_link(tree: Tree) -> None:
    tree.write(main_path(C), [{"type": "summary", "summary": "Greetings", "leafUuid": "r2"}])
    assert _links(tree) == set()
    tree.write(main_path(A), _talk(A))
    assert _links(tree) == {(C, A, "summary")}
    assert tree.rows("SELECT title, title_source FROM sessions WHERE session_id = ?", A) == [("Greetings", "summary")]
    tree.write(main_path(C), [{"type": "summary", "summary": "Greetings", "leafUuid": "somewhere else"}])
    assert _links(tree) == set()
    assert tree.rows("SELECT title, title_source FROM sessions WHERE session_id = ?", A) == [("Hello.", "prompt")]


def test_lines_of_another_session_in_the_file(tree: Tree) -> None:
    tree.write(main_path(A), [*_talk(A), user(B, "z1", "A foreign line.", 3)])
    assert _links(tree) == {(B, A, "resumed")}


def test_every_relation_in_one_view(tree: Tree) -> None:
    tree.write(main_path(A), _talk(A))
    tree.sync()
    found = set(tree.rows("SELECT source_kind, source, target_kind, target, relation FROM all_links"))
    assert found == {
        ("record", "r2", "record", "r1", "replies_to"),
        ("record", "r1", "session", A, "belongs_to"),
        ("record", "r2", "session", A, "belongs_to"),
        ("session", A, "project", "/home/mira/src/app", "from_project"),
    }
