"""One transcript folded into rows: what belongs together is put together, in any split of the bytes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hansard.clients.claude_code.decode import items
from hansard.clients.claude_code.fold import Fold
from hansard.clients.lines import Issue, Lines, ParsedLine
from hansard.clients.rows import AgentRef
from hansard.clients.state import State, dump, load
from tests.clients.claude_code.making import (
    SESSION,
    assistant,
    entry,
    fold,
    folding,
    line,
    text,
    tool_result,
    tool_use,
    user,
)


def queue(operation: str, content: Any = None) -> dict[str, Any]:
    return {"type": "queue-operation", "operation": operation, "content": content, "sessionId": SESSION}


def test_a_record_row() -> None:
    folded = fold(user("hi", parentUuid="p", isSidechain=True), base=7 << 40)
    assert folded.rows.records == [
        (7 << 40, len(line(user("hi", parentUuid="p", isSidechain=True))), "user", None, "instruction", "uuid-of-user", "p",
         1772600767891, 1, None, None),
    ]  # fmt: skip


def test_a_boundary_hangs_on_its_logical_parent() -> None:
    facts = {"trigger": "auto", "preTokens": 155000, "postTokens": 9000}
    boundary = entry("system", subtype="compact_boundary", logicalParentUuid="before", compactMetadata=facts)
    folded = fold(boundary)
    assert folded.rows.records[0][6] == "before"
    assert folded.rows.compactions == [(0, 1772600767891, "auto", 155000, 9000)]
    assert folded.state.compactions == 1


def test_a_call_and_its_result() -> None:
    call = assistant(
        text("look"), tool_use("Read", {"file_path": "/f"}, "t1"), tool_use("Bash", {"command": "x"}, "t2")
    )
    result = user([tool_result("no", "t2", is_error=True), tool_result("yes", "t1")])
    folded = fold(call, result)
    state = folded.state
    assert (state.tool_calls, state.replies, state.open_calls) == (2, 1, {})
    start = len(line(call)) + 1
    read, bash = folded.rows.calls.values()
    assert (read[0], read[1], read[2], read[5], read[6], read[8]) == (1, "t1", "Read", "/f", start + 1, 0)
    assert (bash[0], bash[6], bash[8]) == (2, start, 1)


def test_a_result_that_comes_with_the_next_sync() -> None:
    first = fold(assistant(tool_use("Bash", {}, "t1")))
    later = folding(load(dump(first.state)))
    for item in items(line(user([tool_result("late", "t1")])), 500):
        later.feed(item)
    assert later.rows.calls == {}
    assert later.rows.call_results == [(500, 1772600767891, 0, None, 0, 0, None, None, 0)]


PATCH = {"filePath": "/g", "structuredPatch": [{"lines": ["+b", "-a", "+c"]}]}
EARLY = (
    user([tool_result("done", "e1")], toolUseResult=PATCH),
    user([tool_result("no", "e2", is_error=True), tool_result("agentId: abcdef9", "e3")]),
    assistant(tool_use("Edit", {"file_path": "/f", "old_string": "a", "new_string": "b"}, "e1")),
    assistant(tool_use("Bash", {}, "e2"), tool_use("Agent", {"prompt": "go"}, "e3")),
)


def test_a_result_before_its_call() -> None:
    folded = fold(*EARLY)
    turned = fold(*EARLY[2:], *EARLY[:2])
    state = folded.state
    assert (state.open_calls, state.early_results) == ({}, {})
    done = [(row[2], row[8], row[10], row[11]) for row in folded.rows.calls.values()]
    assert done == [("Edit", 0, 2, 1), ("Bash", 1, 0, 0), ("Agent", 0, 0, 0)]
    assert done == [(row[2], row[8], row[10], row[11]) for row in turned.rows.calls.values()]
    assert folded.rows.agent_refs == turned.rows.agent_refs
    # Everything but the places is as it would be in the usual order.
    results = {block[3]: block[0] for block in folded.rows.blocks if block[2] == "tool_result"}
    for own, usual in zip(folded.rows.calls.values(), turned.rows.calls.values(), strict=True):
        assert own[6] == results[own[1]]
        assert (own[1:4], own[5], own[7:]) == (usual[1:4], usual[5], usual[7:])
    assert set(folded.rows.result_tools) == {("Edit", results["e1"]), ("Bash", results["e2"]), ("Agent", results["e3"])}


def test_a_call_that_comes_with_the_next_sync() -> None:
    first = fold(*EARLY[:2])
    later = folding(load(dump(first.state)))
    for item in items(line(EARLY[2]), 900):
        later.feed(item)
    (row,) = later.rows.calls.values()
    assert (row[0], row[5], row[6], row[9:12]) == (900, "/g", 0, ["edit", 2, 1])
    assert later.state.early_results.keys() == {"e2", "e3"}


def test_results_and_calls_without_ids_are_not_paired() -> None:
    folded = fold(
        assistant({"type": "tool_use", "name": "Bash", "input": {}}),
        user([{"type": "tool_result", "content": "whose?"}]),
    )
    (row,) = folded.rows.calls.values()
    assert row[6] is None
    assert folded.state.open_calls == {}


def test_hints_at_subagents() -> None:
    spawn = assistant(tool_use("Task", {"prompt": " go ", "description": "d", "subagent_type": "t"}, "t1"))
    by_result = fold(spawn, user([tool_result("done", "t1")], toolUseResult={"agentId": "abc123", "status": 7}))
    assert {(ref.agent_id, ref.rank) for ref in by_result.rows.agent_refs if ref.rank < 5} == {("abc123", 2)}
    by_text = fold(spawn, user([tool_result([text("launched. agentId: a1b2c3d (internal)")], "t1")]))
    assert AgentRef(0, "t1", "a1b2c3d", 4) in by_text.rows.agent_refs
    by_progress = fold(entry("progress", parentToolUseID="t1", data={"type": "agent_progress", "agentId": "ffff"}))
    assert by_progress.rows.agent_refs == {AgentRef(0, "t1", "ffff", 3)}
    (prompted,) = fold(spawn).rows.agent_refs
    assert prompted.rank == 5
    assert prompted.agent_id == "#" + fold(user("go"), is_agent=True).state.first_text


def test_sidechains_of_the_oldest_clients() -> None:
    folded = fold(user("go", isSidechain=True))
    ((_, uuid, digest, _, _),) = folded.rows.sidechains
    assert (uuid, digest) == ("uuid-of-user", folded.state.first_text)
    assert fold(user("go", isSidechain=True), is_agent=True).rows.sidechains == []


def test_titles_the_last_one_wins() -> None:
    def title(kind: str, name: str, value: str) -> dict[str, Any]:
        return {"type": kind, name: value, "sessionId": SESSION}

    state = fold(
        title("ai-title", "aiTitle", "old"),
        title("custom-title", "customTitle", "mine"),
        title("ai-title", "aiTitle", "new"),
        title("agent-name", "agentName", "worker"),
        {"type": "custom-title", "customTitle": None},
    ).state
    assert (state.ai_title, state.custom_title, state.agent_name) == ("new", "mine", "worker")


def test_prompts_commands_and_previews() -> None:
    folded = fold(
        user("<command-name>/clear</command-name>"),
        user("<command-name>/init</command-name><command-args>now</command-args>"),
        user("<bash-input>ls</bash-input>"),
        user("  first\n\nprompt  " + "x" * 1000),
        user("second"),
        user("<session-start-hook>not a prompt</session-start-hook>"),
    )
    state = folded.state
    assert (state.prompts, state.commands, state.cleared) == (2, 3, True)
    assert state.first_command == "/init now"
    assert state.first_prompt.startswith("first prompt xxx")
    assert len(state.first_prompt) == 400
    assert [row[1] for row in folded.rows.prompts] == ["command", "command", "bash", "prompt", "prompt"]


def test_prompts_that_waited_in_the_queue() -> None:
    old, new = user("x", version="2.1.20"), user("x", version="2.1.112")
    waited = (queue("enqueue", "typed meanwhile"), queue("remove"))
    assert fold(old, *waited).state.queued == 1
    assert fold(new, *waited).state.queued == 0
    assert fold(old, queue("enqueue", "sent at once"), queue("dequeue")).state.queued == 0
    assert fold(old, queue("enqueue", "<task-notification>"), queue("remove")).state.queued == 0
    emptied = fold(old, queue("enqueue", "a"), queue("enqueue", [text("b")]), queue("popAll"), queue("remove"))
    assert (emptied.state.queued, emptied.state.queue) == (0, [])
    assert fold(queue("remove"), queue("dequeue"), queue("?"), queue("enqueue", {"a": 1})).state.queue == [""]


def test_errors_hooks_and_images() -> None:
    state = fold(
        entry("system", subtype="api_error"),
        assistant(text("API Error"), model="<synthetic>", isApiErrorMessage=True),
        entry("system", subtype="stop_hook_summary"),
        entry("progress", data={"type": "hook_progress"}),
        entry("attachment", attachment={"type": "hook_success"}),
        user([{"type": "image", "source": {}}]),
        user([tool_result([{"type": "image", "source": {}}])]),
    ).state
    assert (state.api_errors, state.hooks, state.images, state.messages) == (2, 3, 2, 0)


def test_where_a_session_comes_from_and_goes_to() -> None:
    state = fold(
        user("x", forkedFrom={"sessionId": "origin", "messageUuid": 7}),
        user("y", session_id="process", teamName="t", agentName="n"),
        {"type": "continued-in", "sessionId": SESSION, "continuedInSessionId": "next"},
        {"type": "fork-context-ref", "parentSessionId": "parent"},
        {"type": "pr-link", "prUrl": "https://x/1", "prNumber": 1},
        {"type": "pr-link", "prUrl": "https://x/1", "prNumber": 1},
        {"type": "worktree-state", "worktreeSession": {"originalCwd": "/repo", "worktreePath": 7}},
        {"type": "mode", "sessionId": "foreign"},
    ).state
    assert (state.forked_from, state.process_session, state.continued_in) == ("origin", "process", "next")
    assert (state.context_from, state.pull_requests, state.worktree_of) == ("parent", ["https://x/1"], "/repo")
    assert (state.team, state.other_sessions) == ("t", ["foreign"])


def test_time_place_and_versions() -> None:
    state = fold(
        user("a", timestamp="2026-01-01T00:00:02Z", version="2.0.1", gitBranch="x", cwd="/first"),
        user("b", timestamp="2026-01-01T00:00:01Z", version="2.0.2", gitBranch="y", cwd="/second"),
        user("c", timestamp="soon", version="2.0.1", gitBranch="x"),
    ).state
    assert state.last_ts is not None
    assert state.first_ts == state.last_ts - 1000
    assert (state.cwd, state.version, state.versions, state.branches) == (
        "/first",
        "2.0.1",
        ["2.0.1", "2.0.2"],
        ["x", "y"],
    )


def test_warmups_are_recognised() -> None:
    assert fold(user("Warmup"), is_agent=True).state.warmup
    assert not fold(user("Warmup the engine"), is_agent=True).state.warmup


def test_issues_at_one_place_are_one_row() -> None:
    folded = folding(base=1 << 40)
    folded.feed(Issue(10, 50, "invalid_utf8", "first at byte 3"))
    folded.feed(Issue(10, 60, "wrong_type", "message.id"))
    folded.feed(Issue(11, 5, "torn"))
    folded.feed(Issue(11, 5, "no_type", "x" * 999))
    first, second = folded.rows.issues.values()
    assert first == ((1 << 40) + 10, 60, "invalid_utf8", "first at byte 3; wrong_type: message.id", 1)
    assert second[:3] == ((1 << 40) + 11, 5, "torn")
    assert len(second[3]) == 300
    assert folded.state.issues == 2


def test_the_state_survives_its_storage() -> None:
    state = fold(assistant(tool_use("Edit", {"file_path": "/f", "new_string": "a"})), user("x", odd=1), b"{torn").state
    assert load(dump(state)) == state
    assert load(dump(State())) == State()


TRANSCRIPT = b"\n".join(
    value if isinstance(value, bytes) else line(value)
    for value in (
        user("start"),
        assistant(text("a"), tool_use("Edit", {"file_path": "/f", "old_string": "a", "new_string": "b"}, "t1")),
        assistant(tool_use("Task", {"prompt": "go"}, "t2"), usage={"output_tokens": 70}),
        b'{"torn":"li' + line(user("behind it", strange=True)),
        queue("enqueue", "waiting"),
        user([tool_result("ok", "t1")], toolUseResult={"structuredPatch": [{"lines": ["+b", "-a"]}]}),
        queue("remove"),
        b"",
        user([tool_result("agentId: abcdef1", "t2")]),
        {"type": "brand-new"},
        *EARLY,
        assistant(text("end"), id="msg_01z", uuid="u2"),
        b"",
    )
)


@pytest.mark.parametrize("seed", range(20))
def test_any_split_of_the_bytes_gives_the_same(seed: int) -> None:
    whole = fold(TRANSCRIPT)
    dice = random.Random(seed)
    ends = [place + 1 for place, byte in enumerate(TRANSCRIPT) if byte == 0x0A and dice.random() < 0.5]
    state, start = State(), 0
    parts: list[Fold] = []
    seen: dict[str, int] = {}
    for end in [*ends, len(TRANSCRIPT)]:
        part = Fold(
            0,
            path="p/a.jsonl",
            session_id="",
            agent_id="",
            is_agent=False,
            state=load(dump(state)),
            seen_message=seen.get,
        )
        pieces = [TRANSCRIPT[place : min(place + 37, end)] for place in range(start, end, 37)]
        for offset, own in Lines(pieces, start):
            for item in items(own, offset):
                part.feed(item)
        seen.update({row[1]: row[0] for row in part.rows.messages})
        parts.append(part)
        state, start = part.state, end
    assert state == whole.state
    calls = {id_: list(row) for part in parts for id_, row in part.rows.calls.items()}
    for *known, id_ in (row for part in parts for row in part.rows.call_results):
        row = calls[id_]
        row[6], row[7], row[8], row[9], row[10], row[11], row[12], row[5] = known
    assert calls == whole.rows.calls
    assert {pair for part in parts for pair in part.rows.result_tools} == {*whole.rows.result_tools}
    assert {id_: row for part in parts for id_, row in part.rows.issues.items()} == whole.rows.issues
    for name in ("records", "blocks", "messages", "prompts"):
        assert [row for part in parts for row in getattr(part.rows, name)] == getattr(whole.rows, name)
    assert set().union(*(part.rows.agent_refs for part in parts)) == whole.rows.agent_refs


def test_any_kind_of_record_can_be_fed() -> None:
    folded = folding()
    folded.feed(ParsedLine(0, 2, "", None))
    folded.feed(ParsedLine(0, 2, "unheard-of", None, ("",)))
    assert folded.state.kinds == {"": 1, "unheard-of": 1}


def test_progress_is_no_root() -> None:
    """Sessions of some clients begin with what their hooks did; forks are recognised by the first record that has a row."""
    began = entry("progress", uuid="h", data={"type": "hook_progress"})
    folded = fold(began, user("hi", uuid="u", parentUuid="h"))
    assert folded.state.root_uuid == "u"
    assert [row[5:7] for row in folded.rows.records] == [("u", None)]


def test_an_empty_uuid_is_none() -> None:
    folded = fold(user("hi", uuid="", parentUuid=""))
    assert folded.rows.records[0][5] is None
    assert folded.state.root_uuid == ""


def test_a_line_without_a_time_owns_nothing_that_a_later_one_states() -> None:
    first, second = assistant(text("a"), timestamp=None), assistant(text("b"), uuid="later")
    (stated,) = fold(first, second).rows.usage.values()
    assert stated.ts == 1772600767891
    assert stated.record_id > 0


def test_the_state_of_a_hostile_transcript_stays_small() -> None:
    many = 3000
    values = [
        assistant(
            tool_use(f"{number}" + "Tool" * 100, {}, f"t{number}"),
            id=f"msg_01{number}",
            uuid=f"u{number}",
            model=f"model-{number}",
            gitBranch=f"b{number}",
            version=f"2.1.{number}",
        )
        for number in range(many)
    ]
    kinds = [{"type": f"kind-{number}"} for number in range(many)]
    waiting = [queue("enqueue", "x" * 1000) for _ in range(many)]
    failed = user([tool_result("no", f"t{many - 1}", is_error=True), tool_result("no", "t0", is_error=True)])
    orphans = [user([tool_result("agentId: abcdef9", f"o{number}")]) for number in range(many)]
    state = fold(*values, *kinds, *waiting, *orphans, failed).state
    assert len(dump(state)) < 1 << 20
    assert state.tool_calls == many
    assert sum(state.kinds.values()) == state.records == 4 * many + 1
    assert f"t{many - 1}" not in state.open_calls
    assert f"t{many - 2}" in state.open_calls


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("<agent-notification>\n<agent>a1</agent> is done</agent-notification>", "notification"),
        ("<ci-monitor-event>build failed</ci-monitor-event>", "notification"),
        ('<mcp-resource-update server="x">changed</mcp-resource-update>', "notification"),
        ('<cross-session-message from="b">Hi</cross-session-message>', "notification"),
        ("<plan-mode-reminder>Plan.</plan-mode-reminder>", "reminder"),
        ("<session-start-hook>x</session-start-hook>", "hook"),
        ("<ide_opened_file>The user opened /f</ide_opened_file>", "meta"),
        ("<my-element>is not drawn, why?", "prompt"),
        ("<event> handlers: which are there?", "prompt"),
    ],
)
def test_what_programs_say_is_no_prompt_and_no_title(said: str, meaning: str) -> None:
    folded = fold(user(said), user("Go on."))
    assert [row[4] for row in folded.rows.records] == [meaning, "prompt"]
    assert folded.state.prompts == 1 + (meaning == "prompt")
    assert (folded.state.first_prompt == "Go on.") == (meaning != "prompt")
