"""Gemini CLI: real documents and logs, and what happens to a log when it is resumed, rewound and compressed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.clients.gemini.client import GeminiCli
from hansard.clients.protocol import NEVER_DELETED
from hansard.clients.tools import Edit, Shell
from tests.clients.folding import count, expectations, fold_bytes, spent

CLIENT = GeminiCli()
SESSION = {
    "sessionId": "g1",
    "projectHash": "00",
    "startTime": "2026-11-01T10:00:00Z",
    "lastUpdated": "2026-11-01T10:00:00Z",
}
TOKENS = {"input": 100, "output": 10, "cached": 40, "thoughts": 5, "tool": 3, "total": 118}
SHELL: dict[str, Any] = {"id": "k1", "name": "run_shell_command", "args": {"command": "ls"}, "status": "success"}
ANSWER = {"functionResponse": {"id": "k1", "name": "run_shell_command", "response": {"output": "a.txt"}}}


def user(key: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "timestamp": "2026-11-01T10:00:01Z", "type": "user", "content": [{"text": text}], **more}


def gemini(key: str, text: str, **more: Any) -> dict[str, Any]:
    found = {"id": key, "timestamp": "2026-11-01T10:00:02Z", "type": "gemini", "content": text}
    return {**found, "model": "gemini-2.5-pro", **more}


def log(*lines: dict[str, Any]) -> bytes:
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()


RESUMED = log(
    {**SESSION, "kind": "main"},
    {
        "$set": {
            "messages": [
                user("c", "<session_context>\n- **Workspace Directories:**\n  - /srv/tides\n</session_context>")
            ]
        }
    },
    user("u1", "When is high tide?"),
    gemini("g1", "", thoughts=[{"subject": "Tides", "description": "I look."}], tokens=TOKENS),
    gemini(
        "g1",
        "",
        thoughts=[{"subject": "Tides", "description": "I look."}],
        tokens=TOKENS,
        toolCalls=[SHELL | {"result": [ANSWER]}],
    ),
    {"id": "r1", "timestamp": "2026-11-01T10:00:03Z", "type": "user", "content": [ANSWER]},
    gemini("g2", "At noon.", tokens=TOKENS),
    {**SESSION, "kind": "main"},
    {
        "$set": {
            "messages": [
                user("u1", "When is high tide?"),
                {
                    "id": "g1",
                    "type": "gemini",
                    "content": [{"text": "I look.", "thought": True}, {"functionCall": SHELL}],
                },
                {"id": "g1_response", "type": "user", "content": [ANSWER]},
                gemini("g2", "At noon."),
            ],
            "lastUpdated": "2026-11-01T11:00:00Z",
        }
    },
    user("u2", "And low tide?"),
    gemini("g3", "At six.", tokens=TOKENS),
)


def test_real_sessions_count_as_expected(corpus: Path) -> None:
    files = 0
    for row, path in expectations(corpus, "gemini"):
        fold = fold_bytes(CLIENT, path.read_bytes())
        state, tokens = fold.state, row["tokens"]
        given, output, read, write = spent(fold.rows.usage)
        assert given + read + write == tokens.get("input", 0) + tokens.get("tool", 0), path
        assert (read, output) == (tokens.get("cached", 0), tokens.get("output", 0) + tokens.get("thoughts", 0)), path
        if "fixtures" not in str(path):  # one of them adds the cached tokens to a total that has them already
            assert given + output + read + write == tokens.get("total", 0), path
        assert (state.prompts, state.tool_calls) == (row["prompts"], row["tool_calls"]), path
        # A result of which only the status is recorded has no text.
        assert count(fold, "tool_result") == row["with_result"], path
        assert count(fold, "thinking") == row["thoughts"], path
        assert sum(row[5] for row in fold.rows.blocks if row[2] == "tool_result") == sum(
            number for status, number in row["status"].items() if status in ("error", "cancelled")
        ), path
        assert state.issues == 0, path
        assert state.session_id[:8] == (row["id"] if row["id"] != "None" else ""), path
        files += 1
    assert files == 16


def test_a_resumed_log_has_everything_once() -> None:
    fold = fold_bytes(CLIENT, RESUMED)
    state = fold.state
    assert (state.prompts, state.replies, state.tool_calls, count(fold, "tool_result")) == (2, 2, 1, 1)
    assert spent(fold.rows.usage) == (189, 45, 120, 0)
    assert (state.cwd, state.session_id) == ("/srv/tides", "g1")
    assert state.kinds["repeated"] == 5


def test_any_record_can_be_read_from_its_place() -> None:
    """Also those inside of a snapshot, which is one line of the log."""
    for data in (
        RESUMED,
        json.dumps({**SESSION, "messages": [user("u1", "[{"), gemini("g1", "}]")]}, indent=2).encode(),
    ):
        found = list(CLIENT.lines([data], 0))
        for number, (offset, line) in enumerate(found):
            assert data[offset : offset + len(line)] == line
            again = list(CLIENT.lines([data[offset:]], offset))
            assert again == found[number:]


def test_a_sync_may_stop_inside_of_a_snapshot() -> None:
    lines = CLIENT.lines([RESUMED], 0)
    for number, _ in enumerate(lines):
        rest = list(CLIENT.lines([RESUMED[lines.offset :]], lines.offset))
        assert rest == list(CLIENT.lines([RESUMED], 0))[number + 1 :]


def test_rewound_messages_stay_on_a_branch_of_their_own() -> None:
    data = log(
        user("u1", "a"), gemini("g1", "b"), user("u2", "c"), gemini("g2", "d"), {"$rewindTo": "u2"}, user("u3", "e")
    )
    chain = {row[5]: row[6] for row in fold_bytes(CLIENT, data).rows.records}
    assert chain == {"u1": None, "g1": "u1", "u2": "g1", "g2": "u2", "rewind-1": "g1", "u3": "g1"}


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (user("u", "hello"), "prompt"),
        (user("u", "/help"), "command"),
        (user("u", "?"), "command"),
        (user("u", "look at @a.txt\n--- content", displayContent=[{"text": "look at @a.txt"}]), "prompt"),
        ({"id": "u", "type": "user", "content": "bare text"}, "prompt"),
        ({"id": "u", "type": "error", "content": "quota"}, "error"),
        ({"id": "u", "type": "info", "content": "updated"}, "note"),
    ],
)
def test_roles(message: dict[str, Any], role: str) -> None:
    (record,) = CLIENT.decode_next(json.dumps(message).encode(), CLIENT.memory())
    assert record.role == role
    assert "content" not in record.text


def test_edits_have_the_diff_of_their_result() -> None:
    display = {
        "fileDiff": "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two\n",
        "fileName": "a",
        "filePath": "/srv/a",
        "isNewFile": False,
    }
    args = {"file_path": "a", "old_string": "one", "new_string": "two"}
    call = {
        "id": "k",
        "name": "replace",
        "args": args,
        "status": "success",
        "resultDisplay": display,
        "result": [ANSWER],
    }
    (record,) = CLIENT.decode_next(json.dumps(gemini("g", "", toolCalls=[call])).encode(), CLIENT.memory())
    made, result = record.blocks
    assert (made.path, made.change) == ("/srv/a", "edit")
    assert [change.lines for change in result.written or ()] == [["-one", "+two"]]  # type: ignore[union-attr]
    assert CLIENT.tool_use("replace", args, "").input == Edit("a", [("one", "two")])


def test_outputs_are_shown_without_what_the_client_adds() -> None:
    output = "<untrusted_context>\nOutput: a.txt\nb.txt\nProcess Group PGID: 5470\n</untrusted_context>"
    use = CLIENT.tool_use("run_shell_command", {"command": "ls"}, output)
    assert (use.input, use.output, use.bare_output) == (Shell("ls"), output, "a.txt\nb.txt")


def test_tools_of_servers() -> None:
    for name, display in (("mcp_gh_list_issues", ""), ("list_issues", "list_issues (gh MCP Server)")):
        call = {"id": "k", "name": name, "displayName": display, "args": {}}
        (record,) = CLIENT.decode_next(json.dumps(gemini("g", "", toolCalls=[call])).encode(), CLIENT.memory())
        assert record.blocks[0].tool == "mcp__gh__list_issues"


def test_files_and_roots(tmp_path: Path) -> None:
    kind = CLIENT.layout.kind_of
    assert kind("tmp/p/chats/session-1.json") == kind("tmp/p/chats/session-1.jsonl") == "main"
    assert kind("tmp/p/chats/s1/a1.jsonl") == "agent"
    for path in (
        "oauth_creds.json",
        "google_accounts.json",
        "settings.json",
        "tmp/p/checkpoints/x.json",
        "tmp/p/chats/s.jsonl.tmp-1",
    ):
        assert kind(path) is None
    info = CLIENT.path_info("tmp/p/chats/s1/a1.jsonl")
    assert (info.session_id, info.agent_id, info.project_dir) == ("s1", "a1", "p")
    assert CLIENT.path_info("tmp/p/chats/session-1.jsonl").stem == "session-1"
    assert CLIENT.default_roots({}, str(tmp_path)) == []
    (tmp_path / ".gemini/tmp/p/chats").mkdir(parents=True)
    assert CLIENT.default_roots({"GEMINI_CLI_HOME": str(tmp_path)}, "/nowhere") == [str(tmp_path / ".gemini")]
    root = CLIENT.open_root(str(tmp_path / ".gemini"))
    assert root is not None
    assert CLIENT.cleanup_days(root) == 30
    for retention, days in (({"enabled": False}, NEVER_DELETED), ({"maxAge": "2w"}, 14)):
        (tmp_path / ".gemini/settings.json").write_text(json.dumps({"general": {"sessionRetention": retention}}))
        assert CLIENT.cleanup_days(root) == days


def test_files_of_one_session_count_once(tmp_path: Path) -> None:
    """A resume after an update, or in another minute, goes on in a new file, which begins with a snapshot of the old one."""
    chats = tmp_path / "root/tmp/tides/chats"
    chats.mkdir(parents=True)
    before = [user("u1", "When is high tide?"), gemini("g1", "At noon.", tokens=TOKENS)]
    (chats / "session-2026-11-01T10-00-g1.json").write_text(json.dumps({**SESSION, "messages": before}, indent=2))
    more = (user("u2", "And low tide?"), gemini("g2", "At six.", tokens=TOKENS))
    (chats / "session-2026-11-01T10-01-g1.jsonl").write_bytes(log(SESSION, {"$set": {"messages": before}}, *more))
    with hansard.open(tmp_path / "home", [tmp_path / "root"]) as h:
        h.sync()
        (session,) = h.sessions(limit=None).sessions
        assert (session.session_id, session.prompts) == ("g1", 2)
        assert [entry.text for entry in h.read("g1").entries() if entry.kind == "prompt"] == [
            "When is high tide?",
            "And low tide?",
        ]
        totals = h.usage(by="total").totals
        assert (totals.api_messages, totals.output_tokens, totals.cache_read_tokens) == (2, 30, 80)


@pytest.mark.parametrize("names", [("summary", "messages"), ("messages", "summary")])
def test_a_snapshot_of_messages_may_have_the_title(names: tuple[str, str]) -> None:
    values: dict[str, Any] = {
        "summary": "Tides of Emden",
        "messages": [{"id": "1", "type": "user", "content": "High?"}],
    }
    lines = [{"sessionId": "s", "projectHash": "h"}, {"$set": {name: values[name] for name in names}}]
    fold = fold_bytes(CLIENT, "".join(json.dumps(line) + "\n" for line in lines).encode())
    assert (fold.state.custom_title, fold.state.prompts, fold.state.issues) == ("Tides of Emden", 1, 0)
