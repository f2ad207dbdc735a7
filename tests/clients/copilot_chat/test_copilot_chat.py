"""Copilot Chat in VS Code: documents, logs of changes, exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.clients.copilot_chat.client import CopilotChat
from hansard.clients.documents import list_start
from hansard.clients.generic import TEXT
from hansard.clients.lines import ParsedLine
from tests.clients.copilot_chat.history import log, request
from tests.clients.folding import count, every_line, expectations, fold_bytes, spent

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
        lines = CLIENT.lines([data], 0)
        items = [item for offset, line in lines for item in CLIENT.items(line, offset, memory)]
        items += CLIENT.items(lines.rest, lines.offset, memory) if lines.rest else []
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


def text(value: str) -> dict[str, Any]:
    return {"value": value}


def growing() -> list[dict[str, Any]]:
    """A request that was stored three times while it was answered, and one after it."""
    call = {"kind": "toolInvocationSerialized", "toolId": "copilot_createFile", "toolCallId": "c1", "isComplete": False}
    whole = request(1, "Which port?", "")
    begun = {**whole, "response": [], "result": None}
    path = ["requests", 0, "response"]
    return [
        {"kind": 0, "v": {"version": 3, "sessionId": "s1", "requests": [begun], "inputState": {}}},
        {"kind": 2, "k": path, "v": [text("I lo")]},
        {"kind": 2, "k": path, "v": [text("I look."), call], "i": 0},
        {"kind": 1, "k": ["requests", 0, "result"], "v": whole["result"]},
        {"kind": 2, "k": path, "v": [{**call, "isComplete": True}, text("Emden.")], "i": 1},
        {"kind": 1, "k": ["customTitle"], "v": "Ports"},
        {"kind": 2, "k": ["requests"], "v": [request(2, "Thank you.", "", response=[text("You are welcome.")])]},
    ]


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_an_answer_that_grew_is_read_once(separators: tuple[str, str]) -> None:
    data = "".join(json.dumps(entry, separators=separators) + "\n" for entry in growing()).encode()
    found = [item for offset, line in every_line(CLIENT, data) for item in CLIENT.items(line, offset)]
    records = [item.body for item in found if isinstance(item, ParsedLine) and item.kind == "user"]
    said = [[block.text for block in record.blocks if block.kind == TEXT] for record in records]
    assert said == [["Which port?", "I look.", "Emden."], ["Thank you.", "You are welcome."]]
    state = fold_bytes(CLIENT, data).state
    assert (state.prompts, state.tool_calls, state.custom_title, state.session_id) == (2, 2, "Ports", "s1")


def test_what_is_known_of_an_answer_is_read_before_it_ends(tmp_path: Path) -> None:
    chats = tmp_path / "User/workspaceStorage/0123/chatSessions"
    chats.mkdir(parents=True)
    (chats.parent / "workspace.json").write_text('{"folder": "file:///srv/sea%20side"}')
    entries = growing()
    seen = []
    with hansard.open(tmp_path / "home", [tmp_path / "User"]) as h:
        for count_ in range(1, len(entries) + 1):
            (chats / "s1.jsonl").write_bytes(log(*entries[:count_]) + b'{"kind":1,"k":["inputSt')
            h.sync()
            seen.append([entry.text for entry in h.read("s1").entries() if entry.kind == "reply"])
        assert h.session("s1").cwd == "/srv/sea side"
    looked = ["I look.", "Emden."]
    assert seen == [[], ["I lo"], ["I look."], ["I look."], looked, looked, [*looked, "You are welcome."]]


def test_a_request_that_was_sent_again_is_a_branch() -> None:
    again = {"kind": 2, "k": ["requests"], "v": [request(3, "Once more", "Yes.")], "i": 1}
    chain = {row[5]: row[6] for row in fold_bytes(CLIENT, log(*growing(), again)).rows.records}
    assert chain == {"request_1": None, "request_2": "request_1", "request_3": "request_1"}


def test_a_damaged_change_is_an_issue_and_the_others_count() -> None:
    lines = log(*growing()).split(b"\n")
    lines[2] = lines[2][:-9]
    fold = fold_bytes(CLIENT, b"\n".join(lines))
    assert (fold.state.prompts, fold.state.issues) == (2, 1)
    ((offset, length, reason, *_),) = fold.rows.issues.values()
    assert (offset, length, reason) == (len(lines[0]) + len(lines[1]) + 2, len(lines[2]), "not_json")


def test_any_record_can_be_read_from_its_place() -> None:
    state = {"version": 3, "requests": [request(1, "[{", "}]"), request(2, "b", "c")], "inputState": {"requests": [{}]}}
    entries = log({"kind": 0, "v": state}, {"kind": 2, "k": ["requests"], "v": [request(3, "d", "e")]})
    for data in (entries, json.dumps(state, indent=2).encode(), json.dumps(state).encode()):
        found = every_line(CLIENT, data)
        assert sum(b'"requestId"' in line for _, line in found) >= 2
        for number, (offset, line) in enumerate(found):
            assert data[offset : offset + len(line)] == line
            lines = CLIENT.lines([data[offset:]], offset)
            assert [*lines, *([(lines.offset, lines.rest)] if lines.rest else [])] == found[number:]


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
    (item,) = CLIENT.items(json.dumps(given).encode(), 0)
    assert isinstance(item, ParsedLine)
    record = item.body
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


def test_an_exported_chat_is_imported(tmp_path: Path) -> None:
    chat = {
        "responderUsername": "GitHub Copilot",
        "initialLocation": "panel",
        "requests": [request(1, "High?", "Emden."), request(2, "Low?", "Emden.")],
    }
    (tmp_path / "chat.json").write_text(json.dumps(chat, indent=2))
    for _ in range(2):
        with hansard.open(tmp_path / "home", ()) as h:
            (report,) = h.import_file(tmp_path / "chat.json")
            assert (report.client, report.conversations) == ("copilot-chat", 1)
    with hansard.open(tmp_path / "home", ()) as h:
        h.sync()
        (session,) = h.sessions().sessions
        assert (session.client, session.session_id, session.prompts) == ("copilot-chat", "request_1", 2)
        assert [entry.text for entry in h.read(session).entries() if entry.kind == "reply"] == ["Emden.", "Emden."]
        assert not h.verify(full=True).mismatches


def test_real_exported_chats_count_as_expected(corpus: Path, tmp_path: Path) -> None:
    folder = corpus / "agents/agents/copilot-vscode"
    exports = sorted(folder.glob("export-*/*.json"))
    if not exports:
        pytest.skip("no histories of other agents")
    expected = {row["file"]: row for row in map(json.loads, (folder / "EXPECT.jsonl").read_text().splitlines())}
    with hansard.open(tmp_path / "home", ()) as h:
        for path in exports:
            h.import_file(path)
    with hansard.open(tmp_path / "home", ()) as h:
        h.sync()
        sessions = {session.prompts: session for session in h.sessions().sessions}
        for path in exports:
            row = expected[str(path.relative_to(folder))]
            session = sessions[row["prompts"]]
            assert (session.tool_calls, session.issues) == (row["tool_calls_in_rounds"], 0)
            turns = [turn for turn in h.read(session).turns() if any(item.kind == "reply" for item in turn.items)]
            assert len(turns) == row["replies_with_text"]
