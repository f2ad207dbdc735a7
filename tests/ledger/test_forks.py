"""A fork and its original on every face: what each owns, why, and what the client's own totals have of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hansard.clients.roots import open_roots
from hansard.render.format import relation
from tests.ledger.making import opened
from tests.sync.forking import ORIGINAL, fork, talk
from tests.sync.making import Tree, agent_path, assistant, main_path, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hansard.engine import Hansard

FORK, NESTED = session(2), session(1)


@pytest.fixture
def forked(tree: Tree) -> Iterator[Hansard]:
    """A session of three turns, a fork after the second, and a fork of that one after its first own turn."""
    original = talk(ORIGINAL, "first", 3)
    first = fork(original[:4], FORK, "fork", 2, start=10, mark="prompt_id")
    tree.write(main_path(ORIGINAL), original)
    tree.write(main_path(FORK), first)
    tree.write(main_path(NESTED), fork(first[:6], NESTED, "nested", 1, start=20, mark="queue"))
    with opened(tree) as h:
        yield h


def test_cost_stands_with_the_original(forked: Hansard) -> None:
    rows = {row.key["session"]: row.api_messages for row in forked.usage(by="session").rows}
    assert rows == {ORIGINAL: 3, FORK: 2, NESTED: 1}


def test_explain_tells_the_original_from_its_copies(forked: Hansard) -> None:
    by_key = {message.key: message for message in forked.explain(ORIGINAL).messages}
    message = by_key["msg_01first1"]
    assert message.session_id == ORIGINAL
    assert message.owner == "only line of the original, the other 2 are copies in forks"
    assert [(line.session_id, line.copy, line.is_owner) for line in message.lines] == [
        (ORIGINAL, None, True),
        (NESTED, "fork", False),
        (FORK, "fork", False),
    ]
    assert message.agrees
    assert by_key["msg_01first3"].owner == "only line"


def test_which_sessions_are_forks_and_where_they_left(forked: Hansard) -> None:
    assert {found.session_id for found in forked.sessions(query="is:fork").sessions} == {FORK, NESTED}
    links = {(link.source, link.target, link.relation, link.turn) for link in forked.links(FORK)}
    assert links == {(ORIGINAL, FORK, "fork", 2), (FORK, NESTED, "fork", 3)}


def test_how_the_page_says_it(forked: Hansard) -> None:
    words = {relation(one): one.session_id for one in forked.read(FORK).neighbours()}
    assert words == {"Forked at turn 2 from": ORIGINAL, "Forked at turn 3 into": NESTED}


def test_prompts_and_hits_are_shown_where_they_were_typed(forked: Hansard) -> None:
    typed = {prompt.text: (prompt.session_id, prompt.copies) for prompt in forked.prompts().prompts}
    assert typed["first asks 1."] == (ORIGINAL, 2)
    assert typed["fork asks 1."] == (FORK, 1)
    assert [hit.session_id for hit in forked.search("first asks 1").hits] == [ORIGINAL]


def test_a_fork_begins_with_the_totals_of_its_parent_and_its_subagents(tree: Tree) -> None:
    """As the client 2.1.325 adds up: everything the parent had when it was forked, subagents included."""
    original = talk(ORIGINAL, "first", 2)
    subagent = [
        user(ORIGINAL, "s1", "Look.", 1.1),
        assistant(ORIGINAL, "s2", "msg_01sub", "Seen.", 1.2),
        assistant(ORIGINAL, "s3", "msg_01later", "Seen again.", 50),
    ]
    lines = fork(original, FORK, "fork", 1, start=10, mark="prompt_id")
    model = {"inputTokens": 40, "outputTokens": 80, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0}
    lines.append({"type": "cost-state", "sessionId": FORK, "modelUsage": {"claude-opus-4-1": model}})
    tree.write(main_path(ORIGINAL), original)
    tree.write(
        agent_path(ORIGINAL, "a1b2c3"), [{**line, "isSidechain": True, "agentId": "a1b2c3"} for line in subagent]
    )
    tree.write(main_path(FORK), lines)
    with opened(tree) as h:
        client = h.reconcile().client
    assert client is not None
    assert (client.sessions, client.agreeing) == (1, 1)


def test_a_real_fork_of_a_session_with_subagents(corpus: Path, tmp_path: Path) -> None:
    import hansard

    config = corpus / "real-client-2" / "2.1.325" / "hooks_all" / "dot-claude"
    assert open_roots([str(config)])
    with hansard.open(tmp_path / "store", roots=[config]) as h:
        h.sync()
        client = h.reconcile().client
    assert client is not None
    assert {one.session_id[:8] for one in client.differing} == {"59340b4d", "13a0248f"}  # compactions leave no line
