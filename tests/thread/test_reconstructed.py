"""Subagents whose transcripts are gone are read from the progress records of their sessions, like any other subagent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hansard.model.requests import SearchRequest
from tests.ledger.making import ONE, opened, progress
from tests.sync.making import Line, Tree, agent_path, assistant, call, main_path, result, user

if TYPE_CHECKING:
    from hansard.engine import Hansard

TASK = call("toolu_task", "Task", description="Look at walruses", prompt="Where are walruses?", subagent_type="Explore")
OTHER = call("toolu_other", "Task", description="Look at seals", prompt="Where are seals?", subagent_type="Explore")


def walruses() -> list[Line]:
    """A subagent's own lines: it reads a file, writes another, and answers."""
    written = {"type": "create", "filePath": "/home/u/p/tusks.md", "content": "long\n", "structuredPatch": []}
    return [
        user(ONE, "a1", "Where are walruses?", 2),
        assistant(ONE, "a2", "msg_01a", [call("toolu_01r", "Read", file_path="/home/u/p/ice.md")], 3, "a1"),
        result(ONE, "a3", "toolu_01r", "walruses on the floe", 4),
        assistant(ONE, "a4", "msg_01b", [call("toolu_01w", "Write", file_path="/home/u/p/tusks.md", content="long\n")], 5, "a3"),
        result(ONE, "a5", "toolu_01w", "File created", 6, written),
        assistant(ONE, "a6", "msg_01c", "They are on the floe.", 7, "a5"),
    ]  # fmt: skip


def seals() -> list[Line]:
    return [
        user(ONE, "b1", "Where are seals?", 2),
        assistant(ONE, "b2", "msg_01d", [call("toolu_01g", "Grep", pattern="seal")], 4, "b1"),
        result(ONE, "b3", "toolu_01g", "no seals at all", 5),
    ]


def session() -> list[Line]:
    """Two subagents at work at once: their lines come in turns."""
    first = [progress(line, "aw1") for line in walruses()]
    second = [{**progress(line, "as1"), "parentToolUseID": "toolu_other"} for line in seals()]
    mixed = [line for pair in zip(first, [*second, *first[3:]], strict=False) for line in pair]
    lines = list({line["uuid"]: line for line in mixed}.values())
    return [
        user(ONE, "u1", "Find the animals."),
        assistant(ONE, "m1", "msg_011", [TASK, OTHER], 1, "u1"),
        *sorted(lines, key=lambda line: line["timestamp"]),
        result(ONE, "r1", "toolu_task", "They are on the floe.", 8),
        result(ONE, "r2", "toolu_other", "None.", 8),
        assistant(ONE, "m2", "msg_012", "Walruses are on the floe.", 9, "r2"),
    ]


def counts(h: Hansard) -> dict[str, Any]:
    found = h.session(ONE)
    return {
        "prompts": found.prompts,
        "messages": found.messages,
        "calls": found.tool_calls,
        "agents": found.agents,
        "files": found.files_changed,
        "tools": {tool.tool: tool.calls for tool in h.tools().tools},
        "hits": len(h.search(SearchRequest("walruses")).hits),
    }


@pytest.fixture
def h(tree: Tree) -> Hansard:
    tree.write(main_path(ONE), session())
    return opened(tree)


def test_each_has_a_thread(h: Hansard) -> None:
    agents = {agent.agent_id: agent for agent in h.read(h.session(ONE)).agents}
    assert {name: (agent.description, agent.agent_type, agent.messages, agent.tool_calls) for name, agent in agents.items()} == {
        "aw1": ("Look at walruses", "Explore", 3, 2),
        "as1": ("Look at seals", "Explore", 1, 1),
    }  # fmt: skip
    assert all(agent.is_reconstructed for agent in agents.values())
    thread = h.read(h.session(ONE), agent="aw1")
    entries = thread.conversation().entries
    assert [(entry.kind, entry.text or (entry.tool and (entry.tool.tool, entry.tool.output))) for entry in entries] == [
        ("prompt", "Where are walruses?"),
        ("tool", ("Read", "walruses on the floe")),
        ("tool", ("Write", "File created")),
        ("reply", "They are on the floe."),
    ]
    assert [entry.text for entry in h.read(h.session(ONE), agent="as1").conversation().entries][:1] == [
        "Where are seals?"
    ]


def test_the_main_thread_stays_as_it_was(h: Hansard) -> None:
    conversation = h.read(h.session(ONE)).conversation()
    assert [entry.kind for entry in conversation.entries] == ["prompt", "tool", "tool", "reply"]
    assert conversation.not_shown == {"progress": 9}
    assert h.session(ONE).prompts == 1


def test_search_finds_what_they_said_and_where(h: Hansard) -> None:
    (hit,) = h.search(SearchRequest('"walruses on the floe"')).hits
    assert (hit.agent_id, hit.transcript) == ("aw1", main_path(ONE))
    thread = h.read(h.session(ONE), agent=hit.agent_id)
    assert thread.locate(hit.offset).conversation.entries[1].tool is not None
    assert h.search(SearchRequest("is:subagent seals")).total > 0


def test_their_calls_and_files_count(h: Hansard) -> None:
    assert counts(h)["tools"] == {"Task": 2, "Read": 1, "Write": 1, "Grep": 1}
    changed = h.files().files
    assert [(file.path, file.changes) for file in changed if file.changes] == [("/home/u/p/tusks.md", 1)]


def test_a_transcript_of_its_own_counts_once(tree: Tree) -> None:
    """Whether the progress records repeat a transcript or are all that is left, every figure is the same."""
    tree.write(main_path(ONE), session())
    with opened(tree) as h:
        alone = counts(h)
    for agent, lines in (("aw1", walruses()), ("as1", seals())):
        own = [{**line, "isSidechain": True, "agentId": agent} for line in lines]
        tree.write(agent_path(ONE, agent), own)
    with opened(tree) as h:
        assert counts(h) == alone
        assert not any(agent.is_reconstructed for agent in h.read(h.session(ONE)).agents)
        hits = h.search(SearchRequest('"walruses on the floe"')).hits
        assert [(hit.agent_id, hit.transcript) for hit in hits] == [("aw1", agent_path(ONE, "aw1"))]


def test_any_split_into_syncs_gives_the_same(tree: Tree) -> None:
    lines = session()
    for end in range(1, len(lines) + 1):
        tree.write(main_path(ONE), lines[:end])
        opened(tree).close()
    with opened(tree) as h:
        test_each_has_a_thread(h)
        test_their_calls_and_files_count(h)


def test_the_agent_field_finds_their_lines_only(h: Hansard) -> None:
    for query in ("agent:aw1", "agent:Explore"):
        hits = h.search(SearchRequest(f"{query} walruses")).hits
        assert {hit.agent_id for hit in hits} == {"aw1"}
        assert hits
    assert h.search(SearchRequest("-agent:Explore walruses")).total == 2  # the call, and the last reply
    assert h.search(SearchRequest("agent:as1 walruses")).total == 0
