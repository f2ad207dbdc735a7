"""Subagents of older clients whose transcripts are gone: only progress records of the session that started them are left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hansard.render.reports import marked_notes
from tests.ledger.making import FORK, ONE, START, of, opened, progress, said
from tests.sync.making import Tree, agent_path, call, main_path, user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.engine import Hansard
    from tests.sync.making import Line


def story() -> list[Line]:
    """A turn whose subagent answers twice, the first time on three lines that know ever more of it."""
    first = [
        said(
            ONE, 7, START, (5, output), stop=None, content=[call(f"t{output}", "Grep", pattern="x")], requestId="req_7"
        )
        for output in (1, 3, 3)
    ]
    second = said(ONE, 8, START, (6, 2), stop=None, requestId="req_8")
    task = call("toolu_task", "Task", description="Look", prompt="Look.", subagent_type="Explore")
    return [
        user(ONE, "u1", "Find it."),
        said(ONE, 1, START, (10, 20), content=[task], requestId="req_1"),
        *map(progress, [*first, second]),
    ]


def figures(h: Hansard) -> tuple[Any, ...]:
    row = h.usage(by="total").totals
    return row.api_messages, row.progress_only_messages, row.input_tokens, row.output_tokens, row.lower_bound_messages


def test_they_count_once_and_are_marked(tree: Tree) -> None:
    tree.write(main_path(ONE), story())
    with opened(tree) as h:
        assert figures(h) == (3, 2, 21, 25, 2)
        report = h.usage(by="session,subagent")
        assert {row.key["subagent"]: (row.api_messages, row.progress_only_messages) for row in report.rows} == {
            "main": (1, 0),
            "a1": (2, 2),
        }
        assert any("progress records" in note for note in report.pricing.notes)
        assert {row.key["tool"]: row.api_messages for row in h.usage(by="tool").rows} == {"Task": 1, "Grep": 1, None: 1}


def test_notes_have_the_marks_that_they_explain(tree: Tree) -> None:
    unpriced = said(ONE, 9, START, (1, 1), model="unheard-of", requestId="req_9")
    tree.write(main_path(ONE), [*story(), unpriced])
    with opened(tree) as h:
        report = h.usage(by="total")
    notes = marked_notes(report.pricing, report.totals)
    assert [mark for mark, note in notes if "final usage record" in note] == ["+"]
    assert [mark for mark, note in notes if "no price" in note] == ["?"]
    assert [mark for mark, note in notes if "progress records" in note] == ["-"]


def test_explain_and_reconcile_say_so(tree: Tree) -> None:
    tree.write(main_path(ONE), story())
    with opened(tree) as h:
        explained = {message.key: message for message in h.explain(ONE).messages}
        message = explained["msg_017"]
        assert message.agrees
        assert [line.output_tokens for line in message.lines] == [1, 3, 3]
        assert {line.transcript for line in message.lines} == {main_path(ONE)}
        assert (message.agent_id, message.session_id, message.tool) == ("a1", ONE, "Grep")
        assert any("progress records" in note for note in message.notes)
        assert not any("progress records" in note for note in explained["msg_011"].notes)
        found = h.reconcile()
        assert (found.ours.messages, found.progress_only_messages) == (3, 2)
        steps = {way.name: {step.cause: step.amount.messages for step in way.steps} for way in found.ways}
        assert steps == {
            "lines": {"progress_only": -2},
            "ccusage": {},
            "agentsview": {"progress_only": -2},
            "tokscale": {"progress_only": -2},
        }


def test_a_turn_has_what_its_subagents_used(tree: Tree) -> None:
    tree.write(main_path(ONE), story())
    with opened(tree) as h:
        thread = h.read(h.session(ONE))
        assert [turn.api_messages for turn in thread.timeline().turns] == [3]
        assert [(turn.api_messages, turn.tokens.input) for turn in thread.turns()] == [(3, 21)]


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("is_forked", [True, False])
def test_a_transcript_of_the_subagent_says_it_all(tree: Tree, is_first: bool, is_forked: bool) -> None:
    """Whichever is read first, and whoever else repeats it."""
    own = [said(ONE, 7, START, (5, 2), agentId="a1", isSidechain=True, requestId="req_7")]
    files: Sequence[tuple[str, list[Line]]] = [(main_path(ONE), story()), (agent_path(ONE, "a1"), own)]
    if is_forked:
        files = [*files, (main_path(FORK), of(FORK, story()))]
    for path, lines in files if is_first else reversed(files):
        tree.write(path, lines)
        opened(tree).close()
    with opened(tree) as h:
        assert figures(h) == (3, 1, 21, 24, 1)
        assert [line.transcript for line in h.explain("msg_017").messages[0].lines] == [agent_path(ONE, "a1")]
