"""Subagents and the calls that made them, by each kind of evidence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.sync.making import FOLDER, Line, agent_path, assistant, call, entry, main_path, result, session, user

if TYPE_CHECKING:
    from tests.sync.making import Tree

S = session(1)


def _spawn(tool_use_id: str, prompt: str = "Look.", uuid: str = "u2", minutes: float = 1, tool: str = "Task") -> Line:
    given = call(tool_use_id, tool, description="Look around", prompt=prompt, subagent_type="Explore")
    return assistant(S, uuid, f"msg_01{tool_use_id}", [given], minutes)


def _agent(agent_id: str, prompt: str, minutes: float, *more: Line) -> list[Line]:
    lines = [
        user(S, f"{agent_id}-1", prompt, minutes),
        assistant(S, f"{agent_id}-2", f"msg_01{agent_id}", "Seen.", minutes + 1),
        *more,
    ]
    return [{**line, "isSidechain": True, "agentId": agent_id} for line in lines]


def _agents(tree: Tree) -> dict[str, dict[str, Any]]:
    tree.sync()
    columns = "agent_id, linked_by, parent_agent, depth, agent_type, description, warmup, messages, tool_calls"
    rows = tree.rows(
        f"SELECT {columns}, (SELECT tool_use_id FROM tool_calls c WHERE c.id = call_id) FROM agents WHERE session_id = ?",
        S,
    )
    return {row[0]: dict(zip([*columns.split(", "), "call"], row, strict=True)) for row in rows}


def _write_main(tree: Tree, *lines: Line) -> None:
    tree.write(main_path(S), [user(S, "u1", "Go.", 0), *lines])


def _write_meta(tree: Tree, agent_id: str, **facts: object) -> None:
    tree.write(agent_path(S, agent_id).replace(".jsonl", ".meta.json"), json.dumps(facts).encode())


def test_meta_json_is_believed_first(tree: Tree) -> None:
    _write_main(tree, _spawn("t1"), _spawn("t2", uuid="u3"), result(S, "u4", "t1", "Done.", 5, {"agentId": "aaaa"}))
    tree.write(agent_path(S, "aaaa"), _agent("aaaa", "Look.", 2))
    assert _agents(tree)["aaaa"]["linked_by"] == "result"
    _write_meta(tree, "aaaa", toolUseId="t2", agentType="Plan", description="From the meta file")  # comes late
    found = _agents(tree)["aaaa"]
    assert (found["linked_by"], found["call"]) == ("meta", "t2")
    assert (found["agent_type"], found["description"]) == ("Plan", "From the meta file")


def test_the_result_names_the_agent(tree: Tree) -> None:
    _write_main(tree, _spawn("t1", "Other words."), result(S, "u4", "t1", "Done.", 5, {"agentId": "aaaa"}))
    tree.write(agent_path(S, "aaaa"), _agent("aaaa", "Look.", 2))
    found = _agents(tree)["aaaa"]
    assert (found["linked_by"], found["call"], found["depth"], found["parent_agent"]) == ("result", "t1", 1, None)
    assert (found["agent_type"], found["description"], found["messages"]) == ("Explore", "Look around", 1)


def test_progress_names_the_agent(tree: Tree) -> None:
    data = {"type": "agent_progress", "agentId": "aaaa"}
    _write_main(tree, _spawn("t1", "Other words."), entry("progress", S, "u3", 2, data=data, parentToolUseID="t1"))
    tree.write(agent_path(S, "aaaa"), _agent("aaaa", "Look.", 2))
    assert _agents(tree)["aaaa"]["linked_by"] == "progress"


def test_the_text_of_the_result_names_the_agent(tree: Tree) -> None:
    _write_main(
        tree, _spawn("t1", "Other words."), result(S, "u4", "t1", "Async agent launched.\nagentId: aaaa (internal)", 2)
    )
    tree.write(agent_path(S, "aaaa"), _agent("aaaa", "Look.", 2))
    assert _agents(tree)["aaaa"]["linked_by"] == "text"


def test_equal_prompts_tie_the_nth_agent_to_the_nth_call(tree: Tree) -> None:
    _write_main(tree, _spawn("t1"), _spawn("t2", uuid="u3", minutes=2), _spawn("t3", "Else.", uuid="u4", minutes=3))
    for agent_id, minutes in (("late", 9.0), ("early", 4.0)):
        tree.write(f"{FOLDER}/agent-{agent_id}.jsonl", _agent(agent_id, "Look.", minutes))
    tree.write(f"{FOLDER}/agent-lost.jsonl", _agent("lost", "Nobody asked for this.", 5))
    found = _agents(tree)
    assert {agent_id: (agent["linked_by"], agent["call"]) for agent_id, agent in found.items()} == {
        "early": ("prompt", "t1"),
        "late": ("prompt", "t2"),
        "lost": ("none", None),
    }


def test_nested_agents(tree: Tree) -> None:
    inner = _spawn("t2", "Deeper.", uuid="n1", minutes=3, tool="Agent")
    _write_main(tree, _spawn("t1", tool="Agent"), result(S, "u4", "t1", "Done.", 9, {"agentId": "outer"}))
    tree.write(
        agent_path(S, "outer"), _agent("outer", "Look.", 2, inner, result(S, "n2", "t2", "Ok", 8, {"agentId": "inner"}))
    )
    tree.write(agent_path(S, "inner"), _agent("inner", "Deeper.", 4))
    found = _agents(tree)
    assert {agent_id: (agent["parent_agent"], agent["depth"]) for agent_id, agent in found.items()} == {
        "outer": (None, 1),
        "inner": ("outer", 2),
    }
    assert tree.rows("SELECT agents, api_messages, tool_calls FROM sessions") == [(2, 4, 2)]


def test_agents_that_claim_each_other_as_parents(tree: Tree) -> None:
    _write_main(tree)
    for one, other in (("aaaa", "bbbb"), ("bbbb", "aaaa")):
        tree.write(agent_path(S, one), _agent(one, "Look.", 2))
        _write_meta(tree, one, parentAgentId=other)
    assert {agent["depth"] for agent in _agents(tree).values()} == {2}


def test_agents_inside_the_main_transcript(tree: Tree) -> None:
    def inside(uuid: str, parent: str | None, line: Line) -> Line:
        return {**line, "uuid": uuid, "parentUuid": parent, "isSidechain": True}

    _write_main(
        tree,
        _spawn("t1", "Outer."),
        inside("out1-", None, user(S, "", "Outer.", 2)),
        inside("out2-", "out1-", _spawn("t2", "Inner.", minutes=3)),
        inside("in1--", None, user(S, "", "Inner.", 4)),
        inside("in2--", "in1--", assistant(S, "", "msg_01in", "Here.", 5)),
        inside("out3-", "out2-", result(S, "", "t2", "Here.", 6)),
        inside("out4-", "out3-", assistant(S, "", "msg_01out", "There.", 7)),
        result(S, "u9", "t1", "There.", 8),
    )
    found = _agents(tree)
    assert {agent_id: (agent["call"], agent["parent_agent"], agent["depth"]) for agent_id, agent in found.items()} == {
        "sidechain-out1-": ("t1", None, 1),
        "sidechain-in1--": ("t2", "sidechain-out1-", 2),
    }
    assert [(agent["messages"], agent["tool_calls"]) for agent in found.values()] in (
        [(2, 1), (1, 0)],
        [(1, 0), (2, 1)],
    )
    assert tree.rows("SELECT ended_at - started_at FROM agents ORDER BY started_at") == [(300_000,), (60_000,)]
    assert tree.rows("SELECT prompts, agents FROM sessions") == [(1, 2)]


def test_a_copy_of_the_call_in_a_replay_is_not_the_call(tree: Tree) -> None:
    """Compaction agents repeat the main thread, the calls in it included."""
    spawn = _spawn("t1")
    _write_main(tree, spawn, result(S, "u4", "t1", "Done.", 9, {"agentId": "aaaa"}))
    tree.write(agent_path(S, "aaaa"), _agent("aaaa", "Look.", 2))
    replay = [{**line, "isSidechain": True, "agentId": "acompact-1"} for line in (user(S, "u1", "Go.", 0), spawn)]
    tree.write(agent_path(S, "acompact-1"), replay)
    found = _agents(tree)
    assert (found["aaaa"]["call"], found["aaaa"]["parent_agent"]) == ("t1", None)
    assert tree.rows("SELECT source, target FROM links WHERE relation = 'replay'") == [(S, "acompact-1")]


@pytest.mark.parametrize(("tools", "warmup"), [(0, 1), (1, 0)])
def test_warmup_stubs_are_debris(tree: Tree, tools: int, warmup: int) -> None:
    more = [assistant(S, "w3", "msg_01w3", [call("tw", "Read", file_path="/x")], 3)] * tools
    tree.write(f"{FOLDER}/agent-warm.jsonl", _agent("warm", "Warmup", 1, *more))
    assert _agents(tree)["warm"]["warmup"] == warmup
    assert tree.rows("SELECT agents FROM sessions") == [(1 - warmup,)]


def test_no_subagent_made_itself(tree: Tree) -> None:
    """Its own call may repeat its prompt, and a meta file may say anything."""
    tree.write(agent_path(S, "aaaa"), _agent("aaaa", "Look.", 1, _spawn("t1", uuid="u9", minutes=3)))
    assert (_agents(tree)["aaaa"]["linked_by"], _agents(tree)["aaaa"]["depth"]) == ("none", 1)
    _write_meta(tree, "aaaa", parentAgentId="aaaa")
    found = _agents(tree)["aaaa"]
    assert (found["parent_agent"], found["depth"]) == (None, 1)


def test_calls_without_ids_are_nobodys(tree: Tree) -> None:
    nameless = {"type": "tool_use", "name": "Task", "input": {"prompt": "Look."}}
    _write_main(tree, assistant(S, "u2", "msg_012", [nameless], 1))
    tree.write(agent_path(S, "aaaa"), _agent("aaaa", "Look.", 2))
    assert _agents(tree)["aaaa"]["linked_by"] == "none"


def test_prompt_suggestions_are_the_clients_own(tree: Tree) -> None:
    _write_main(tree)
    for agent_id in ("aprompt_suggestion-77ab01", "a497f1"):
        tree.write(agent_path(S, agent_id), _agent(agent_id, "Look.", 2))
    found = _agents(tree)["aprompt_suggestion-77ab01"]
    assert (found["agent_type"], found["warmup"]) == ("prompt suggestion", 1)
    assert tree.rows("SELECT agents FROM sessions") == [(1,)]
