"""Listing sessions and finding the one that a person means."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

import hansard
from hansard.errors import NotFound, UsageError
from tests.sync.making import main_path, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.engine import Hansard
    from tests.sync.making import Tree


@pytest.fixture
def store(tree: Tree) -> Iterator[Hansard]:
    for number in (1, 2):
        tree.write(main_path(session(number)), [user(session(number), f"u{number}", "Hello.", number)])
    tree.sync()
    with hansard.open(tree.home) as opened:
        yield opened


def test_a_number_that_is_no_number(store: Hansard) -> None:
    assert store.session("@2").session_id == session(1)
    with pytest.raises(UsageError):
        store.session("@²")


def test_a_beginning_is_no_pattern(store: Hansard) -> None:
    with pytest.raises(NotFound):
        store.session(session(1)[:-1].replace("5e55", "5e5_"))


def test_pages(store: Hansard) -> None:
    first = store.sessions(limit=1)
    second = store.sessions(limit=1, cursor=first.next_cursor)
    assert [page.sessions[0].session_id for page in (first, second)] == [session(2), session(1)]
    assert second.next_cursor is None
    with pytest.raises(UsageError):
        store.sessions(limit=0)


@pytest.mark.parametrize("value", [1 << 70, None, [1]])
def test_a_cursor_that_nobody_gave(store: Hansard, value: object) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps(["ended", value, "x"]).encode()).decode()
    with pytest.raises(UsageError):
        store.sessions(cursor=cursor)
