"""By time means by time: over all pages, whatever the order in which files came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import hansard
from hansard.query.search import pages
from tests.sync.making import main_path, result, session, user

if TYPE_CHECKING:
    from hansard.engine import Hansard
    from tests.sync.making import Tree

QUERIES = [
    "the",
    "error OR project:app",
    "kind:prompt",
    "-the tool:Bash",
    "xylophone",
    "zzyzx",
    "kind:title",
    "parser OR test",
]


def all_pages(h: Hansard, query: str, limit: int, *, group: bool = False) -> list[tuple[str, int, int]]:
    found = []
    cursor = None
    while True:
        page = h.search(query, limit=limit, cursor=cursor, sort="newest", group=group)
        found += [(hit.transcript, hit.offset, hit.block) for hit in page.hits]
        cursor = page.next_cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("few", [10, 3000])
@pytest.mark.parametrize("query", QUERIES)
def test_pages_are_in_order_of_time_and_hold_everything_once(
    demo: Hansard, monkeypatch: pytest.MonkeyPatch, query: str, few: int
) -> None:
    monkeypatch.setattr(pages, "_FEW", few)
    times: list[float] = []
    cursor = None
    seen: list[tuple[str, int, int]] = []
    while True:
        page = demo.search(query, limit=40, cursor=cursor, sort="newest")
        times += [hit.timestamp.timestamp() if hit.timestamp else 0.0 for hit in page.hits]
        seen += [(hit.transcript, hit.offset, hit.block) for hit in page.hits]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert times == sorted(times, reverse=True)
    assert len(seen) == len(set(seen))
    everything = demo.search(query, limit=100_000, sort="newest")
    assert everything.next_cursor is None
    # Of a query with fields a copy counts by itself where its owner is on another page.
    places = {(hit.transcript, hit.offset, hit.block) for hit in everything.hits}
    copies = {(other.transcript, other.offset, hit.block) for hit in everything.hits for other in hit.others}
    assert places <= set(seen) <= places | copies


def test_a_session_that_went_on_after_a_later_one(tree: Tree) -> None:
    one, two = session(1), session(2)
    tree.write(main_path(one), [user(one, "a", "needle early")])
    tree.sync()
    tree.write(main_path(two), [user(two, f"b{n}", f"needle {n}", 10 + n) for n in range(400)])
    tree.sync()
    tree.append(main_path(one), [user(one, "z", "needle late", 5000)])
    tree.sync()
    with hansard.open(tree.home) as h:
        for group in (False, True):
            assert h.search("needle", sort="newest", group=group).hits[0].snippet == "needle late"
        assert len(all_pages(h, "needle", 37)) == 402


def test_what_a_terminal_obeys_does_not_stick_to_words(tree: Tree) -> None:
    one = session(1)
    coloured = "\x1b[32mpassed\x1b[0m and \x1b]8;;http://x\x07linked\x1b]8;;\x07 \x1b(Bplain"
    tree.write(main_path(one), [user(one, "a", "go"), result(one, "r", "t1", coloured, 1)])
    tree.sync()
    with hansard.open(tree.home) as h:
        for word in ("passed", "linked", "plain"):
            (hit,) = h.search(word).hits
            assert hit.snippet == "passed and linked plain"
            assert [hit.snippet[start:end] for start, end in hit.highlights] == [word]
