"""Copilot CLI: real sessions of three generations, and the shapes that they do not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hansard.clients.copilot_cli.client import CopilotCli
from hansard.clients.generic import Record
from hansard.clients.tools import Edit, Shell
from tests.clients.folding import count, expectations, fold_bytes, spent

CLIENT = CopilotCli()


def log(*events: tuple[str, dict[str, Any]]) -> bytes:
    """Events, one second after the other."""
    lines = []
    for number, (kind, data) in enumerate(events):
        stamp = f"2026-11-01T10:00:{number:02}.000Z"
        parent = f"e{number - 1}" if number else None
        lines.append(
            json.dumps({"type": kind, "data": data, "id": f"e{number}", "timestamp": stamp, "parentId": parent})
        )
    return "".join(line + "\n" for line in lines).encode()


def start(version: str) -> tuple[str, dict[str, Any]]:
    context = {"cwd": "/srv/tides", "branch": "main"}
    return "session.start", {
        "sessionId": "s1",
        "copilotVersion": version,
        "selectedModel": "gpt-4.1",
        "context": context,
    }


def said(text: str, output: int | None = None, **more: Any) -> tuple[str, dict[str, Any]]:
    return "assistant.message", {"content": text, **({"outputTokens": output} if output is not None else {}), **more}


def shutdown(given: int, output: int, read: int = 0, model: str = "gpt-4.1") -> tuple[str, dict[str, Any]]:
    usage = {"inputTokens": given, "outputTokens": output, "cacheReadTokens": read, "cacheWriteTokens": 0}
    return "session.shutdown", {"modelMetrics": {model: {"usage": usage}}}


def records(data: bytes) -> list[Record]:
    memory = CLIENT.memory()
    return [record for line in data.splitlines() for record in CLIENT.decode_next(line, memory)]


def test_real_sessions_count_as_expected(corpus: Path) -> None:
    files = 0
    for row, path in expectations(corpus, "copilot-cli"):
        fold = fold_bytes(CLIENT, path.read_bytes(), "s")
        state, usage = fold.state, fold.rows.usage
        settled = {key: one for key, one in usage.items() if not one.is_lower_bound}
        given, output, read, write = spent(settled)
        right = row["right_tokens"]
        found = {"inputTokens": given + read + write, "outputTokens": output, "cacheReadTokens": read}
        assert found == {name: right.get(name, 0) for name in found}, path
        assert spent(usage)[1] - output == row["tail_without_shutdown_output"], path
        assert state.prompts == row["prompts"], path
        assert state.replies == row["with_text"], path
        assert (state.tool_calls, count(fold, "tool_result")) == (row["exec_start"], row["exec_complete"]), path
        assert count(fold, "thinking") == row["reasoning"], path
        assert state.compactions == row["compactions"], path
        assert (state.cwd, state.branch, state.versions) == (row["cwd"], row["branch"], [row["version"]]), path
        assert state.records == row["events"], path
        assert state.issues == row["bad"] == 0, path
        for model, tokens in row["per_model"].items() if row["rule"] == "shutdown:segment" else ():
            given, output, read, _ = spent(settled, model=model)
            assert (given + read, output) == (tokens["inputTokens"], tokens["outputTokens"]), (path, model)
        files += 1
    assert files == 8


def test_shutdowns_of_old_versions_add_up_and_those_of_new_ones_do_not() -> None:
    def session(version: str, first: tuple[int, int], second: tuple[int, int], *, has_outputs: bool) -> bytes:
        one, two = (10, 20) if has_outputs else (None, None)
        events = [start(version), said("a", one), shutdown(*first), ("session.resume", {}), said("b", two)]
        return log(*events, shutdown(*second))

    for version, second, has_outputs in (
        ("1.0.65", (150, 20), True),
        ("1.0.66", (250, 30), True),
        ("1.0.92", (250, 30), False),
        ("1.0.40", (250, 30), True),  # resumed by a newer version: what the messages say decides
    ):
        data = session(version, (100, 10), second, has_outputs=has_outputs)
        assert spent(fold_bytes(CLIENT, data).rows.usage) == (250, 30, 0, 0), version


def test_usage_records_replace_shutdowns() -> None:
    usage = {"model": "gpt-4.1", "inputTokens": 50, "outputTokens": 7, "cacheReadTokens": 20, "cacheWriteTokens": 5}
    record = ("session.usage_record", {"usage": {**usage, "accounting": {"usageId": "c1"}}})
    fold = fold_bytes(CLIENT, log(start("1.0.102"), record, record, said("a", apiCallId="c1"), shutdown(50, 7, 20)))
    assert spent(fold.rows.usage) == (25, 7, 20, 5)


def test_a_relay_with_one_id_for_all_calls_does_not_hide_any() -> None:
    def record(number: int) -> tuple[str, dict[str, Any]]:
        usage = {"model": "gpt-4.1", "inputTokens": 50, "outputTokens": 7, "apiCallId": "c1"}
        return "session.usage_record", {"usage": {**usage, "accounting": {"usageId": "c1", "sequence": number}}}

    events = [start("1.0.102"), record(1), said("a", apiCallId="c1"), record(2), record(2), said("b", apiCallId="c1")]
    assert spent(fold_bytes(CLIENT, log(*events)).rows.usage) == (100, 14, 0, 0)
    told = [start("1.0.40"), said("a", 7, apiCallId="c1"), said("b", 9, apiCallId="c1"), said("b", 9, apiCallId="c1")]
    assert spent(fold_bytes(CLIENT, log(*told)).rows.usage) == (0, 16, 0, 0)


def test_messages_after_the_last_shutdown_are_a_lower_bound() -> None:
    fold = fold_bytes(
        CLIENT, log(start("1.0.40"), said("a", 10), shutdown(100, 10), ("session.resume", {}), said("b", 20))
    )
    assert spent(fold.rows.usage) == (100, 30, 0, 0)
    assert [one.output for one in fold.rows.usage.values() if one.is_lower_bound] == [20]


def test_only_typed_messages_are_prompts() -> None:
    given: list[tuple[str, dict[str, Any]]] = [
        ("user.message", {"content": "typed"}),
        ("user.message", {"content": "from a skill", "source": "skill-build"}),
        ("user.message", {"content": "go on", "isAutopilotContinuation": True}),
        ("user.message", {"content": "a task", "parentToolCallId": "k1"}),
    ]
    assert [record.role for record in records(log(*given))] == ["prompt", "note", "note", "instruction"]


def test_a_subagent_is_linked_to_the_call_that_started_it() -> None:
    fold = fold_bytes(
        CLIENT,
        log(
            start("1.0.40"),
            ("tool.execution_start", {"toolCallId": "k1", "toolName": "task", "arguments": {"prompt": "look"}}),
            said("I look.", parentToolCallId="k1"),
            (
                "tool.execution_start",
                {"toolCallId": "k2", "toolName": "view", "parentToolCallId": "k1", "arguments": {}},
            ),
            said("Done."),
        ),
    )
    ((record, uuid, _, _, _),) = fold.rows.sidechains
    assert [(ref.tool_use_id, ref.agent_id) for ref in fold.rows.agent_refs] == [("k1", f"sidechain-{uuid}")]
    own = [(row[5], row[6], row[8]) for row in fold.rows.records]
    assert own == [("e1", None, 0), ("e2", None, 1), ("e3", "e2", 1), ("e4", "e1", 0)]
    assert record == fold.rows.records[1][0]


def test_edits_commands_and_servers() -> None:
    edit = {"path": "/srv/a.py", "old_str": "one", "new_str": "two"}
    diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n same\n-one\n+two\n"
    call, result, shell, server = records(
        log(
            ("tool.execution_start", {"toolCallId": "k1", "toolName": "edit", "arguments": json.dumps(edit)}),
            (
                "tool.execution_complete",
                {"toolCallId": "k1", "success": True, "result": {"content": "ok", "detailedContent": diff}},
            ),
            ("tool.execution_start", {"toolCallId": "k2", "toolName": "powershell", "arguments": {"command": "ls"}}),
            (
                "tool.execution_start",
                {"toolCallId": "k3", "toolName": "gh-list", "mcpServerName": "gh", "mcpToolName": "list"},
            ),
        )
    )
    assert (call.blocks[0].path, call.blocks[0].change) == ("/srv/a.py", "edit")
    assert result.blocks[0].patch == diff[diff.index("@@") :]
    assert [change.lines for change in result.blocks[0].written or ()] == [[" same", "-one", "+two"]]  # type: ignore[union-attr]
    assert shell.blocks[0].command == "ls"
    assert server.blocks[0].tool == "mcp__gh__list"
    assert CLIENT.tool_use("edit", edit, "").input == Edit("/srv/a.py", [("one", "two")])
    assert CLIENT.tool_use("bash", {"command": "ls"}, "").input == Shell("ls")


@pytest.mark.parametrize(
    ("yaml", "title"),
    [
        (b"id: s1\nname: Fix the tide table\nuser_named: true\n", "Fix the tide table"),
        (b"id: s1\nsummary: 'Fix: tides'\n", "Fix: tides"),
        (b"id: s1\ncwd: /work\n", ""),
        (b"name: |\n  two\n  lines\n", ""),
    ],
)
def test_workspaces_name_their_sessions(yaml: bytes, title: str) -> None:
    facts = CLIENT.side_file("title", "session-state/s1/workspace.yaml", yaml).facts
    assert (facts.title if facts else "") == title


def test_files_and_roots(tmp_path: Path) -> None:
    kind = CLIENT.layout.kind_of
    assert kind("session-state/s1/events.jsonl") == kind("session-state/s1.jsonl") == "main"
    assert kind("session-state/s1/rewind-snapshots/x.json") is kind("config.json") is kind("session-store.db") is None
    assert CLIENT.path_info("session-state/s1/events.jsonl").session_id == "s1"
    assert CLIENT.path_info("session-state/s1.jsonl").session_id == "s1"
    (tmp_path / "other/session-state").mkdir(parents=True)
    assert CLIENT.default_roots({"COPILOT_HOME": str(tmp_path / "other")}, "/nowhere") == [str(tmp_path / "other")]
    assert CLIENT.default_roots({}, str(tmp_path)) == []
    assert CLIENT.open_root(str(tmp_path)) is None


def test_a_message_that_is_written_again_is_shown_and_counted_once() -> None:
    one = said("Emden.", 7, apiCallId="c1", messageId="m1", chunkIndex=0)
    two = said(" At noon.", 7, apiCallId="c1", messageId="m1", chunkIndex=1)
    given = log(start("1.0.40"), one, two, said("Other.", 9, apiCallId="c2", messageId="m2"), one, two)
    fold = fold_bytes(CLIENT, given)
    assert [record.text for record in records(given) if record.kind == "assistant"] == ["Emden.", "At noon.", "Other."]
    assert (fold.state.replies, spent(fold.rows.usage)[1]) == (3, 16)


def test_a_shutdown_settles_what_another_name_of_the_model_said() -> None:
    fold = fold_bytes(
        CLIENT, log(start("1.0.66"), said("a", 10), said("b", 20), shutdown(100, 30, model="gpt-4.1-2026"))
    )
    (stated,) = fold.rows.usage.values()
    assert (stated.input, stated.output, stated.is_lower_bound) == (100, 30, False)


@pytest.mark.parametrize("model", ["gpt-4.1", "auto"])
def test_without_any_tokens_nothing_is_counted(model: str) -> None:
    begun = start("1.0.92")
    begun[1]["selectedModel"] = model
    fold = fold_bytes(CLIENT, log(begun, said("a"), said("b", apiCallId="c1")))
    assert (fold.rows.usage, fold.state.replies) == ({}, 2)


def test_usage_records_with_other_ids_than_their_calls_leave_no_placeholder() -> None:
    usage = {
        "model": "gpt-4.1",
        "inputTokens": 50,
        "outputTokens": 7,
        "apiCallId": "c1",
        "accounting": {"usageId": "u1"},
    }
    fold = fold_bytes(
        CLIENT,
        log(
            start("1.0.102"),
            ("session.usage_record", {"usage": usage}),
            said("a", apiCallId="c1"),
            said("b", apiCallId="c9"),
        ),
    )
    (stated,) = fold.rows.usage.values()
    assert (stated.input, stated.output, stated.is_lower_bound) == (50, 7, False)


@pytest.mark.parametrize("place", ["event", "usage", "initiator"])
def test_tokens_of_a_subagent_are_its_own(place: str) -> None:
    usage = {"model": "gpt-4.1", "inputTokens": 50, "outputTokens": 7, "apiCallId": "c1"}
    more = {"event": {}, "usage": {"parentToolCallId": "k1"}, "initiator": {"initiator": "sub-agent"}}[place]
    event = json.loads(log(("session.usage_record", {"usage": usage | more})))
    given = event | ({"agentId": "k1"} if place == "event" else {})
    fold = fold_bytes(CLIENT, log(start("1.0.102")) + json.dumps(given).encode() + b"\n")
    assert [stated.agent_id for stated in fold.rows.usage.values()] == ["sidechain"]
