"""What fields ask of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import hansard
from hansard.query.language import FIELDS, Has, Is
from hansard.query.meanings import MEANINGS
from tests.sync.making import assistant, call, main_path, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.engine import Hansard
    from tests.sync.making import Tree

TITLE = "Café log-in — flaky, twice"


@pytest.fixture
def store(tree: Tree) -> Iterator[Hansard]:
    own = session(1)
    lines = [
        user(own, "u1", "hello", 1),
        assistant(own, "u2", "m1", [call("t1", "mcp__git_hub__create_issue", path="x")], 2, "u1", stop="tool_use"),
        {"type": "custom-title", "customTitle": TITLE, "sessionId": own},
    ]
    tree.write(main_path(own), lines)
    tree.write(main_path(session(2)), [user(session(2), "v1", "hello", 1)])
    tree.sync()
    with hansard.open(tree.home) as opened:
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        'title:"log-in"',
        "title:CAFE",
        "title:café",
        'title:"cafe\u0301"',
        "title:flaky,",
        'title:"twice log"',
        'title:"log-in — flaky"',
        "title:—",
        "tool:mcp__git_hub__create_issue",
        "tool:git_hub",
        "tool:create_issue",
        "tool:create-issue",
        "tool:create*",
        "tool:mcp*",
    ],
)
def test_what_fits(store: Hansard, query: str) -> None:
    assert [found.session_id for found in store.sessions(query).sessions] == [session(1)]
    assert {hit.session_id for hit in store.search(query).hits} == {session(1)}


@pytest.mark.parametrize("query", ["title:login", "title:logg", "tool:create", "tool:mcp", "tool:hub*"])
def test_what_does_not(store: Hansard, query: str) -> None:
    assert store.sessions(query).sessions == ()
    assert store.search(query).hits == ()


def test_a_session_that_does_not_exist_has_nothing(tree: Tree) -> None:
    tree.write(main_path(session(1)), [user(session(1), "u", "hello")])
    tree.sync()
    with hansard.open(tree.home) as h:
        assert h.count("hello session:@last") == 1
        assert h.count("hello session:@9") == 0
        assert h.count("hello -session:@9") == 1
        assert h.sessions("session:@9").sessions == ()


def test_every_field_has_a_meaning() -> None:
    names = {name for name in FIELDS if name not in ("is", "has")}
    values = {f"{cls.name}:{value}" for cls in (Is, Has) for value in cls.values}
    assert set(MEANINGS) == names | values
