"""What a text is worth does not depend on what else matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hansard
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
