"""Copilot Chat in VS Code: documents, logs of changes, exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hansard.clients.copilot_chat.client import CopilotChat
from hansard.clients.documents import list_start
from hansard.clients.generic import TEXT
from hansard.clients.lines import ParsedLine
from tests.clients.copilot_chat.history import log, request
from tests.clients.folding import count, expectations, fold_bytes, spent

CLIENT = CopilotChat()


def test_real_sessions_count_as_expected(corpus: Path) -> None:
    files = 0
    for row, path in expectations(corpus, "copilot-vscode"):
        data = path.read_bytes()
        fold = fold_bytes(CLIENT, data)
        state = fold.state
        assert (state.prompts, state.tool_calls) == (row["prompts"], row["tool_calls_in_rounds"]), path
        assert count(fold, "tool_result") == row["tool_results"], path
        memory = CLIENT.memory()
        items = [item for offset, line in CLIENT.lines([data], 0) for item in CLIENT.items(line, offset, memory)]
        records = [item.body for item in items if isinstance(item, ParsedLine)]
        answered = [any(block.kind == TEXT and block.is_reply for block in record.blocks) for record in records]
        assert sum(answered) == row["replies_with_text"], path
        usage = row["usage"]
        assert spent(fold.rows.usage)[:2] == (usage.get("promptTokens", 0), usage.get("completionTokens", 0)), path
        assert state.session_id[:8] == (row["sessionId"] or ""), path
        assert state.custom_title == (row["title"] or ""), path
        assert state.issues == 0, path
        files += 1
    assert files == 6


def test_a_log_of_changes_has_what_the_document_has() -> None:
    whole = request(1, "Which port?", "Emden.")
    begun: dict[str, Any] = {**whole, "response": [], "result": None}
    grown = log(
        {"kind": 0, "v": {"version": 3, "sessionId": "s1", "requests": [], "inputState": {"inputText": "Wh"}}},
        {"kind": 2, "k": ["requests"], "v": [begun]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": whole["response"]},
        {"kind": 1, "k": ["requests", 0, "result"], "v": whole["result"]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": whole["response"], "i": 0},
        {"kind": 1, "k": ["customTitle"], "v": "Tides"},
        {"kind": 3, "k": ["inputState"]},
    )
    document = json.dumps(
        {"version": 3, "sessionId": "s1", "requests": [whole], "customTitle": "Tides"}, indent=2
    ).encode()
    for data in (grown, document, log({"kind": 0, "v": json.loads(document)})):
        fold = fold_bytes(CLIENT, data)
        state = fold.state
        found = (state.prompts, state.replies, state.tool_calls, count(fold, "tool_result"), spent(fold.rows.usage))
        assert found == (1, 1, 1, 1, (100, 10, 0, 0))
        assert (state.session_id, state.custom_title, state.issues) == ("s1", "Tides", 0)
        assert all(one.is_lower_bound for one in fold.rows.usage.values())


def test_any_record_can_be_read_from_its_place() -> None:
    state = {"version": 3, "requests": [request(1, "[{", "}]"), request(2, "b", "c")], "inputState": {"requests": [{}]}}
    entries = log({"kind": 0, "v": state}, {"kind": 2, "k": ["requests"], "v": [request(3, "d", "e")]})
    for data in (entries, json.dumps(state, indent=2).encode(), json.dumps(state).encode()):
        found = list(CLIENT.lines([data], 0))
        assert sum(b'"requestId"' in line for _, line in found) >= 2
        for number, (offset, line) in enumerate(found):
            assert data[offset : offset + len(line)] == line
            assert list(CLIENT.lines([data[offset:]], offset)) == found[number:]


@pytest.mark.parametrize(
    ("data", "depth", "start"),
    [
        (b'{"requests":[', 1, 13),
        (b'{"a":{"requests":[1]},"b":["requests",{}],"requests" : [', 1, 56),
        (b'{"kind":0,"v":{"a":"{[","requests":[', 2, 36),
        (b'{"kind":0,"v":{"a":1}}{"v":{"requests":[', 2, 0),
        (b'{"requests":{}}', 1, 0),
    ],
)
def test_the_list_of_an_object_is_found(data: bytes, depth: int, start: int) -> None:
    assert list_start(data, b"requests", depth) == start


def test_a_cancelled_request_has_the_calls_that_were_shown() -> None:
    given = request(1, "Run it.", "", result={})
    given["response"] = [
        {
            "kind": "toolInvocationSerialized",
            "toolId": "runInTerminal",
            "toolCallId": "t1",
            "toolSpecificData": {"commandLine": {"original": "ls"}},
        }
    ]
    (record,) = CLIENT.decode_next(json.dumps(given).encode(), CLIENT.memory())
    assert [(block.kind, block.command) for block in record.blocks[1:]] == [("tool_use", "ls")]


def test_files_and_roots(tmp_path: Path) -> None:
    kind = CLIENT.layout.kind_of
    assert (
        kind("workspaceStorage/h/chatSessions/s1.jsonl")
        == kind("globalStorage/emptyWindowChatSessions/s.json")
        == "main"
    )
    for path in (
        "workspaceStorage/h/state.vscdb",
        "globalStorage/state.vscdb",
        "settings.json",
        "globalStorage/x/y.json",
    ):
        assert kind(path) is None
    user = tmp_path / "Library/Application Support/Code/User"
    (user / "workspaceStorage/h/chatSessions").mkdir(parents=True)
    assert CLIENT.default_roots({}, str(tmp_path)) == [str(user)]
    root = CLIENT.open_root(str(user))
    assert root is not None
    assert root.name == "Code"
