"""`Hansard.read`: one entrance to a conversation, whoever asks, and the cache of a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from hansard.errors import NotFound
from hansard.model.display import CallFacts
from hansard.model.serialize import plain
from hansard.thread.store import thread_cache
from hansard.thread.thread import OpenedThread
from tests.sync.making import Tree, agent_path, assistant, call, main_path, raw, result, session, user

A, B = session(1), session(2)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "claude", tmp_path / "store")
    lines = [
        user(A, "u1", "Is the quay dry?"),
        assistant(A, "a1", "m1", [call("t1", "Bash", command="look")], 1, "u1"),
        result(A, "r1", "t1", "dry", 2),
        user(A, "u2", "And now?", 3, "a1"),
        assistant(A, "a2", "m2", [call("t2", "Bash", command="look again")], 4, "u2"),
    ]
    made.write(main_path(A), lines)
    made.write(agent_path(B, "a497f1"), [user(B, "b1", "Look for gulls", isSidechain=True, agentId="a497f1")])
    made.sync()
    return made


@pytest.fixture
def h(tree: Tree) -> Iterator[Hansard]:
    with hansard.open(tree.home) as opened:
        yield opened


def test_a_thread_gives_typed_values(h: Hansard, tree: Tree) -> None:
    thread = h.read(A)
    turns = list(thread.turns())

    assert [turn.number for turn in turns] == [1, 2]
    assert [start.offset for start in thread.starts] == [turn.items[0].offset for turn in turns]
    assert turns[0].items[1].facts == CallFacts(duration_ms=60_000, kind="shell")
    assert turns[1].items[1].facts == CallFacts(outcome="no result", kind="shell")
    assert [line.text for line in thread.outline(1, 2)] == ["Is the quay dry?", "And now?"]
    assert b"".join(thread.raw()) == (tree.config / main_path(A)).read_bytes()
    line = thread.raw_line(turns[1].items[0].offset + 3)
    assert (line.offset, line.kind, line.uuid) == (turns[1].items[0].offset, "user", "u2")
    assert b"".join(thread.raw(line)) + b"\n" == raw([user(A, "u2", "And now?", 3, "a1")])
    place = thread.locate(turns[0].items[1].offset)
    assert [place.conversation.entries[number].kind for number in place.here] == ["tool"]
    assert thread.conversation() == h.conversation(A)


def test_facts_are_words_in_json() -> None:
    assert plain(CallFacts()) == []
    facts = CallFacts((3, 1), 120, "failed", is_persisted=True)
    assert plain(facts) == ["+3 -1", "120 ms", "failed", "whole output from a file beside the transcript"]


def test_where_only_subagents_are_left_there_is_a_thread_without_a_log(h: Hansard) -> None:
    thread = h.read(B)

    assert not thread.has_log
    assert (thread.starts, list(thread.turns()), thread.not_shown) == ([], [], {})
    assert [other.agent.agent_id for other in thread.others() if other.agent] == ["a497f1"]
    with pytest.raises(NotFound, match=r"show one with --agent \(a497f1\)"):
        thread.conversation()
    with pytest.raises(NotFound, match="has no transcript of its own"):
        thread.raw()


def test_a_subagent_is_named_by_the_beginning_of_its_id(h: Hansard) -> None:
    thread = h.read(B, "a49")

    assert thread.agent is not None
    assert thread.agent.agent_id == "a497f1"
    assert [item.kind for turn in thread.turns() for item in turn.items] == ["prompt"]
    with pytest.raises(NotFound, match="no subagent 'nobody'"):
        h.read(B, "nobody")


def test_what_was_made_once_stays_until_the_session_changes(h: Hansard, tree: Tree) -> None:
    h.thread_cache = thread_cache()
    first = h.read(A).once("answer", object)
    again = h.read(A).once("answer", object)
    tree.append(main_path(A), [user(A, "u3", "Still dry?", 5, "a2")])
    tree.sync()
    h.close()
    after = h.read(A)

    assert first is again
    assert after.once("answer", object) is not first
    assert len(after.starts) == 3


def test_the_least_recently_used_thread_leaves_a_full_cache(h: Hansard) -> None:
    cache = thread_cache()
    opened = h.read(A)._opened
    made: list[str] = []

    def ask(name: str) -> None:
        def make() -> OpenedThread:
            made.append(name)
            return opened

        cache.get((name,), make)

    for name in "abcdefghijkl":
        ask(name)
    ask("a")
    ask("m")
    ask("a")
    ask("b")

    assert made == [*"abcdefghijklm", "b"]
