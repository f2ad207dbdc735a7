"""Qwen Code: real sessions, and tokens that two kinds of records state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hansard.clients.generic import Record
from hansard.clients.qwen import QwenCode
from tests.clients.folding import count, expectations, fold_bytes, spent

CLIENT = QwenCode()


def line(kind: str, number: int, parts: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    found = {"uuid": f"q{number}", "parentUuid": f"q{number - 1}" if number else None, "sessionId": "s1", "type": kind}
    found |= {
        "timestamp": f"2026-11-01T10:00:{number:02}Z",
        "cwd": "/srv/tides",
        "version": "0.15.10",
        "gitBranch": "main",
    }
    return found | ({"message": {"parts": parts}} if parts is not None else {}) | more


def telemetry(number: int, given: int, output: int, key: str, prompt: str = "p1") -> dict[str, Any]:
    event: dict[str, Any] = {
        "event.name": "qwen-code.api_response",
        "response_id": key,
        "model": "qwen3",
        "prompt_id": prompt,
    }
    event |= {"input_token_count": given, "output_token_count": output, "total_token_count": given + output}
    return line("system", number, subtype="ui_telemetry", systemPayload={"uiEvent": event})


def answer(number: int, given: int, output: int, **more: Any) -> dict[str, Any]:
    usage = {"promptTokenCount": given, "candidatesTokenCount": output, "totalTokenCount": given + output}
    return line("assistant", number, [{"text": "At noon."}], model="qwen3", usageMetadata=usage, **more)


def log(*lines: dict[str, Any]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def decoded(given: dict[str, Any]) -> Record:
    (record,) = CLIENT.decode_next(json.dumps(given).encode(), CLIENT.memory())
    return record


def test_real_sessions_count_as_expected(corpus: Path) -> None:
    files = 0
    for row, path in expectations(corpus, "qwen"):
        fold = fold_bytes(CLIENT, path.read_bytes())
        state, tokens = fold.state, row["tokens"]
        given, output, read, _ = spent(fold.rows.usage, agent_id="")
        assert (given + read, read, output) == (
            tokens["prompt"],
            tokens["cached"],
            tokens["total"] - tokens["prompt"],
        ), path
        assert f"total {sum(spent(fold.rows.usage))}" in row["note"], path  # with the calls in the background
        assert (state.prompts, state.replies, state.tool_calls) == (row["prompts"], row["replies"], row["calls"]), path
        assert count(fold, "tool_result") == row["results"], path
        assert state.issues == 0, path
        files += 1
    assert files == 2


@pytest.mark.parametrize(
    "lines",
    [
        [telemetry(1, 100, 10, "c1"), answer(2, 100, 10)],
        [answer(1, 100, 10), telemetry(2, 100, 10, "c1")],
        [answer(1, 100, 10)],
        [telemetry(1, 100, 10, "c1")],
    ],
)
def test_tokens_count_once(lines: list[dict[str, Any]]) -> None:
    assert spent(fold_bytes(CLIENT, log(*lines)).rows.usage) == (100, 10, 0, 0)


def test_equal_answers_count_each() -> None:
    lines = [telemetry(1, 100, 10, "c1"), answer(2, 100, 10), telemetry(3, 100, 10, "c2"), answer(4, 100, 10)]
    assert spent(fold_bytes(CLIENT, log(*lines)).rows.usage) == (200, 20, 0, 0)


def test_a_relay_with_one_id_for_all_answers_does_not_hide_any() -> None:
    lines = [telemetry(number, 100, 10, "c1") for number in (1, 2)]
    for number, given in enumerate([*lines, lines[1]]):
        given["systemPayload"]["uiEvent"]["event.timestamp"] = f"2026-11-01T10:00:0{min(number, 1)}Z"
    assert spent(fold_bytes(CLIENT, log(*lines, lines[1])).rows.usage) == (200, 20, 0, 0)


def test_calls_in_the_background_and_of_subagents_count_in_the_session() -> None:
    lines = [telemetry(1, 100, 10, "c1", "s1#memory#0"), answer(2, 100, 10, agentId="a1", isSidechain=True)]
    fold = fold_bytes(CLIENT, log(*lines))
    assert spent(fold.rows.usage) == spent(fold.rows.usage, agent_id="sidechain") == (100, 10, 0, 0)


def test_a_branch_is_a_copy_of_its_session() -> None:
    copied = answer(1, 100, 10, forkedFrom={"sessionId": "s0", "messageUuid": "q1"})
    fold = fold_bytes(CLIENT, log(copied, line("user", 2, [{"text": "On."}])))
    assert (fold.state.forked_from, fold.state.copied > 0, fold.rows.usage) == ("s0", True, {})


@pytest.mark.parametrize(
    ("given", "kind", "role"),
    [
        (line("user", 0, [{"text": "hello"}]), "user", "prompt"),
        (line("user", 0, [{"text": "hello"}], subtype="mid_turn_user_message"), "user", "prompt"),
        (line("user", 0, [{"text": "done"}], subtype="notification"), "user", "notification"),
        (line("user", 0, [{"text": "nightly"}], subtype="cron"), "user", "notification"),
        (line("user", 0, [{"text": "look"}], subtype="agent_launch_prompt"), "user", "instruction"),
        (line("user", 0, [{"text": "look"}], agentId="a1", isSidechain=True), "user", "instruction"),
        (
            line("system", 0, subtype="slash_command", systemPayload={"phase": "invocation", "rawCommand": "/stats"}),
            "user",
            "command",
        ),
        (
            line("system", 0, subtype="chat_compression", systemPayload={"compressedHistory": []}),
            "system",
            "compaction",
        ),
        (line("system", 0, subtype="rewind", systemPayload={"truncatedCount": 2}), "system/rewind", ""),
    ],
)
def test_roles(given: dict[str, Any], kind: str, role: str) -> None:
    record = decoded(given)
    assert (record.kind, record.role) == (kind, role)


def test_titles_calls_and_edits() -> None:
    assert decoded(line("system", 0, subtype="custom_title", systemPayload={"customTitle": "Tides"})).title == "Tides"
    call = {
        "functionCall": {"id": "k1", "name": "edit", "args": {"file_path": "/a", "old_string": "x", "new_string": "y"}}
    }
    made = decoded(line("assistant", 0, [call])).blocks[0]
    assert (made.tool, made.path, made.change) == ("edit", "/a", "edit")
    response = {"functionResponse": {"id": "k1", "name": "edit", "response": {"output": "ok"}}}
    display = {"fileDiff": "@@ -1 +1 @@\n-x\n+y\n", "originalContent": "x", "newContent": "y", "fileName": "a"}
    result = decoded(
        line("tool_result", 1, [response], toolCallResult={"status": "success", "resultDisplay": display})
    ).blocks[0]
    assert [change.lines for change in result.written or ()] == [["-x", "+y"]]  # type: ignore[union-attr]
    shortened = {**display, "fileDiffTruncated": True}
    result = decoded(line("tool_result", 1, [response], toolCallResult={"resultDisplay": shortened})).blocks[0]
    assert (result.patch, result.written) == ("", None)


def test_files_and_roots(tmp_path: Path) -> None:
    kind = CLIENT.layout.kind_of
    assert kind("projects/p/chats/s1.jsonl") == "main"
    assert kind("projects/p/subagents/s1/agent-a1.jsonl") == "agent"
    assert (
        kind("projects/p/subagents/s1/agent-a1.jsonl.stream")
        is kind("oauth_creds.json")
        is kind("projects/p/x/y.jsonl")
        is None
    )
    info = CLIENT.path_info("projects/p/subagents/s1/agent-a1.meta.json")
    assert (info.session_id, info.agent_id) == ("s1", "a1")
    facts = CLIENT.side_file(
        "agent_meta", "", b'{"agentType":"explore","description":"Look","toolUseId":"k1","parentAgentId":null}'
    ).facts
    assert facts is not None
    assert (facts.agent_type, facts.description, facts.tool_use_id) == ("explore", "Look", "k1")
    (tmp_path / ".qwen/projects/p/chats").mkdir(parents=True)
    (tmp_path / ".claude/projects/p").mkdir(parents=True)
    assert CLIENT.default_roots({}, str(tmp_path)) == [str(tmp_path / ".qwen")]
    assert CLIENT.open_root(str(tmp_path / ".claude")) is None
