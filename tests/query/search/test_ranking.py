"""What a text is worth does not depend on what else matches."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

import hansard
from hansard.query.search.ranking import _window
from tests.counting import DOUBLED
from tests.sync.making import main_path, session, user

if TYPE_CHECKING:
    from tests.sync.making import Tree


def test_a_title_that_matches_does_not_lower_long_prompts(tree: Tree) -> None:
    said = [user(session(1), f"u{number}", f"walrus {number} " + "filler " * 60, number) for number in range(20)]
    tree.write(main_path(session(1)), said)
    tree.sync()
    with hansard.open(tree.home) as h:
        before = {hit.uuid: hit.score for hit in h.search("walrus", limit=50).hits}
    title = {"type": "custom-title", "customTitle": "Walrus", "sessionId": session(1)}
    tree.write(main_path(session(1)), [*said, title])
    tree.sync()
    with hansard.open(tree.home) as h:
        after = {hit.uuid: hit.score for hit in h.search("walrus", limit=50).hits if hit.kind == "prompt"}
    assert len(after) == 20
    assert all(abs(after[uuid] - score) < score * 0.01 for uuid, score in before.items() if uuid in after)


class _Place(int):
    """A place that counts how often it is compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        _Place.compared += 1
        return int(self) < int(other)


def test_nearness_is_linear_in_the_terms() -> None:
    def work(count: int) -> int:
        _Place.compared = 0
        _window([list(map(_Place, range(number, 64 * count, count))) for number in range(count)])
        return _Place.compared

    assert work(80) < DOUBLED * work(40)


@given(st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=5, unique=True), min_size=3, max_size=4))
def test_nearness_is_the_shortest_stretch_with_every_word(places: list[list[int]]) -> None:
    assert _window(places) == min(max(chosen) - min(chosen) + 1 for chosen in product(*places))
