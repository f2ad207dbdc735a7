"""What is only a lower bound is marked as such wherever it is shown: in turns, and in the overview."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.model.display import Console
from hansard.render.terminal.drawing import measures
from hansard.render.terminal.parts import Board
from hansard.web.pages.session.show import agent_tree
from tests.ledger.making import ONE, START, opened, said
from tests.sync.making import agent_path, assistant, main_path, user

if TYPE_CHECKING:
    from tests.sync.making import Tree


def test_turns_and_the_overview_mark_lower_bounds(tree: Tree) -> None:
    lines = [
        user(ONE, "u1", "One."),
        said(ONE, 1, START, (1_000_000, 9), stop=None),
        user(ONE, "u2", "Two.", 300),
        said(ONE, 2, START, (1_000_000, 9)),
    ]
    tree.write(main_path(ONE), lines)
    with opened(tree) as h:
        thread = h.read(h.session(ONE))
        turns = list(thread.turns())
        assert [turn.is_lower_bound for turn in turns] == [True, False]
        assert [measures(turn)[-1].endswith("+") for turn in turns] == [True, False]
        assert [turn.is_lower_bound for turn in thread.timeline().turns] == [True, False]
        assert h.activity().lower_bound_messages == 1


def test_subagents_are_counted_alike_on_one_page(tree: Tree) -> None:
    tree.write(main_path(ONE), [user(ONE, "u", "Go."), assistant(ONE, "a", "msg_01", "Yes.", 1, "u")])
    for name, words in (("a1", "Look."), ("a2", "Warmup")):
        asked = user(ONE, f"{name}-u", words, isSidechain=True, agentId=name)
        answer = assistant(ONE, f"{name}-a", f"msg_01{name}", "Yes.", 1, f"{name}-u", isSidechain=True, agentId=name)
        tree.write(agent_path(ONE, name), [asked, answer])
    with opened(tree) as h:
        assert h.session(ONE).agents == 1
        assert [row.agent.agent_id for row in agent_tree(h.read(h.session(ONE)))] == ["a1"]


def test_all_lines_that_remain_are_counted() -> None:
    """Empty ones too: who opens the rest finds them there."""
    text = "\n".join(f"line {number}\n" for number in range(60))
    *_, more = Board(80, colours=False).brief(Console(text), most=2)
    assert more == "… 116 more lines"
